"""Accuracy, F1 by class and its mean, and mean reward of one rater's classes against the right ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .bootstrap import Coefficient, OfSums
from .classification import UNDEFINED, class_metric_coefficient
from .draws import Draws
from .estimate import Estimate
from .matrix import FloatArray, IntArray, Matrix
from .proportion import wilson

ABSTAINED = -1
"""The class of a rater who was asked and gave nothing: none, so that it is a miss of the right one."""
ACCURACY = "accuracy"
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


def class_scores(answers: ClassAnswers, classes: int, draws: Draws) -> dict[str | int, Estimate]:
    """`accuracy`, `f1_macro`, and the F1 of each class under its place.

    The macro mean is over the classes that the rater or the truth gives. An abstention is a miss.
    """
    grid, right = _grid(answers), _mean_of(lambda said, truth: said == truth)
    accuracy = draws.bootstrap().estimate(right, grid, method=ACCURACY, otherwise=NOTHING)
    macro, *each = draws.bootstrap().estimates(
        class_metric_coefficient("f1", np.arange(classes, dtype=float)),
        grid,
        methods=["F1, macro", *["F1 of a class"] * classes],
        otherwise=[NOTHING, *[UNDEFINED["f1"]] * classes],
    )
    found: dict[str | int, Estimate] = {"accuracy": accuracy, "f1_macro": macro, **dict(enumerate(each))}
    return {name: _with_width(estimate, grid) for name, estimate in found.items()}


def mean_reward(answers: ClassAnswers, worth: FloatArray, abstention: float, draws: Draws) -> Estimate:
    """What an answer of this rater is worth on average; `worth` is by right class (row) and class given (column)."""
    paid = with_abstention(worth, abstention)
    return _estimate(answers, _mean_of(lambda said, truth: paid[truth, said]), "mean reward", draws)


def reward_over_constant(
    answers: ClassAnswers, worth: FloatArray, abstention: float, constant: int, draws: Draws
) -> Estimate:
    """By how much the mean reward is above that of giving every case the class `constant`, on the same cases."""
    paid = with_abstention(worth, abstention)
    above = _mean_of(lambda said, truth: paid[truth, said] - paid[truth, constant])
    return _estimate(answers, above, "mean reward above a constant's", draws)


def best_constant(truth: IntArray, worth: FloatArray) -> int:
    """The one class that earns most when it is given to every case; the lowest of equals."""
    return int(worth[truth].mean(axis=0).argmax())


def with_abstention(worth: FloatArray, abstention: float) -> FloatArray:
    """The matrix with a last column for no answer, which the place -1 finds."""
    return np.column_stack([worth, np.full(len(worth), abstention)])


def _estimate(answers: ClassAnswers, coefficient: Coefficient, method: str, draws: Draws) -> Estimate:
    grid = _grid(answers)
    found = draws.bootstrap().estimate(coefficient, grid, method=method, otherwise=NOTHING)
    return _with_width(found, grid)


def _grid(answers: ClassAnswers) -> Matrix:
    both = np.column_stack([answers.said, answers.truth]).astype(float)
    _, cluster = np.unique(answers.cluster, return_inverse=True)
    return Matrix(both, tuple(range(len(both))), ("said", "truth"), cluster.astype(np.int64))


def _with_width(found: Estimate, grid: Matrix) -> Estimate:
    """The estimate with an interval that has a width, or none: resampling cases that are all alike gives no width."""
    if found.low < found.high or not found.defined or math.isnan(found.low):
        return found
    if found.method.startswith(ACCURACY) and not grid.clustered:
        low, high = wilson(found.value, found.n, found.confidence)
        return replace(found, low=low, high=high, method=f"{ACCURACY}; Wilson interval")
    return replace(found, low=math.nan, high=math.nan, note="no interval: every resample gives the same")


def _mean_of(worth: Worth) -> Coefficient:
    def coefficient(values: FloatArray) -> OfSums:
        said, truth = values.astype(np.int64).T
        each = worth(said, truth).astype(float)
        return OfSums(np.column_stack([each, np.ones(len(each))]), lambda total: total[:, 0] / total[:, 1])

    return coefficient
