"""A straight line: offset and stretch, two numbers, for when labels are few."""

from __future__ import annotations

import numpy as np

from ..statistics.matrix import FloatArray
from .curve import Curve


def identity_curve(low: float, high: float) -> LinearCurve:
    """The curve that leaves every score between the ends as it is."""
    return LinearCurve(low=low, high=high).fit([low, high], [low, high])


class LinearCurve(Curve):
    """Least squares, clipped to the scale; where scores fall as labels rise the line is level, at their mean."""

    slope_: float
    intercept_: float

    def _points(self, scores: FloatArray, labels: FloatArray) -> tuple[FloatArray, FloatArray]:
        apart = scores - scores.mean()
        spread = float(apart @ apart)
        self.slope_ = max(float(apart @ labels) / spread, 0.0) if spread > 1e-12 * len(scores) else 0.0
        self.intercept_ = float(labels.mean() - self.slope_ * scores.mean())
        points = np.array([self.low, self.high], dtype=float)
        if self.slope_ > 0:
            meets = (points - self.intercept_) / self.slope_
            points = np.union1d(points, meets[(meets > self.low) & (meets < self.high)])
        return points, self.intercept_ + self.slope_ * points
