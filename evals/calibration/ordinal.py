"""Proportional odds: people's labels as ordered levels; a higher score always stays the higher one."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from ..statistics.matrix import FloatArray, InvalidRatings
from .curve import Curve

LEVELS = 25
"""More distinct labels than this are no levels but a measurement."""


class OrdinalCurve(Curve):
    """The mean label that a proportional-odds model expects at each score.

    The labels' order matters to the fit and their distances only to the mean that is read off it. Isotonic
    regression may give two scores one value; this curve rises everywhere, so ranks are kept. Where scores
    fall as labels rise it is level, at the labels' mean.

    Args:
        ridge: Half of this times the squared slope, per standard deviation of the scores, is added to the
            negative log-likelihood: without it, scores that tell the levels apart wholly have no finite fit.

    References:
        McCullagh (1980), "Regression models for ordinal data", JRSS B 42:109-142.
    """

    levels_: FloatArray
    thresholds_: FloatArray
    slope_: float
    """In log odds, for one standard deviation of the scores."""

    def __init__(self, *, low: float = 1.0, high: float = 5.0, ridge: float = 0.01) -> None:
        super().__init__(low=low, high=high)
        self.ridge = ridge

    def _points(self, scores: FloatArray, labels: FloatArray) -> tuple[FloatArray, FloatArray]:
        self.levels_, level = np.unique(labels, return_inverse=True)
        if len(self.levels_) > LEVELS:
            raise InvalidRatings(
                f"the ordinal method has levels, and the labels hold {len(self.levels_)} different values",
                remedy="use the isotonic or the linear method for a scale of measurements",
            )
        centre, spread = float(scores.mean()), float(scores.std())
        points = np.union1d(np.linspace(self.low, self.high, 17), scores)
        if spread < 1e-9 or len(self.levels_) == 1:
            return self._level(points, labels)
        used, score = np.unique(scores, return_inverse=True)
        counts = np.zeros((len(used), len(self.levels_)))
        np.add.at(counts, (score, level), 1)
        self.thresholds_, self.slope_ = _fit((used - centre) / spread, counts, self.ridge)
        if self.slope_ <= 0:
            return self._level(points, labels)
        at = (points - centre) / spread
        return points, _shares(at, self.thresholds_, self.slope_) @ self.levels_

    def _level(self, points: FloatArray, labels: FloatArray) -> tuple[FloatArray, FloatArray]:
        shares = np.searchsorted(np.sort(labels), self.levels_[:-1], side="right") / len(labels)
        self.thresholds_, self.slope_ = np.log(shares / (1 - shares)), 0.0
        return points, np.full(len(points), labels.mean())


def _shares(at: FloatArray, thresholds: FloatArray, slope: float) -> FloatArray:
    """The chance of each level at each score."""
    below = expit(thresholds[None, :] - slope * at[:, None])
    edges = np.column_stack([np.zeros(len(at)), below, np.ones(len(at))])
    return np.diff(edges, axis=1)


def _fit(at: FloatArray, counts: FloatArray, ridge: float) -> tuple[FloatArray, float]:
    """Thresholds and slope of the highest penalised likelihood; thresholds stay in order by their logged gaps."""

    def thresholds(free: FloatArray) -> FloatArray:
        return free[0] + np.concatenate([[0.0], np.cumsum(np.exp(free[1:-1]))])

    def loss(free: FloatArray) -> tuple[float, FloatArray]:
        cuts, slope = thresholds(free), float(free[-1])
        chance = np.maximum(_shares(at, cuts, slope), 1e-300)
        below = expit(cuts[None, :] - slope * at[:, None])
        pull = counts / chance
        by_cut = (pull[:, :-1] - pull[:, 1:]) * below * (1 - below)
        each = -by_cut.sum(axis=0)
        gaps = np.exp(free[1:-1]) * (each[::-1].cumsum()[::-1])[1:]
        slope_pull = float((by_cut * at[:, None]).sum()) + ridge * slope
        value = -float((counts * np.log(chance)).sum()) + ridge * slope**2 / 2
        return value, np.concatenate([[each.sum()], gaps, [slope_pull]])

    shares = counts.sum(axis=0).cumsum()[:-1] / counts.sum()
    start = np.log(shares / (1 - shares))
    free = np.concatenate([start[:1], np.log(np.diff(start)), [0.5]])
    best = minimize(loss, free, jac=True, method="BFGS", options={"gtol": 1e-6}).x
    return thresholds(best), float(best[-1])
