"""Sensitivity, specificity, precision, recall and F1 of one rater against a reference."""

from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from .bootstrap import Bootstrap, Coefficient, Statistic
from .estimate import Estimate, undefined
from .matrix import FloatArray, InvalidRatings, Matrix, Ratings, Value, on_scale
from .pairs import Raters, pair_matrix
from .proportion import wilson

BoolArray = npt.NDArray[np.bool_]
Metric = Literal["sensitivity", "specificity", "precision", "recall", "f1"]
METRICS: tuple[Metric, ...] = ("sensitivity", "specificity", "precision", "recall", "f1")

UNDEFINED = {
    "sensitivity": "the reference never gives it",
    "recall": "the reference never gives it",
    "specificity": "the reference gives nothing else",
    "precision": "it was never predicted",
    "f1": "neither the prediction nor the reference gives it",
}


def classification(
    ratings: Ratings,
    *,
    metric: Metric,
    raters: Raters,
    bootstrap: Bootstrap,
    positive: Value | None = None,
) -> Estimate:
    """A metric of the first rater's values against the second's.

    Shares of cases (all but F1) of one class have Wilson's interval unless cases are clustered; F1 and
    macro means are resampled.

    Missing ratings: cases without both are left out.

    Args:
        ratings: Columns `case`, `rater`, `value`.
        metric: What to compute; sensitivity is recall under its medical name.
        raters: The predicting rater, then the reference.
        positive: The class looked for. None takes the unweighted mean over the classes in use for which
            the metric is defined: a class never predicted has no precision, and it is not taken for 0.

    Returns:
        The estimate; `n` counts cases with both ratings.
    """
    grid, scale = on_scale(pair_matrix(ratings, raters, by=bootstrap.by))
    name = f"{metric}, macro" if positive is None else f"{metric} of {positive}"
    if not len(grid.cases):
        return undefined("no case has both ratings", method=name, confidence=bootstrap.confidence)
    classes = scale if positive is None else np.array([_code(grid, positive)])
    if positive is not None and metric != "f1" and not grid.clustered:
        return _share(grid, metric, classes[0], name, bootstrap.confidence)
    why = "no class has it" if positive is None else UNDEFINED[metric]
    return bootstrap.estimate(metric_coefficient(metric, classes), grid, method=name, otherwise=why)


def per_class(ratings: Ratings, *, raters: Raters, bootstrap: Bootstrap) -> pd.DataFrame:
    """Every metric of every class in use: a row per class, a column of estimates per metric."""
    grid, scale = on_scale(pair_matrix(ratings, raters))
    classes: list[Value] = [grid.labels[int(code)] if grid.labels else float(code) for code in scale]
    return pd.DataFrame(
        {
            metric: [
                classification(ratings, metric=metric, raters=raters, bootstrap=bootstrap, positive=each)
                for each in classes
            ]
            for metric in METRICS
        },
        index=pd.Index(classes, name="class"),
    )


def metric_coefficient(metric: Metric, classes: FloatArray) -> Coefficient:
    """The metric, averaged over `classes`, as a function of the weights of cases."""
    columns = class_metric_coefficient(metric, classes)

    def coefficient(values: FloatArray) -> Statistic:
        each = columns(values)
        return lambda weights: each(weights)[:, 0]

    return coefficient


def class_metric_coefficient(metric: Metric, classes: FloatArray) -> Coefficient:
    """The metric as a function of the weights of cases, in columns: its mean over `classes`, then each of them."""

    def coefficient(values: FloatArray) -> Statistic:
        predicted, actual = values[:, :1] == classes, values[:, 1:] == classes
        top, bottom = _parts(metric, predicted, actual)

        def columns(weights: FloatArray) -> FloatArray:
            over = weights @ bottom
            defined = over > 0
            each = np.divide(weights @ top, over, out=np.zeros_like(over), where=defined)
            known = defined.sum(axis=1)
            mean = np.divide(each.sum(axis=1), known, out=np.full(len(over), np.nan), where=known > 0)
            return np.column_stack([mean, np.where(defined, each, np.nan)])

        return columns

    return coefficient


def _parts(metric: Metric, predicted: BoolArray, actual: BoolArray) -> tuple[FloatArray, FloatArray]:
    """What each case adds above and below the line."""
    hit = predicted & actual
    top, bottom = {
        "sensitivity": (hit, actual),
        "recall": (hit, actual),
        "specificity": (~predicted & ~actual, ~actual),
        "precision": (hit, predicted),
        "f1": (2 * hit, predicted.astype(int) + actual),
    }[metric]
    return top.astype(float), bottom.astype(float)


def _share(grid: Matrix, metric: Metric, positive: float, name: str, confidence: float) -> Estimate:
    predicted, actual = grid.values[:, 0] == positive, grid.values[:, 1] == positive
    top, bottom = _parts(metric, predicted, actual)
    over = int(bottom.sum())
    if over == 0:
        return undefined(UNDEFINED[metric], method=name, n=len(grid.cases), confidence=confidence)
    share = float(top.sum() / over)
    low, high = wilson(share, over, confidence)
    return Estimate(share, low, high, len(grid.cases), f"{name}; Wilson interval, {over} cases", confidence)


def _code(grid: Matrix, positive: Value) -> float:
    if grid.labels is None:
        return float(positive)
    if str(positive) not in grid.labels:
        raise InvalidRatings(f"no rating is {positive!r}", remedy=f"choose from {list(grid.labels)}")
    return float(grid.labels.index(str(positive)))
