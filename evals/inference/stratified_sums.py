"""The estimate that labels and weighed scores give, stratum by stratum, and its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from ..statistics.estimate import Estimate
from ..statistics.matrix import FloatArray, IntArray
from .labelling import BoolArray, Labelling

KURTOSIS = 0.5
"""How much of the influences' excess kurtosis counts against the degrees of freedom; chosen in simulation on ceiling scales."""
WEIGHED_KURTOSIS = 2.0
"""The same where labels have unequal weights: a rare one of much weight, which may not have been drawn, decides then."""


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
