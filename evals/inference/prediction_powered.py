"""People's mean from few labels and many scores: prediction-powered inference with a tuned weight of the scores (PPI++).

The scores' mean over all cases is known; what the scores get wrong is estimated on labelled cases and taken off. With weight
1 all of the scores counts, with 0 nothing: the weight that makes the variance smallest is estimated, so that a useless
judge costs next to nothing. Whatever the scores are, the estimate is of people's mean.

References:
    Angelopoulos, Bates, Fannjiang, Jordan and Zrnic (2023), "Prediction-powered inference", Science 382:669-674.
    Angelopoulos, Duchi and Zrnic (2023), "PPI++: efficient prediction-powered inference", arXiv:2311.01453.
    Zrnic and Candes (2024), "Active statistical inference", arXiv:2403.03208: unequal probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri, stdtrit

from ..statistics.estimate import Estimate, undefined
from ..statistics.matrix import FloatArray
from .labelling import BoolArray, Labelling
from .stratified_sums import StratifiedSums, rarest_share

FEWEST = 5
"""Labelled clusters (in each stratum two) below which nothing is estimated."""
MOST_VALUES = 1000
"""Values at which the share at or below is estimated."""
METHODS = {
    "random": "prediction-powered mean (PPI++)",
    "stratified": "prediction-powered mean (PPI++), strata weighted by their cases",
    "active": "prediction-powered mean (PPI++), labels weighted by inverse probability",
}


@dataclass(frozen=True, slots=True)
class Rectified:
    """An estimate from labels and scores, the labels' own beside it, and what the scores were worth."""

    estimate: Estimate
    labels_alone: Estimate
    power: float
    """The weight that the scores were given, from 0 to 1."""

    @property
    def worth(self) -> float:
        """As many labels alone would be as good."""
        gain = (self.labels_alone.se / self.estimate.se) ** 2 if self.estimate.se > 0 else math.nan
        return self.labels_alone.n * gain


def rectified_mean(
    labels: FloatArray,
    scores: FloatArray,
    labelling: Labelling,
    *,
    ends: tuple[float, float] | None = None,
    power: float | None = None,
    clip: tuple[float, float] = (0.0, 1.0),
    confidence: float = 0.95,
    normal: bool = False,
) -> Rectified:
    """The mean of people's labels over all cases.

    Args:
        labels: One a case; NaN where there is none.
        scores: One a case; NaN where the jury says nothing, which then adds nothing.
        ends: Of the scale, where it has any: the interval stays within them.
        power: The scores' weight; without it the best one, clipped to `clip`.
        normal: Intervals by the normal distribution as in the papers, not by Student's t on a scale that has no end.
    """
    everywhere = np.ones(len(labels), dtype=bool)
    return _sum_of_sides(
        [(1.0, everywhere)], labels, scores, labelling, ends, power, clip, confidence, normal
    )


def rectified_difference(
    labels: FloatArray,
    scores: FloatArray,
    labelling: Labelling,
    first: BoolArray,
    second: BoolArray,
    *,
    confidence: float = 0.95,
) -> Rectified:
    """The mean of people's labels over the cases in `first` less that over those in `second`.

    Cases of one cluster on both sides are paired: what they have in common cancels.
    """
    sides = [(1.0, first), (-1.0, second)]
    return _sum_of_sides(sides, labels, scores, labelling, None, None, (0.0, 1.0), confidence, False)


def rectified_quantile(
    labels: FloatArray,
    scores: FloatArray,
    labelling: Labelling,
    share: float,
    *,
    power: float | None = None,
    confidence: float = 0.95,
    normal: bool = False,
) -> Rectified:
    """The smallest value that a `share` of people's labels do not exceed, by the corrected share at or below each value.

    The interval is of all values at which the corrected share may be `share`, by a score test: its error is taken to be what it
    would be if it were `share`. On a short scale it is a run of its points, and holds more often than asked for.
    """
    seen = np.unique(np.concatenate([labels[~np.isnan(labels)], scores[~np.isnan(scores)]]))
    if len(seen) > MOST_VALUES:
        seen = np.unique(np.quantile(seen, np.linspace(0, 1, MOST_VALUES), method="nearest"))
    below = [
        rectified_mean(
            np.where(np.isnan(labels), np.nan, labels <= value),
            np.where(np.isnan(scores), np.nan, scores <= value),
            labelling,
            power=power,
            confidence=confidence,
            normal=normal,
        )
        for value in seen
    ]
    groups = 0 if normal else len(np.unique(labelling.cluster[~np.isnan(labels)]))
    method = "prediction-powered quantile (PPI++)"
    return Rectified(
        _quantile(seen, [each.estimate for each in below], share, groups, method),
        _quantile(seen, [each.labels_alone for each in below], share, groups, "labels alone"),
        float(np.nanmean([each.power for each in below])) if below else math.nan,
    )


def rectified_slopes(
    labels: FloatArray,
    scores: FloatArray,
    columns: FloatArray,
    labelling: Labelling,
    *,
    power: float | None = None,
    coordinate: int = 1,
    confidence: float = 0.95,
    normal: bool = False,
) -> list[Rectified]:
    """The coefficients of a linear regression of people's labels on `columns`, one of which should be an intercept.

    Args:
        columns: One row a case, without gaps.
        coordinate: The column for whose coefficient the scores' weight is best.

    Labels must have been drawn at random.
    """
    known = labelling.labelled & ~np.isnan(labels)
    other = ~known & ~np.isnan(scores)
    known &= ~np.isnan(scores)
    n, many, size = int(known.sum()), int(other.sum()), columns.shape[1]
    groups = len(np.unique(labelling.cluster[known]))
    method = "prediction-powered least squares (PPI++)"
    both = columns[known | other]
    if groups < FEWEST + size or np.linalg.matrix_rank(columns[known]) < size:
        why = f"{groups} labelled cases or groups are too few, or the columns do not vary among them"
        nothing = undefined(why, method=method, n=n, confidence=confidence)
        return [Rectified(nothing, nothing, math.nan)] * size
    inverse = np.linalg.inv(both.T @ both / len(both))
    x, z, y, f, g = columns[known], columns[other], labels[known], scores[known], scores[other]

    def coefficients(weight: float) -> FloatArray:
        ahead = np.linalg.lstsq(z, weight * g, rcond=None)[0] if many else np.zeros(size)
        return np.asarray(ahead + np.linalg.lstsq(x, y - weight * f, rcond=None)[0])

    def slopes(at: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        return x * (x @ at - y)[:, None], x * (x @ at - f)[:, None], z * (z @ at - g)[:, None]

    if power is None:
        own, hat, beyond = slopes(coefficients(1.0))
        shared = (own - own.mean(axis=0)).T @ (hat - hat.mean(axis=0)) / n
        spread = np.cov(np.concatenate([hat, beyond]).T).reshape(size, size)
        above = (inverse @ (shared + shared.T) @ inverse)[coordinate, coordinate]
        below = 2 * (1 + n / many) * (inverse @ spread @ inverse)[coordinate, coordinate] if many else 0.0
        power = float(np.clip(above / below, 0, 1)) if below > 0 else 0.0
    code = np.unique(labelling.cluster, return_inverse=True)[1]
    # A case that pulls the line towards itself has too small a residual (HC3).
    spare = 1 / (1 - np.minimum((x @ np.linalg.inv(x.T @ x) * x).sum(axis=1), 0.9))

    def estimates(weight: float, how: str) -> list[Estimate]:
        at = coefficients(weight)
        own, hat, beyond = slopes(at)
        part = own - weight * hat
        each = np.zeros((len(labels), size))
        small = math.sqrt(n / (n - 1)) if normal else spare[:, None] * math.sqrt(n / (n - 1 - bool(weight)))
        each[known] = (part - part.mean(axis=0)) / n * small
        if many > 1:
            each[other] = weight * (beyond - beyond.mean(axis=0)) / many * math.sqrt(many / (many - 1))
        pushed = np.stack([np.bincount(code, weights=column) for column in (each @ inverse).T])
        error = np.sqrt((pushed**2).sum(axis=1))
        reach = ndtri((1 + confidence) / 2) if normal else stdtrit(groups - size, (1 + confidence) / 2)
        return [
            Estimate(float(b), float(b - reach * e), float(b + reach * e), n, how, confidence, se=float(e))
            for b, e in zip(at, error, strict=True)
        ]

    return [
        Rectified(mine, alone, power)
        for mine, alone in zip(estimates(power, method), estimates(0.0, "labels alone"), strict=True)
    ]


def _sum_of_sides(
    sides: Sequence[tuple[float, BoolArray]],
    labels: FloatArray,
    scores: FloatArray,
    labelling: Labelling,
    ends: tuple[float, float] | None,
    power: float | None,
    clip: tuple[float, float],
    confidence: float,
    normal: bool,
) -> Rectified:
    """The sum over sides of the mean in each, taken with its sign."""
    known = labelling.labelled & ~np.isnan(labels)
    method = METHODS[labelling.design]
    groups = min(len(np.unique(labelling.cluster[known & here])) for _, here in sides)
    if groups < FEWEST:
        why = f"{groups} labelled cases or groups are too few: {FEWEST} are needed"
        nothing = undefined(why, method=method, n=int(known.sum()), confidence=confidence)
        return Rectified(nothing, nothing, math.nan)
    parts = StratifiedSums(sides, labels, scores, known, labelling)
    weight = parts.best_power(clip) if power is None else power
    rest = (ends, confidence, normal)
    return Rectified(
        parts.estimate(weight, method, *rest), parts.estimate(0.0, "labels alone", *rest), weight
    )


def _quantile(
    values: FloatArray, below: Sequence[Estimate], share: float, groups: int, method: str
) -> Estimate:
    """Where the shares at or below each value reach `share`; without `groups`, of labels, bounds are taken as they are."""
    if not below or not below[0].defined:
        return replace(below[0], method=method) if below else undefined("no value", method=method)

    def value_at(shares: list[float]) -> float:
        up = np.maximum.accumulate(np.nan_to_num(np.array(shares), nan=0.0))
        return float(values[min(int(np.searchsorted(up, share - 1e-12)), len(values) - 1)])

    at = value_at([each.value for each in below])
    bounds = [_share_bounds(each, share, groups) if groups else (each.low, each.high) for each in below]
    low, high = value_at([high for _, high in bounds]), value_at([low for low, _ in bounds])
    error = below[int(np.searchsorted(values, at))].se
    return Estimate(at, min(low, at), max(high, at), below[0].n, method, below[0].confidence, se=error)


def _share_bounds(below: Estimate, share: float, groups: int) -> tuple[float, float]:
    """The bounds of a share at or below some value, its error being what it would be if that were `share`.

    By its own error a share near 0 would seem known to be near 0, or on the logit to be nearly anything.
    """
    if below.se == 0:
        rare = rarest_share(groups, below.confidence)
        return below.value - rare, below.value + rare
    middle = min(max(below.value, 0.5 / groups), 1 - 0.5 / groups)
    reach = (below.high - below.value) * math.sqrt(share * (1 - share) / (middle * (1 - middle)))
    return below.value - reach, below.value + reach
