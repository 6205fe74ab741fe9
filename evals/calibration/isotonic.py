"""Isotonic regression: the least-squares fit among all curves that never fall."""

from __future__ import annotations

import numpy as np
from scipy.optimize import isotonic_regression

from ..statistics.matrix import FloatArray
from .curve import Curve


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
