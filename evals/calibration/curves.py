"""Calibration curves, from what one rater gives to what people would have given: isotonic, linear, ordinal."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from inspect import signature
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression, minimize
from scipy.special import expit

from ...rubrics.errors import VenireError
from ..statistics.matrix import FloatArray, InvalidRatings

BoolArray = npt.NDArray[np.bool_]
SHORT = 32
"""Distinct scores up to which all runs of them are looked at."""
LEVELS = 25
"""More distinct labels than this are no levels but a measurement."""


class NotFitted(VenireError):
    """Something was asked of an estimator that has learned nothing yet."""

    def __init__(self) -> None:
        super().__init__("this estimator has not been fitted yet", remedy="call fit first")


class Estimator:
    """Options are the constructor's parameters, kept under their names; what `fit` learns ends in an underscore.

    That is scikit-learn's contract, so its `clone`, `cross_val_score` and grid searches take these estimators.
    """

    sklearn_type: ClassVar[str | None] = None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The options by name; none of them is an estimator, so `deep` makes no difference."""
        return {name: getattr(self, name) for name in signature(type(self)).parameters}

    def set_params(self, **options: Any) -> Self:
        """The same estimator with these options changed."""
        params = self.get_params()
        for name, value in options.items():
            if name not in params:
                raise VenireError(
                    f"{type(self).__name__} has no option {name!r}",
                    remedy=f"choose one of {', '.join(params)}",
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({options})"

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of an estimator that it is given."""
        from sklearn.utils import RegressorTags, Tags, TargetTags

        return Tags(self.sklearn_type, TargetTags(required=True), regressor_tags=RegressorTags())


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
                f"the curve was given {len(scores)} scores and {len(labels)} labels",
                remedy="give scores, and one label for each score",
            )
        if not np.isfinite([scores, labels]).all():
            raise InvalidRatings(
                "a score or a label is missing", remedy="leave out cases without a score or without a label"
            )
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
        predicted = np.full((len(taught), len(at)), np.nan)
        for number in np.flatnonzero(taught.any(axis=1)):
            predicted[number] = copy(self).fit(scores[taught[number]], labels[taught[number]]).predict(at)
        return predicted

    def score(self, X: Any, y: Any) -> float:
        """The share of the labels' variance that the curve explains; NaN where the labels do not vary."""
        labels = column(y)
        residual, total = ((labels - self.predict(X)) ** 2).sum(), ((labels - labels.mean()) ** 2).sum()
        return float(1 - residual / total) if total else np.nan

    @abstractmethod
    def _points(self, scores: FloatArray, labels: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Where the curve bends, from the lowest score up."""


def column(values: Any) -> FloatArray:
    """One feature as a flat array, whether it came as a column or as a list."""
    flat = np.asarray(values, dtype=float)
    if flat.ndim == 2 and flat.shape[1] == 1:
        flat = flat[:, 0]
    if flat.ndim != 1:
        raise InvalidRatings(
            f"a curve has one score for each case, not an array of shape {flat.shape}",
            remedy="give one column; JuryCalibrator holds a curve for each juror and attribute",
        )
    return flat


class IsotonicCurve(Curve):
    """One value for each run of training scores, straight between them; assumes an order and nothing else.

    References:
        Barlow, Bartholomew, Bremner, Brunk (1972), "Statistical Inference under Order Restrictions".
    """

    def _points(self, scores: FloatArray, labels: FloatArray) -> tuple[FloatArray, FloatArray]:
        distinct, place = np.unique(scores, return_inverse=True)
        count = np.bincount(place).astype(float)
        mean = np.bincount(place, weights=labels) / count
        isotonic = isotonic_regression(mean, weights=count).x
        # Within a level run only its two ends matter.
        bends = np.append(True, np.diff(isotonic) != 0) | np.append(np.diff(isotonic) != 0, True)
        return distinct[bends], isotonic[bends]

    def predictions(
        self, scores: FloatArray, labels: FloatArray, taught: BoolArray, at: FloatArray
    ) -> FloatArray:
        """All curves at once where scores are few: a fitted value is the largest, over runs that begin at or below it, of the
        least mean of runs that end at or above it."""
        distinct, place = np.unique(scores, return_inverse=True)
        if len(distinct) > SHORT:
            return super().predictions(scores, labels, taught, at)
        member = np.eye(len(distinct))[place]
        count, total = taught @ member, taught @ (member * labels[:, None])
        reached = np.stack([count.cumsum(axis=1), total.cumsum(axis=1)])
        preceding = reached - np.stack([count, total])
        n, run = reached[:, :, None, :] - preceding[:, :, :, None]
        mean = np.divide(run, n, out=np.full(n.shape, np.inf), where=n > 0)
        # Backwards over the ends of runs: the least mean of runs from `start` that end at `end` or above.
        least = np.minimum.accumulate(mean[:, :, ::-1], axis=2)[:, :, ::-1]
        upward = np.triu(np.ones((len(distinct), len(distinct)), dtype=bool))
        has_begun = (count > 0)[:, :, None] & upward
        isotonic = np.clip(np.where(has_begun, least, -np.inf).max(axis=1), self.low, self.high)
        predicted = np.full((len(taught), len(at)), np.nan)
        between = count.any(axis=1)
        if np.array_equal(at, distinct):
            # Where all of them were taught there is nothing to draw a line between.
            is_complete = count.all(axis=1)
            predicted[is_complete], between = isotonic[is_complete], between & ~is_complete
        for number in np.flatnonzero(between):
            has_scores = count[number] > 0
            predicted[number] = np.interp(at, distinct[has_scores], isotonic[number, has_scores])
        return predicted


def identity_curve(low: float, high: float) -> LinearCurve:
    """The curve that leaves every score between the ends as it is."""
    return LinearCurve(low=low, high=high).fit([low, high], [low, high])


class LinearCurve(Curve):
    """Least squares, clipped to the scale; where scores fall as labels rise the line is level, at their mean."""

    slope_: float
    intercept_: float

    def _points(self, scores: FloatArray, labels: FloatArray) -> tuple[FloatArray, FloatArray]:
        deviations = scores - scores.mean()
        spread = float(deviations @ deviations)
        self.slope_ = max(float(deviations @ labels) / spread, 0.0) if spread > 1e-12 * len(scores) else 0.0
        self.intercept_ = float(labels.mean() - self.slope_ * scores.mean())
        points = np.array([self.low, self.high], dtype=float)
        if self.slope_ > 0:
            meets = (points - self.intercept_) / self.slope_
            points = np.union1d(points, meets[(meets > self.low) & (meets < self.high)])
        return points, self.intercept_ + self.slope_ * points


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
                f"the ordinal method needs a few levels, but the labels have {len(self.levels_)} different values",
                remedy="use the isotonic or the linear method for a scale of measurements",
            )
        centre, spread = float(scores.mean()), float(scores.std())
        points = np.union1d(np.linspace(self.low, self.high, 17), scores)
        if spread < 1e-9 or len(self.levels_) == 1:
            return self._level(points, labels)
        distinct, score = np.unique(scores, return_inverse=True)
        counts = np.zeros((len(distinct), len(self.levels_)))
        np.add.at(counts, (score, level), 1)
        self.thresholds_, self.slope_ = _fit((distinct - centre) / spread, counts, self.ridge)
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
    cumulative = expit(thresholds[None, :] - slope * at[:, None])
    edges = np.column_stack([np.zeros(len(at)), cumulative, np.ones(len(at))])
    return np.diff(edges, axis=1)


def _fit(at: FloatArray, counts: FloatArray, ridge: float) -> tuple[FloatArray, float]:
    """Thresholds and slope of the highest penalised likelihood; thresholds stay in order by their logged gaps."""

    def thresholds(free: FloatArray) -> FloatArray:
        return free[0] + np.concatenate([[0.0], np.cumsum(np.exp(free[1:-1]))])

    def loss(free: FloatArray) -> tuple[float, FloatArray]:
        cuts, slope = thresholds(free), float(free[-1])
        chance = np.maximum(_shares(at, cuts, slope), 1e-300)
        cumulative = expit(cuts[None, :] - slope * at[:, None])
        pull = counts / chance
        by_cut = (pull[:, :-1] - pull[:, 1:]) * cumulative * (1 - cumulative)
        pulls = -by_cut.sum(axis=0)
        gaps = np.exp(free[1:-1]) * (pulls[::-1].cumsum()[::-1])[1:]
        slope_pull = float((by_cut * at[:, None]).sum()) + ridge * slope
        value = -float((counts * np.log(chance)).sum()) + ridge * slope**2 / 2
        return value, np.concatenate([[pulls.sum()], gaps, [slope_pull]])

    shares = counts.sum(axis=0).cumsum()[:-1] / counts.sum()
    start = np.log(shares / (1 - shares))
    free = np.concatenate([start[:1], np.log(np.diff(start)), [0.5]])
    optimum = minimize(loss, free, jac=True, method="BFGS", options={"gtol": 1e-6}).x
    return thresholds(optimum), float(optimum[-1])
