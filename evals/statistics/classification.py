"""Answers in classes beside the truth: accuracy, F1 by class and on average, and what answers are worth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .estimate import Estimate
from .jackknife import RATIO, RAW, SHARE, Jackknife, Transform
from .matrix import FloatArray, IntArray, Matrix
from .weighted import Coefficient, OfSums, Statistic


def f1_coefficient(classes: FloatArray) -> Coefficient:
    """The mean F1 over those of `classes` that either rater gives, as a function of the weights of cases."""
    columns = class_f1_coefficient(classes)

    def coefficient(values: FloatArray) -> Statistic:
        each = columns(values)
        return lambda weights: each(weights)[:, 0]

    return coefficient


def class_f1_coefficient(classes: FloatArray) -> Coefficient:
    """F1 as a function of the weights of cases, in columns: its mean over `classes`, then each of them.

    A class that neither rater gives has none, and is not taken for 0.
    """

    def coefficient(values: FloatArray) -> Statistic:
        predicted, actual = values[:, :1] == classes, values[:, 1:] == classes
        top, bottom = 2.0 * (predicted & actual), predicted.astype(float) + actual

        def columns(weights: FloatArray) -> FloatArray:
            over = weights @ bottom
            defined = over > 0
            each = np.divide(weights @ top, over, out=np.zeros_like(over), where=defined)
            known = defined.sum(axis=1)
            mean = np.divide(each.sum(axis=1), known, out=np.full(len(over), np.nan), where=known > 0)
            return np.column_stack([mean, np.where(defined, each, np.nan)])

        return columns

    return coefficient


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
        class_f1_coefficient(np.arange(classes, dtype=float)),
        _grid(answers),
        methods=["F1, macro", *["F1 of a class"] * classes],
        otherwise=[NOTHING, *["neither the prediction nor the reference gives it"] * classes],
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
