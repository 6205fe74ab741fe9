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
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from ..statistics.estimate import Estimate, undefined
from ..statistics.matrix import FloatArray, IntArray
from .labelling import BoolArray, Labelling

KURTOSIS = 0.5
"""How much of the influences' excess kurtosis counts against the degrees of freedom; chosen in simulation on ceiling scales."""
WEIGHED_KURTOSIS = 2.0
"""The same where labels have unequal weights: a rare one of much weight, which may not have been drawn, decides then."""
FEWEST = 5
"""Labelled clusters (in each stratum two) below which nothing is estimated."""
MOST_VALUES = 1000
"""Values at which the share at or below is estimated."""
METHODS = {
    "random": "prediction-powered mean (PPI++)",
    "stratified": "prediction-powered mean (PPI++), strata weighted by their number of cases",
    "active": "prediction-powered mean (PPI++), labels weighted by inverse probability",
}


class _Stratum(NamedTuple):
    """Cases among which labels were drawn alike, as row numbers."""

    share: float
    """Of all cases; negative on the side that is taken off."""
    mine: IntArray
    """Labelled."""
    omega: FloatArray
    """Their weights, which sum to 1."""
    other: IntArray
    """Those that the scores' mean is taken over: the unlabelled, or all where probabilities differ."""


class StratifiedSums:
    """Sums by stratum over labelled and other cases, from which any power's estimate follows."""

    def __init__(
        self,
        sides: Sequence[tuple[float, BoolArray]],
        labels: FloatArray,
        scores: FloatArray,
        known: BoolArray,
        labelling: Labelling,
    ) -> None:
        self._y, self._known = np.where(known, labels, 0.0), known
        has_score = ~np.isnan(scores)
        # A score that is not there is not a number: centred, it adds nothing on either side.
        middle = float(scores[has_score].mean()) if has_score.any() else 0.0
        self._f = np.where(has_score, scores, middle) - middle
        self._cluster = np.unique(labelling.cluster, return_inverse=True)[1]
        self._whole = labelling.design == "active"
        self._strata: list[_Stratum] = []
        in_sides = np.zeros(len(known), dtype=bool)
        for sign, side in sides:
            in_sides |= side
            stratum = _merged_strata(labelling.stratum, known, side)
            for name in np.unique(stratum[side]):
                cell = side & (stratum == name)
                rows = np.flatnonzero(cell & known)
                rest = np.flatnonzero(cell if self._whole else cell & ~known)
                omega = labelling.weight[rows] / labelling.weight[rows].sum()
                self._strata.append(_Stratum(sign * cell.sum() / side.sum(), rows, omega, rest))
        self._known = known & in_sides
        self._few = int(self._known.sum())
        self._sides = len(sides)

    def best_power(self, clip: tuple[float, float]) -> float:
        """The weight of the scores that makes the variance smallest."""
        covariance = score_variance = 0.0
        for share, rows, omega, rest in self._strata:
            if len(rows) < 2 or not len(rest):
                continue
            y, f = self._y[rows], self._f[rows]
            weighted = omega * (f - omega @ f)
            pooled = np.concatenate([f, self._f[rest]]) if not self._whole else self._f[rest]
            spread = float(pooled.var(ddof=1))
            if self._whole:
                # The slope under the labels' weights: squared, as in the variance, few labels would decide it.
                plain = f - omega @ f
                covariance += float(omega @ ((y - omega @ y) * plain))
                score_variance += float(omega @ plain**2)
            else:
                covariance += share**2 * float((omega * (y - omega @ y)) @ weighted)
                score_variance += share**2 * spread * (1 / len(rows) + 1 / len(rest))
        return float(np.clip(covariance / score_variance, *clip)) if score_variance > 0 else 0.0

    def value(self, power: float) -> float:
        total = 0.0
        for share, rows, omega, rest in self._strata:
            predicted = power * self._f[rest].mean() if len(rest) else power * (omega @ self._f[rows])
            total += share * float(predicted + omega @ (self._y[rows] - power * self._f[rows]))
        return total

    def influences(self, power: float, *, small: bool) -> FloatArray:
        """By cluster, what it adds to the estimate's error; with `small`, allowing for what was estimated on few labels."""
        influences = np.zeros(len(self._y))
        for share, rows, omega, rest in self._strata:
            error = self._y[rows] - power * self._f[rows]
            # Labels of unequal weight count as fewer.
            n = 1 / float(omega @ omega)
            lost = (1 if n > 1 else 0) + (1 if power and n > 2 and len(self._strata) == self._sides else 0)
            wider = math.sqrt(n / max(n - lost, 1.0)) if small else 1.0
            influences[rows] += share * omega * (error - omega @ error) * wider
            if power and len(rest):
                influences[rest] += share * power * (self._f[rest] - self._f[rest].mean()) / len(rest)
        return np.bincount(self._cluster, weights=influences).astype(float)

    def estimate(
        self, power: float, method: str, ends: tuple[float, float] | None, confidence: float, normal: bool
    ) -> Estimate:
        value = self.value(power)
        pushed = self.influences(power, small=not normal)
        labelled_clusters = np.unique(self._cluster[self._known])
        groups = len(labelled_clusters)
        wider = 1.0 if normal or groups == self._few else math.sqrt(groups / (groups - 1))
        error = math.sqrt(float(pushed @ pushed)) * wider
        if normal:
            reach = float(ndtri((1 + confidence) / 2)) * error
            return Estimate(value, value - reach, value + reach, self._few, method, confidence, se=error)
        reach = float(
            stdtrit(
                _freedom(
                    pushed[labelled_clusters],
                    max(1, groups - len(self._strata)),
                    WEIGHED_KURTOSIS if self._whole else KURTOSIS,
                ),
                (1 + confidence) / 2,
            )
        )
        flat = bool(np.ptp(self._y[self._known]) == 0)
        low, high, note = _bounds(value, error, reach, ends, flat, groups, confidence)
        return Estimate(value, low, high, self._few, method, confidence, note, se=error)


def _merged_strata(stratum: IntArray, labelled: BoolArray, side: BoolArray) -> IntArray:
    """The strata of one side, those with fewer than two labels put together with the best labelled one."""
    merged = stratum.copy()
    counts = {name: int((labelled & side & (stratum == name)).sum()) for name in np.unique(stratum[side])}
    largest = max(counts, key=lambda name: counts[name])
    for name, number in counts.items():
        if number < 2:
            merged[side & (merged == name)] = largest
    return merged


def _freedom(pushed: FloatArray, limit: int, kurtosis_weight: float) -> float:
    """Degrees of freedom of a variance that few large influences make up, by their kurtosis."""
    n = len(pushed)
    square = float((pushed**2).mean())
    if square == 0 or n < 3:
        return max(1.0, float(limit))
    excess = kurtosis_weight * max(0.0, float((pushed**4).mean()) / square**2 - 3)
    return max(1.0, 2 / (2 / max(1, limit) + excess / n))


def _bounds(
    value: float,
    error: float,
    reach: float,
    ends: tuple[float, float] | None,
    flat: bool,
    groups: int,
    confidence: float,
) -> tuple[float, float, str]:
    """The interval: on the logit of where the value lies between the ends, where there are any."""
    if ends is None:
        return value - reach * error, value + reach * error, ""
    low, high = ends
    width = high - low
    if flat:
        # Of labels that are all the same, only how rare another one must be is known.
        rare = width * rarest_share(groups, confidence)
        return (
            max(low, value - rare),
            min(high, value + rare),
            "all labels are the same: the interval only says how common other values can be at most",
        )
    share = (value - low) / width
    if not 0 < share < 1:
        return (
            max(low, value - reach * error),
            min(high, value + reach * error),
            "the estimate is at an end of the scale, so its interval is cut off there",
        )
    logit, step = math.log(share / (1 - share)), reach * error / width / (share * (1 - share))
    left, right = (1 / (1 + math.exp(-max(-700.0, min(700.0, logit + side)))) for side in (-step, step))
    return low + width * left, low + width * right, ""


def rarest_share(groups: int, confidence: float) -> float:
    """How often another label may be met where so many, independent of each other, are all the same."""
    return 1 - ((1 - confidence) / 2) ** (1 / groups)


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
    values = np.unique(np.concatenate([labels[~np.isnan(labels)], scores[~np.isnan(scores)]]))
    if len(values) > MOST_VALUES:
        values = np.unique(np.quantile(values, np.linspace(0, 1, MOST_VALUES), method="nearest"))
    shares = [
        rectified_mean(
            np.where(np.isnan(labels), np.nan, labels <= value),
            np.where(np.isnan(scores), np.nan, scores <= value),
            labelling,
            power=power,
            confidence=confidence,
            normal=normal,
        )
        for value in values
    ]
    groups = 0 if normal else len(np.unique(labelling.cluster[~np.isnan(labels)]))
    method = "prediction-powered quantile (PPI++)"
    return Rectified(
        _quantile(values, [s.estimate for s in shares], share, groups, method),
        _quantile(values, [s.labels_alone for s in shares], share, groups, "labels alone"),
        float(np.nanmean([s.power for s in shares])) if shares else math.nan,
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
    rated = labelling.labelled & ~np.isnan(labels)
    unrated = ~rated & ~np.isnan(scores)
    rated &= ~np.isnan(scores)
    n, m, size = int(rated.sum()), int(unrated.sum()), columns.shape[1]
    groups = len(np.unique(labelling.cluster[rated]))
    method = "prediction-powered least squares (PPI++)"
    usable = columns[rated | unrated]
    if groups < FEWEST + size or np.linalg.matrix_rank(columns[rated]) < size:
        reason = f"{groups} labelled cases or groups are too few, or the predictors do not vary among them"
        blank = undefined(reason, method=method, n=n, confidence=confidence)
        return [Rectified(blank, blank, math.nan)] * size
    inverse = np.linalg.inv(usable.T @ usable / len(usable))
    x, z, y, f, g = columns[rated], columns[unrated], labels[rated], scores[rated], scores[unrated]

    def coefficients(weight: float) -> FloatArray:
        predicted = np.linalg.lstsq(z, weight * g, rcond=None)[0] if m else np.zeros(size)
        return np.asarray(predicted + np.linalg.lstsq(x, y - weight * f, rcond=None)[0])

    def slopes(at: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        return x * (x @ at - y)[:, None], x * (x @ at - f)[:, None], z * (z @ at - g)[:, None]

    if power is None:
        label_slopes, hat, beyond = slopes(coefficients(1.0))
        cross = (label_slopes - label_slopes.mean(axis=0)).T @ (hat - hat.mean(axis=0)) / n
        spread = np.cov(np.concatenate([hat, beyond]).T).reshape(size, size)
        covariance = (inverse @ (cross + cross.T) @ inverse)[coordinate, coordinate]
        variance = 2 * (1 + n / m) * (inverse @ spread @ inverse)[coordinate, coordinate] if m else 0.0
        power = float(np.clip(covariance / variance, 0, 1)) if variance > 0 else 0.0
    code = np.unique(labelling.cluster, return_inverse=True)[1]
    # A case that pulls the line towards itself has too small a residual (HC3).
    spare = 1 / (1 - np.minimum((x @ np.linalg.inv(x.T @ x) * x).sum(axis=1), 0.9))

    def estimates(weight: float, name: str) -> list[Estimate]:
        at = coefficients(weight)
        label_slopes, hat, beyond = slopes(at)
        part = label_slopes - weight * hat
        influences = np.zeros((len(labels), size))
        small = math.sqrt(n / (n - 1)) if normal else spare[:, None] * math.sqrt(n / (n - 1 - bool(weight)))
        influences[rated] = (part - part.mean(axis=0)) / n * small
        if m > 1:
            influences[unrated] = weight * (beyond - beyond.mean(axis=0)) / m * math.sqrt(m / (m - 1))
        pushed = np.stack([np.bincount(code, weights=column) for column in (influences @ inverse).T])
        error = np.sqrt((pushed**2).sum(axis=1))
        reach = ndtri((1 + confidence) / 2) if normal else stdtrit(groups - size, (1 + confidence) / 2)
        return [
            Estimate(float(b), float(b - reach * e), float(b + reach * e), n, name, confidence, se=float(e))
            for b, e in zip(at, error, strict=True)
        ]

    return [
        Rectified(e, labels, power)
        for e, labels in zip(estimates(power, method), estimates(0.0, "labels alone"), strict=True)
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
    labelled = labelling.labelled & ~np.isnan(labels)
    method = METHODS[labelling.design]
    groups = min(len(np.unique(labelling.cluster[labelled & side])) for _, side in sides)
    if groups < FEWEST:
        reason = f"{groups} labelled cases or groups are too few: {FEWEST} are needed"
        blank = undefined(reason, method=method, n=int(labelled.sum()), confidence=confidence)
        return Rectified(blank, blank, math.nan)
    parts = StratifiedSums(sides, labels, scores, labelled, labelling)
    weight = parts.best_power(clip) if power is None else power
    settings = (ends, confidence, normal)
    return Rectified(
        parts.estimate(weight, method, *settings), parts.estimate(0.0, "labels alone", *settings), weight
    )


def _quantile(
    values: FloatArray, shares: Sequence[Estimate], share: float, groups: int, method: str
) -> Estimate:
    """Where the shares at or below each value reach `share`; without `groups`, of labels, bounds are taken as they are."""
    if not shares or not shares[0].defined:
        return replace(shares[0], method=method) if shares else undefined("no value", method=method)

    def value_at(shares: list[float]) -> float:
        rising = np.maximum.accumulate(np.nan_to_num(np.array(shares), nan=0.0))
        return float(values[min(int(np.searchsorted(rising, share - 1e-12)), len(values) - 1)])

    at = value_at([e.value for e in shares])
    bounds = [_share_bounds(e, share, groups) if groups else (e.low, e.high) for e in shares]
    low, high = value_at([high for _, high in bounds]), value_at([low for low, _ in bounds])
    error = shares[int(np.searchsorted(values, at))].se
    return Estimate(at, min(low, at), max(high, at), shares[0].n, method, shares[0].confidence, se=error)


def _share_bounds(estimate: Estimate, share: float, groups: int) -> tuple[float, float]:
    """The bounds of a share at or below some value, its error being what it would be if that were `share`.

    By its own error a share near 0 would seem known to be near 0, or on the logit to be nearly anything.
    """
    if estimate.se == 0:
        rare = rarest_share(groups, estimate.confidence)
        return estimate.value - rare, estimate.value + rare
    middle = min(max(estimate.value, 0.5 / groups), 1 - 0.5 / groups)
    reach = (estimate.high - estimate.value) * math.sqrt(share * (1 - share) / (middle * (1 - middle)))
    return estimate.value - reach, estimate.value + reach
