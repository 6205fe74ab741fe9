"""Isotonic regression: the least-squares fit among all curves that never fall."""

from __future__ import annotations

import numpy as np
from scipy.optimize import isotonic_regression

from ..statistics.matrix import FloatArray
from .curve import BoolArray, Curve

SHORT = 32
"""Distinct scores up to which all runs of them are looked at."""


class IsotonicCurve(Curve):
    """One value for each run of training scores, straight between them; assumes an order and nothing else.

    References:
        Barlow, Bartholomew, Bremner, Brunk (1972), "Statistical Inference under Order Restrictions".
    """

    def _points(self, scores: FloatArray, labels: FloatArray) -> tuple[FloatArray, FloatArray]:
        used, place = np.unique(scores, return_inverse=True)
        count = np.bincount(place).astype(float)
        mean = np.bincount(place, weights=labels) / count
        fitted = isotonic_regression(mean, weights=count).x
        # Within a level run only its two ends matter.
        bends = np.append(True, np.diff(fitted) != 0) | np.append(np.diff(fitted) != 0, True)
        return used[bends], fitted[bends]

    def predictions(
        self, scores: FloatArray, labels: FloatArray, taught: BoolArray, at: FloatArray
    ) -> FloatArray:
        """All curves at once where scores are few: a fitted value is the largest, over runs that begin at or below it, of the
        least mean of runs that end at or above it."""
        used, place = np.unique(scores, return_inverse=True)
        if len(used) > SHORT:
            return super().predictions(scores, labels, taught, at)
        member = np.eye(len(used))[place]
        count, total = taught @ member, taught @ (member * labels[:, None])
        reached = np.stack([count.cumsum(axis=1), total.cumsum(axis=1)])
        before = reached - np.stack([count, total])
        n, run = reached[:, :, None, :] - before[:, :, :, None]
        mean = np.divide(run, n, out=np.full(n.shape, np.inf), where=n > 0)
        # Backwards over the ends of runs: the least mean of runs from `start` that end at `end` or above.
        least = np.minimum.accumulate(mean[:, :, ::-1], axis=2)[:, :, ::-1]
        upward = np.triu(np.ones((len(used), len(used)), dtype=bool))
        begun = (count > 0)[:, :, None] & upward
        fitted = np.where(begun, least, -np.inf).max(axis=1)
        found = np.full((len(taught), len(at)), np.nan)
        between = count.any(axis=1)
        if np.array_equal(at, used):
            # Where all of them were taught there is nothing to draw a line between.
            whole = count.all(axis=1)
            found[whole], between = fitted[whole], between & ~whole
        for number in np.flatnonzero(between):
            some = count[number] > 0
            found[number] = np.interp(at, used[some], fitted[number, some])
        return np.clip(found, self.low, self.high)
