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
    "stratified": "prediction-powered mean (PPI++), strata weighted by their cases",
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
        heard = ~np.isnan(scores)
        # A score that is not there is no number: centred, it adds nothing on either side.
        middle = float(scores[heard].mean()) if heard.any() else 0.0
        self._f = np.where(heard, scores, middle) - middle
        self._cluster = np.unique(labelling.cluster, return_inverse=True)[1]
        self._whole = labelling.design == "active"
        self._strata: list[_Stratum] = []
        used = np.zeros(len(known), dtype=bool)
        for sign, side in sides:
            used |= side
            stratum = _merged_strata(labelling.stratum, known, side)
            for name in np.unique(stratum[side]):
                here = side & (stratum == name)
                mine = np.flatnonzero(here & known)
                other = np.flatnonzero(here if self._whole else here & ~known)
                omega = labelling.weight[mine] / labelling.weight[mine].sum()
                self._strata.append(_Stratum(sign * here.sum() / side.sum(), mine, omega, other))
        self._known = known & used
        self._few = int(self._known.sum())
        self._sides = len(sides)

    def best_power(self, clip: tuple[float, float]) -> float:
        """The weight of the scores that makes the variance smallest."""
        above = below = 0.0
        for share, mine, omega, other in self._strata:
            if len(mine) < 2 or not len(other):
                continue
            y, f = self._y[mine], self._f[mine]
            off = omega * (f - omega @ f)
            both = np.concatenate([f, self._f[other]]) if not self._whole else self._f[other]
            spread = float(both.var(ddof=1))
            if self._whole:
                # The slope under the labels' weights: squared, as in the variance, few labels would decide it.
                plain = f - omega @ f
                above += float(omega @ ((y - omega @ y) * plain))
                below += float(omega @ plain**2)
            else:
                above += share**2 * float((omega * (y - omega @ y)) @ off)
                below += share**2 * spread * (1 / len(mine) + 1 / len(other))
        return float(np.clip(above / below, *clip)) if below > 0 else 0.0

    def value(self, power: float) -> float:
        total = 0.0
        for share, mine, omega, other in self._strata:
            ahead = power * self._f[other].mean() if len(other) else power * (omega @ self._f[mine])
            total += share * float(ahead + omega @ (self._y[mine] - power * self._f[mine]))
        return total

    def influences(self, power: float, *, small: bool) -> FloatArray:
        """By cluster, what it adds to the estimate's error; with `small`, allowing for what was estimated on few labels."""
        each = np.zeros(len(self._y))
        for share, mine, omega, other in self._strata:
            error = self._y[mine] - power * self._f[mine]
            # Labels of unequal weight count as fewer.
            n = 1 / float(omega @ omega)
            lost = (1 if n > 1 else 0) + (1 if power and n > 2 and len(self._strata) == self._sides else 0)
            wider = math.sqrt(n / max(n - lost, 1.0)) if small else 1.0
            each[mine] += share * omega * (error - omega @ error) * wider
            if power and len(other):
                each[other] += share * power * (self._f[other] - self._f[other].mean()) / len(other)
        return np.bincount(self._cluster, weights=each).astype(float)

    def estimate(
        self,
        power: float,
        method: str,
        ends: tuple[float, float] | None,
        confidence: float,
        normal: bool,
    ) -> Estimate:
        value = self.value(power)
        pushed = self.influences(power, small=not normal)
        seen = np.unique(self._cluster[self._known])
        groups = len(seen)
        wider = 1.0 if normal or groups == self._few else math.sqrt(groups / (groups - 1))
        error = math.sqrt(float(pushed @ pushed)) * wider
        if normal:
            reach = float(ndtri((1 + confidence) / 2)) * error
            return Estimate(value, value - reach, value + reach, self._few, method, confidence, se=error)
        reach = float(
            stdtrit(
                _freedom(
                    pushed[seen],
                    max(1, groups - len(self._strata)),
                    WEIGHED_KURTOSIS if self._whole else KURTOSIS,
                ),
                (1 + confidence) / 2,
            )
        )
        flat = bool(np.ptp(self._y[self._known]) == 0)
        low, high, note = _bounds(value, error, reach, ends, flat, groups, confidence)
        return Estimate(value, low, high, self._few, method, confidence, note, se=error)


def _merged_strata(stratum: IntArray, known: BoolArray, side: BoolArray) -> IntArray:
    """The strata of one side, those with fewer than two labels put together with the best labelled one."""
    found = stratum.copy()
    counts = {name: int((known & side & (stratum == name)).sum()) for name in np.unique(stratum[side])}
    largest = max(counts, key=lambda name: counts[name])
    for name, number in counts.items():
        if number < 2:
            found[side & (found == name)] = largest
    return found


def _freedom(pushed: FloatArray, most: int, counted: float) -> float:
    """Degrees of freedom of a variance that few large influences make up, by their kurtosis."""
    n = len(pushed)
    square = float((pushed**2).mean())
    if square == 0 or n < 3:
        return max(1.0, float(most))
    excess = counted * max(0.0, float((pushed**4).mean()) / square**2 - 3)
    return max(1.0, 2 / (2 / max(1, most) + excess / n))


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
            "all labels are the same: bounds on how rare another is",
        )
    share = (value - low) / width
    if not 0 < share < 1:
        return (
            max(low, value - reach * error),
            min(high, value + reach * error),
            "the estimate lies at an end of the scale",
        )
    logit, step = math.log(share / (1 - share)), reach * error / width / (share * (1 - share))
    down, up = (1 / (1 + math.exp(-max(-700.0, min(700.0, logit + side)))) for side in (-step, step))
    return low + width * down, low + width * up, ""


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
