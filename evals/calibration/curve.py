"""A calibration curve: from what one rater gives to what people would have given."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import NotFittedError

from ..statistics.matrix import FloatArray, InvalidRatings


class Curve(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A curve that never falls: straight between the points `x_`, `y_`, level beyond the first and the last.

    Args:
        low: The lower end of people's scale.
        high: The upper end; no prediction leaves the two.
    """

    x_: FloatArray
    y_: FloatArray

    def __init__(self, *, low: float = 1.0, high: float = 5.0) -> None:
        self.low = low
        self.high = high

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the points from scores and the labels that people gave the same things."""
        scores, labels = column(X), column(y)
        if len(scores) != len(labels) or not len(scores):
            raise InvalidRatings(
                f"{len(scores)} scores and {len(labels)} labels", remedy="give one label for each score"
            )
        if not np.isfinite([scores, labels]).all():
            raise InvalidRatings("a score or a label is missing", remedy="leave out what nobody scored")
        points, values = self._points(scores, labels)
        self.x_, self.y_ = points, np.clip(values, self.low, self.high)
        return self

    def predict(self, X: Any) -> FloatArray:
        """What people would have given; NaN stays NaN."""
        if not hasattr(self, "x_"):
            raise NotFittedError("the curve has not been fitted: call fit first")
        return np.interp(column(X), self.x_, self.y_)

    @abstractmethod
    def _points(self, scores: FloatArray, labels: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Where the curve bends, from the lowest score up."""


def column(values: Any) -> FloatArray:
    """One feature as a flat array, whether it came as a column or as a list."""
    found = np.asarray(values, dtype=float)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim != 1:
        raise InvalidRatings(
            f"a curve has one score for each case, not an array of shape {found.shape}",
            remedy="give one column; JuryCalibrator holds a curve for each juror and attribute",
        )
    return found
