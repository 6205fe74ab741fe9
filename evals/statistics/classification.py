"""Sensitivity, specificity, precision, recall and F1 of one rater against a reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from .estimate import Estimate, undefined
from .jackknife import CASES, RATIO, RAW, SHARE, Jackknife, Transform
from .matrix import FloatArray, IntArray, InvalidRatings, Matrix, Ratings, Value, on_scale
from .pairs import Raters, pair_matrix
from .proportion import wilson
from .weighted import Coefficient, OfSums, Statistic

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
    positive: Value | None = None,
    jackknife: Jackknife = CASES,
) -> Estimate:
    """A metric of the first rater's values against the second's.

    Shares of cases (all but F1) of one class have Wilson's interval unless cases are clustered; F1,
    macro means and clusters that of the jackknife.

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
    grid, scale = on_scale(pair_matrix(ratings, raters, by=jackknife.by))
    name = f"{metric}, macro" if positive is None else f"{metric} of {positive}"
    if not len(grid.cases):
        return undefined("no case has both ratings", method=name, confidence=jackknife.confidence)
    classes = scale if positive is None else np.array([_code(grid, positive)])
    if positive is not None and metric != "f1" and not grid.clustered:
        return _share(grid, metric, classes[0], name, jackknife.confidence)
    why = "no class has it" if positive is None else UNDEFINED[metric]
    return jackknife.estimate(
        metric_coefficient(metric, classes), grid, method=name, otherwise=why, transform=RATIO
    )


def per_class(ratings: Ratings, *, raters: Raters, jackknife: Jackknife = CASES) -> pd.DataFrame:
    """Every metric of every class in use: a row per class, a column of estimates per metric."""
    grid, scale = on_scale(pair_matrix(ratings, raters))
    classes: list[Value] = [grid.labels[int(code)] if grid.labels else float(code) for code in scale]
    return pd.DataFrame(
        {
            metric: [
                classification(ratings, metric=metric, raters=raters, jackknife=jackknife, positive=each)
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


def confusion_matrix(
    ratings: Ratings, *, raters: Raters, categories: Sequence[Value] | None = None
) -> pd.DataFrame:
    """Counts of cases, the first rater's value down the side and the second's along the top.

    Missing ratings: cases without both are left out.
    """
    grid, scale = on_scale(pair_matrix(ratings, raters), categories)
    counts = np.zeros((len(scale), len(scale)), dtype=np.int64)
    np.add.at(
        counts, (np.searchsorted(scale, grid.values[:, 0]), np.searchsorted(scale, grid.values[:, 1])), 1
    )
    names = [grid.labels[int(code)] for code in scale] if grid.labels else list(scale)
    return pd.DataFrame(
        counts, index=pd.Index(names, name=raters[0]), columns=pd.Index(names, name=raters[1])
    )


def exact_match(ratings: Ratings, *, raters: Raters, confidence: float = 0.95) -> Estimate:
    """The share of cases that both raters gave the same value, with Wilson's interval.

    Missing ratings: cases without both are left out; count them elsewhere if silence is an answer.
    """
    values = pair_matrix(ratings, raters).values
    n = len(values)
    if n == 0:
        return undefined("no case has both ratings", method="exact match", confidence=confidence)
    share = float((values[:, 0] == values[:, 1]).mean())
    low, high = wilson(share, n, confidence)
    return Estimate(share, low, high, n, "exact match; Wilson interval", confidence)


ABSTAINED = -1
"""The class of a rater who was asked and gave nothing: none, so that it is a miss of the right one."""
NOTHING = "no case has both an answer and a right one"

Worth = Callable[[IntArray, IntArray], FloatArray]
"""From the classes given and the right ones to what each answer is worth."""


@dataclass(frozen=True, slots=True)
class ClassAnswers:
    """One rater beside the truth, a row a case: classes by their place on the scale."""

    said: IntArray
    """`ABSTAINED` where there was no answer."""
    truth: IntArray
    cluster: IntArray

    def counts(self, classes: int) -> IntArray:
        """Cases by right class (row) and class given (column); the last column is of no answer."""
        table = np.zeros((classes, classes + 1), dtype=np.int64)
        np.add.at(table, (self.truth, self.said), 1)
        return table


def class_scores(answers: ClassAnswers, classes: int) -> dict[str | int, Estimate]:
    """`accuracy`, `f1_macro`, and the F1 of each class under its place.

    The macro mean is over the classes that the rater or the truth gives. An abstention is a miss.
    """
    accuracy = _mean(answers, lambda said, truth: said == truth, "accuracy", SHARE)
    macro, *by_class = Jackknife().estimates(
        class_metric_coefficient("f1", np.arange(classes, dtype=float)),
        _grid(answers),
        methods=["F1, macro", *["F1 of a class"] * classes],
        otherwise=[NOTHING, *[UNDEFINED["f1"]] * classes],
        transform=RATIO,
    )
    return {"accuracy": accuracy, "f1_macro": macro, **dict(enumerate(by_class))}


def mean_reward(answers: ClassAnswers, worth: FloatArray, abstention: float) -> Estimate:
    """What an answer of this rater is worth on average; `worth` is by right class (row) and class given (column)."""
    paid = with_abstention(worth, abstention)
    return _mean(answers, lambda said, truth: paid[truth, said], "mean reward", RAW)


def reward_over_constant(
    answers: ClassAnswers, worth: FloatArray, abstention: float, constant: int
) -> Estimate:
    """By how much the mean reward is above that of giving every case the class `constant`, on the same cases."""
    paid = with_abstention(worth, abstention)
    return _mean(
        answers,
        lambda said, truth: paid[truth, said] - paid[truth, constant],
        "mean reward above a constant's",
        RAW,
    )


def best_constant(truth: IntArray, worth: FloatArray) -> int:
    """The one class that earns most when it is given to every case; the lowest of equals."""
    return int(worth[truth].mean(axis=0).argmax())


def with_abstention(worth: FloatArray, abstention: float) -> FloatArray:
    """The matrix with a last column for no answer, which the place -1 finds."""
    return np.column_stack([worth, np.full(len(worth), abstention)])


def _mean(answers: ClassAnswers, worth: Worth, method: str, transform: Transform) -> Estimate:
    """The mean of what each answer is worth."""

    def coefficient(values: FloatArray) -> OfSums:
        said, truth = values.astype(np.int64).T
        paid = worth(said, truth).astype(float)
        return OfSums(np.column_stack([paid, np.ones(len(paid))]), lambda total: total[:, 0] / total[:, 1])

    return Jackknife().estimate(
        coefficient, _grid(answers), method=method, otherwise=NOTHING, transform=transform
    )


def _grid(answers: ClassAnswers) -> Matrix:
    both = np.column_stack([answers.said, answers.truth]).astype(float)
    _, cluster = np.unique(answers.cluster, return_inverse=True)
    return Matrix(both, tuple(range(len(both))), ("said", "truth"), cluster.astype(np.int64))
