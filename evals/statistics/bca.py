"""Bootstrap draws read as bounds and p: percentiles moved for bias and acceleration (BCa), tails widened as Student's t has them.

References:
    Efron (1987), "Better bootstrap confidence intervals", JASA 82:171-185.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from .matrix import FloatArray, IntArray

HALVINGS = 40
"""Steps in which a p is found: to a millionth of a millionth."""


class Reading(NamedTuple):
    """Draws, and how far their percentiles are moved before they are read as bounds."""

    drawn: FloatArray
    bias: float
    pull: float
    expanded: int | None
    """The number of cases, where tails are read as Student's t stands to the normal."""

    def bounds(self, confidence: float) -> tuple[float, float]:
        """Low and high; the draws are in order."""
        tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
        if self.expanded is not None:
            n = self.expanded
            tails = ndtr(np.sqrt(n / (n - 1)) * stdtrit(n - 1, tails))
        # Two or three cases expand the tails to 0 and 1, whose normal quantiles are infinite.
        z = self.bias + ndtri(np.minimum(np.maximum(tails, 1e-12), 1 - 1e-12))
        last = len(self.drawn) - 1
        place = last * ndtr(self.bias + z / np.maximum(1 - self.pull * z, 1e-9))
        low, high = np.interp(place, np.arange(last + 1), self.drawn)
        return float(low), float(high)

    def p(self, truth: float) -> float:
        """The two-sided p of `truth`: one minus the confidence of the narrowest interval that holds it.

        Found by halving, from the bounds themselves, so that it is below 0.05 exactly where the 95% interval excludes the
        truth. The data count as one draw, so p is never zero.
        """
        least, most = least_p(len(self.drawn)), 1.0
        if self._holds(truth, 0.0):
            return most
        if not self._holds(truth, 1 - least):
            return least
        for _ in range(HALVINGS):
            middle = (least + most) / 2
            least, most = (middle, most) if self._holds(truth, 1 - middle) else (least, middle)
        return least

    def _holds(self, truth: float, confidence: float) -> bool:
        low, high = self.bounds(confidence)
        return low - 1e-12 <= truth <= high + 1e-12


def least_p(resamples: int) -> float:
    """The smallest two-sided p that so many resamples can give, the data counting as one of them."""
    return 2 / (resamples + 1)


def bias_and_pull(
    drawn: FloatArray, value: float, left_out: FloatArray, frequency: IntArray, n: int
) -> tuple[float, float]:
    """Efron's corrections for bias and acceleration; none where the draws lie on one side.

    Where only some of the `n` cases were left out, these stand for all.

    Draws equal to the estimate count half, so that a discrete statistic is not called biased.
    """
    close = np.abs(drawn - value) <= 1e-12 + 1e-12 * abs(value)
    below = float(np.mean(np.where(close, 0.5, drawn < value)))
    usable = ~np.isnan(left_out)
    weight = frequency[usable] * (n / max(1, int(frequency.sum())))
    if not 0 < below < 1 or weight.sum() == 0:
        return 0.0, 0.0
    gap = (left_out[usable] * weight).sum() / weight.sum() - left_out[usable]
    spread = float((weight * gap**2).sum())
    pull = float((weight * gap**3).sum()) / (6 * spread**1.5) if spread > 1e-24 else 0.0
    return float(ndtri(below)), pull
