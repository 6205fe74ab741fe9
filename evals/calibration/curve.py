"""A calibration curve: from what one rater gives to what people would have given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from ..statistics.matrix import FloatArray, InvalidRatings
from .estimator import Estimator, NotFitted

BoolArray = npt.NDArray[np.bool_]


class Curve(Estimator, ABC):
    """A curve that never falls: straight between the points `x_`, `y_`, level beyond the first and the last.

    Args:
        low: The lower end of people's scale.
        high: The upper end; no prediction leaves the two.
    """

    sklearn_type: ClassVar = "regressor"
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
            raise NotFitted
        return np.interp(column(X), self.x_, self.y_)

    def predictions(
        self, scores: FloatArray, labels: FloatArray, taught: BoolArray, at: FloatArray
    ) -> FloatArray:
        """For each row of `taught`, which marks cases, what a curve learned from those predicts at the scores `at`.

        NaN for a row that marks none. This curve itself learns nothing.
        """
        found = np.full((len(taught), len(at)), np.nan)
        for number in np.flatnonzero(taught.any(axis=1)):
            found[number] = copy(self).fit(scores[taught[number]], labels[taught[number]]).predict(at)
        return found

    def score(self, X: Any, y: Any) -> float:
        """The share of the labels' variance that the curve explains; NaN where the labels do not vary."""
        labels = column(y)
        left, whole = ((labels - self.predict(X)) ** 2).sum(), ((labels - labels.mean()) ** 2).sum()
        return float(1 - left / whole) if whole else np.nan

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
