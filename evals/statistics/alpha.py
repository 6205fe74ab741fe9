"""Krippendorff's alpha: agreement of any number of raters, at any level, with gaps."""

from collections.abc import Callable
from typing import Literal

import numpy as np
import pandas as pd

from .bootstrap import Bootstrap, Coefficient, Statistic
from .estimate import Estimate, undefined
from .matrix import FloatArray, InvalidRatings, Matrix, matrix, on_scale

Level = Literal["nominal", "ordinal", "interval", "ratio"]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval", "ratio")
Observed = Callable[[FloatArray, FloatArray], FloatArray]
"""From weights and the mean ranks of values, a row per resample, to the disagreement observed."""

FEW_VALUES = 40
"""Up to here a table of coincidences per case is cheaper than ranking every rating in every resample."""


def krippendorff_alpha(ratings: pd.DataFrame, *, level: Level, bootstrap: Bootstrap) -> Estimate:
    """Krippendorff's alpha, with an interval from resampling whole cases.

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
    grid = matrix(ratings, by=bootstrap.by).pairable()
    if level != "nominal":
        grid = grid.numbers(f"{level} alpha")
    return alpha_of(grid, level=level, bootstrap=bootstrap)


def alpha_of(grid: Matrix, *, level: Level, bootstrap: Bootstrap) -> Estimate:
    """`krippendorff_alpha` of a matrix whose cases all have two ratings or more."""
    grid, scale = on_scale(grid)
    method = f"Krippendorff's alpha, {level}"
    n = len(grid.cases)
    if n == 0 or len(scale) < 2:
        why = (
            "no case has two ratings"
            if n == 0
            else "only one value was ever used, so there is nothing to tell apart"
        )
        return undefined(why, method=method, n=n, confidence=bootstrap.confidence)
    if level == "ratio" and scale[0] < 0:
        raise InvalidRatings(
            f"ratio alpha needs values of zero or more; the ratings hold {scale[0]:g}",
            remedy="use the interval level",
        )
    return bootstrap.estimate(
        alpha_coefficient(scale, level), grid, method=method, otherwise="expected disagreement is zero"
    )


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
    apart = np.subtract.outer(scale, scale) ** 2
    total = np.add.outer(scale, scale) ** 2
    return np.divide(apart, total, out=np.zeros_like(apart), where=total > 0)


def _interval(values: FloatArray, scale: FloatArray) -> Statistic:
    """Alpha when values are as far apart as their difference: all from sums, however many values there are."""
    centred = (values - scale.mean()) / np.ptp(scale)
    count = (~np.isnan(values)).sum(axis=1).astype(float)
    first, second = np.nansum(centred, axis=1), np.nansum(centred**2, axis=1)
    observed = 2 * (count * second - first**2) / (count - 1)
    sums = np.column_stack([observed, count, first, second])

    def alpha(weights: FloatArray) -> FloatArray:
        total = weights @ sums
        n = total[:, 1]
        return _alpha(total[:, 0], 2 * (n * total[:, 3] - total[:, 2] ** 2), n)

    return alpha


def _by_distance(values: FloatArray, scale: FloatArray, distance: FloatArray) -> Statistic:
    """Alpha when the distance between two values does not depend on how often they are used."""
    counts = _counts(values, scale)
    observed = ((counts @ distance) * counts).sum(axis=1) / (counts.sum(axis=1) - 1)
    sums = np.column_stack([counts, observed])

    def alpha(weights: FloatArray) -> FloatArray:
        total = weights @ sums
        used = total[:, :-1]
        return _alpha(total[:, -1], ((used @ distance) * used).sum(axis=1), used.sum(axis=1))

    return alpha


def _ordinal(values: FloatArray, scale: FloatArray) -> Statistic:
    """Alpha when two values are as far apart as there are ratings between them.

    With r the mean rank of a value, its squared distance to another is (r - s)**2, which is summed from
    second moments: of all ratings for chance, of coincident ones for what was observed.
    """
    counts = _counts(values, scale)
    observed = _over_coincidences(counts) if len(scale) <= FEW_VALUES else _over_cases(counts)

    def alpha(weights: FloatArray) -> FloatArray:
        used = weights @ counts
        n = used.sum(axis=1)
        rank = used.cumsum(axis=1) - used / 2 - n[:, None] / 2
        expected = 2 * n * (used * rank**2).sum(axis=1) - 2 * (used * rank).sum(axis=1) ** 2
        return _alpha(observed(weights, rank), expected, n)

    return alpha


def _over_coincidences(counts: FloatArray) -> Observed:
    """Observed disagreement from how often each two values meet in a case."""
    free = counts.sum(axis=1) - 1
    low, high = np.triu_indices(counts.shape[1], 1)
    meetings = counts[:, low] * counts[:, high] / free[:, None]
    return lambda weights, rank: 2 * ((weights @ meetings) * (rank[:, low] - rank[:, high]) ** 2).sum(axis=1)


def _over_cases(counts: FloatArray) -> Observed:
    """Observed disagreement from the first two moments of the ranks in each case."""
    size = counts.sum(axis=1)

    def observed(weights: FloatArray, rank: FloatArray) -> FloatArray:
        first, second = rank @ counts.T, rank**2 @ counts.T
        return (weights * 2 * (size * second - first**2) / (size - 1)).sum(axis=1)

    return observed


def _counts(values: FloatArray, scale: FloatArray) -> FloatArray:
    """How often each case was given each value."""
    return (values[:, :, None] == scale).sum(axis=1).astype(float)


def _alpha(observed: FloatArray, expected: FloatArray, n: FloatArray) -> FloatArray:
    ratio = np.divide(observed * (n - 1), expected, out=np.full_like(n, np.nan), where=expected > 1e-12)
    return 1 - ratio
