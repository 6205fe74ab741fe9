"""Krippendorff's alpha: agreement of any number of raters, at any level, with gaps."""

from typing import Literal

import numpy as np
import pandas as pd

from .estimate import Estimate, undefined
from .gate import RANKED, SQUARED
from .jackknife import CASES, FISHER, Jackknife, approximate
from .matrix import FloatArray, InvalidRatings, Matrix, Ratings, matrix, on_scale
from .weighted import Coefficient, OfSums, Statistic

Level = Literal["nominal", "ordinal", "interval", "ratio"]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval", "ratio")

FEW_VALUES = 40
"""Up to here a table of coincidences per case is cheaper than ranking every rating without every case."""


def krippendorff_alpha(ratings: Ratings, *, level: Level, jackknife: Jackknife = CASES) -> Estimate:
    """Krippendorff's alpha.

    Missing ratings: cases with fewer than two ratings are left out, as they pair with nothing.

    Args:
        ratings: Columns `case`, `rater`, `value`.
        level: How far apart two values are. Take it from the attribute's scale; `ratio` needs a true
            zero and no negative value.

    Returns:
        The estimate; `n` counts cases with two ratings or more. NaN when there is none or only one value
        was ever used.

    References:
        Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability".
    """
    grid = matrix(ratings, by=jackknife.by)
    if level != "nominal":
        grid = grid.numbers(f"{level} alpha")
    grid, scale = on_scale(grid.pairable())
    method, n = f"Krippendorff's alpha, {level}", len(grid.cases)
    if n == 0 or len(scale) < 2:
        reason = (
            "no case has two ratings"
            if n == 0
            else "all ratings have the same value, so cases cannot be distinguished"
        )
        return undefined(reason, method=method, n=n, confidence=jackknife.confidence)
    if level == "ratio" and scale[0] < 0:
        raise InvalidRatings(
            f"ratio alpha needs values of zero or more, but the ratings hold {scale[0]:g}",
            remedy="use the interval level",
        )
    squared = level in ("interval", "ratio")
    estimate = jackknife.estimate(
        alpha_coefficient(scale, level),
        grid,
        method=method,
        otherwise="expected disagreement is zero",
        transform=FISHER,
        gate=SQUARED if squared else RANKED,
    )
    return approximate(estimate) if squared else estimate


def alpha_coefficient(scale: FloatArray, level: Level) -> Coefficient:
    """Alpha over the values of `scale` as a function of the weights of cases."""
    if level == "ordinal":
        return lambda values: _ordinal(values, scale)
    if level == "interval":
        return lambda values: _interval(values, scale)
    return lambda values: _by_distance(values, scale, _squared_distance(scale, level))


def _squared_distance(scale: FloatArray, level: Level) -> FloatArray:
    if level == "nominal":
        return 1 - np.eye(len(scale))
    squared = np.subtract.outer(scale, scale) ** 2
    total = np.add.outer(scale, scale) ** 2
    return np.divide(squared, total, out=np.zeros_like(squared), where=total > 0)


def _interval(values: FloatArray, scale: FloatArray) -> Statistic:
    """Alpha when values are as far apart as their difference: all from sums, however many values there are."""
    centred = (values - scale.mean()) / np.ptp(scale)
    count = (~np.isnan(values)).sum(axis=1).astype(float)
    sums_of_values, sums_of_squares = np.nansum(centred, axis=1), np.nansum(centred**2, axis=1)
    observed = 2 * (count * sums_of_squares - sums_of_values**2) / (count - 1)
    sums = np.column_stack([observed, count, sums_of_values, sums_of_squares])

    def alpha(total: FloatArray) -> FloatArray:
        n = total[:, 1]
        return _alpha(total[:, 0], 2 * (n * total[:, 3] - total[:, 2] ** 2), n)

    return OfSums(sums, alpha)


def _by_distance(values: FloatArray, scale: FloatArray, distance: FloatArray) -> Statistic:
    """Alpha when the distance between two values does not depend on how often they are used."""
    counts = _counts(values, scale)
    observed = ((counts @ distance) * counts).sum(axis=1) / (counts.sum(axis=1) - 1)
    sums = np.column_stack([counts, observed])

    def alpha(total: FloatArray) -> FloatArray:
        uses = total[:, :-1]
        # All terms are positive, so that a sum is zero only where nothing differs, however small distances are.
        return _alpha(total[:, -1], ((uses @ distance) * uses).sum(axis=1), uses.sum(axis=1), least=0.0)

    return OfSums(sums, alpha)


def _ordinal(values: FloatArray, scale: FloatArray) -> Statistic:
    """Alpha when two values are as far apart as there are ratings between them.

    With r the mean rank of a value, its squared distance to another is (r - s)**2, which is summed from
    second moments: of all ratings for chance, of coincident ones for what was observed.
    """
    counts = _counts(values, scale)
    few_values = len(scale) <= FEW_VALUES
    return _over_coincidences(counts) if few_values else _over_cases(counts)


def _over_coincidences(counts: FloatArray) -> Statistic:
    """Ordinal alpha from how often each two values meet in a case."""
    q = counts.shape[1]
    low, high = np.triu_indices(q, 1)
    meetings = counts[:, low] * counts[:, high] / (counts.sum(axis=1) - 1)[:, None]

    def alpha(total: FloatArray) -> FloatArray:
        value_counts, met = total[:, :q], total[:, q:]
        rank, expected, n = _ranks(value_counts)
        return _alpha(2 * (met * (rank[:, low] - rank[:, high]) ** 2).sum(axis=1), expected, n)

    return OfSums(np.column_stack([counts, meetings]), alpha)


def _over_cases(counts: FloatArray) -> Statistic:
    """Ordinal alpha from the first two moments of the ranks in each case."""
    size = counts.sum(axis=1)

    def alpha(weights: FloatArray) -> FloatArray:
        rank, expected, n = _ranks(weights @ counts)
        rank_sums, square_sums = rank @ counts.T, rank**2 @ counts.T
        observed = (weights * 2 * (size * square_sums - rank_sums**2) / (size - 1)).sum(axis=1)
        return _alpha(observed, expected, n)

    return alpha


def _ranks(value_counts: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """From how often each value is used: its mean rank, the disagreement that chance expects, and all ratings."""
    n = value_counts.sum(axis=1)
    rank = value_counts.cumsum(axis=1) - value_counts / 2 - n[:, None] / 2
    expected = 2 * n * (value_counts * rank**2).sum(axis=1) - 2 * (value_counts * rank).sum(axis=1) ** 2
    return rank, expected, n


def _counts(values: FloatArray, scale: FloatArray) -> FloatArray:
    """How often each case was given each value."""
    return (values[:, :, None] == scale).sum(axis=1).astype(float)


def _alpha(observed: FloatArray, expected: FloatArray, n: FloatArray, least: float = 1e-12) -> FloatArray:
    """`least` is the expected disagreement up to which it may be rounding."""
    ratio = np.divide(observed * (n - 1), expected, out=np.full_like(n, np.nan), where=expected > least)
    return 1 - ratio


WORTH_NAMING = 0.05
"""How much alpha must rise without a rater before the rater is named."""


def rater_outliers(ratings: Ratings, *, level: Level, jackknife: Jackknife = CASES) -> pd.DataFrame:
    """One row per rater: how harsh, how much alpha would rise without them, and whether that says outlier.

    A rater is an outlier when leaving them out raises Krippendorff's alpha by 0.05 or more and the interval
    of that rise, by the jackknife, lies above zero. Two raters cannot outvote each other, so fewer than three
    raters have no outlier.

    Returns:
        Columns `rater`, `n` (ratings), `severity` (mean distance above the others' mean on the same cases;
        NaN for text), `rise`, `low`, `high`, `outlier`, `note`.
    """
    grid = matrix(ratings, by=jackknife.by)
    rated_counts = (~np.isnan(grid.values)).sum(axis=0)
    rows = []
    for number, rater in enumerate(grid.raters):
        rise, low, high, note = _rise(grid, number, level, jackknife)
        rows.append(
            {
                "rater": rater,
                "n": int(rated_counts[number]),
                "severity": _severity(grid, number),
                "rise": rise,
                "low": low,
                "high": high,
                "outlier": bool(rise >= WORTH_NAMING and low > 0),
                "note": note,
            }
        )
    columns = ["rater", "n", "severity", "rise", "low", "high", "outlier", "note"]
    return pd.DataFrame(rows, columns=columns)


def _rise(grid: Matrix, number: int, level: Level, jackknife: Jackknife) -> tuple[float, float, float, str]:
    """Alpha of the others minus alpha of everyone, with its interval."""
    if len(grid.raters) < 3:
        return np.nan, np.nan, np.nan, "fewer than three raters"
    columns = [column for column in range(len(grid.raters)) if column != number]
    _, scale = on_scale(grid)
    if len(scale) < 2:
        return np.nan, np.nan, np.nan, "all ratings have the same value"
    make = alpha_coefficient(scale, level)

    def rise(values: FloatArray) -> Statistic:
        paired, paired_rest = _pairable(values, range(values.shape[1])), _pairable(values, columns)
        everyone, others = make(values[paired]), make(values[paired_rest][:, columns])
        return lambda weights: others(weights[:, paired_rest]) - everyone(weights[:, paired])

    estimate = jackknife.estimate(
        rise,
        grid,
        method="rise in alpha",
        otherwise="alpha is undefined with this rater or without this rater",
        gate=RANKED,
    )
    return estimate.value, estimate.low, estimate.high, estimate.note


def _pairable(values: FloatArray, columns: "range | list[int]") -> np.ndarray:
    """The cases with two ratings or more in `columns`."""
    return np.flatnonzero((~np.isnan(values[:, list(columns)])).sum(axis=1) >= 2)


def _severity(grid: Matrix, number: int) -> float:
    if grid.labels is not None:
        return np.nan
    own_ratings = grid.values[:, number]
    other_ratings = np.delete(grid.values, number, axis=1)
    is_shared = ~np.isnan(own_ratings) & (~np.isnan(other_ratings)).any(axis=1)
    if not is_shared.any():
        return np.nan
    return float((own_ratings[is_shared] - np.nanmean(other_ratings[is_shared], axis=1)).mean())
