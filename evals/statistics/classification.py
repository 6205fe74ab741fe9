"""Answers in classes beside the truth: accuracy, F1 by class and on average, what answers are worth, and all figures of yes and no."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from .estimate import Estimate
from .gate import OPEN, RANKED_PAIRS
from .jackknife import FISHER, RATIO, RAW, SHARE, Jackknife, Transform
from .matrix import FloatArray, IntArray, Matrix
from .proportion import wilson
from .weighted import Coefficient, OfSums, Statistic


def f1_coefficient(classes: FloatArray) -> Coefficient:
    """The mean F1 over those of `classes` that either rater gives, as a function of the weights of cases."""
    columns = class_f1_coefficient(classes)

    def coefficient(values: FloatArray) -> Statistic:
        mean_and_classes = columns(values)
        return lambda weights: mean_and_classes(weights)[:, 0]

    return coefficient


def class_f1_coefficient(classes: FloatArray) -> Coefficient:
    """F1 as a function of the weights of cases, in columns: its mean over `classes`, then each of them.

    A class that neither rater gives has none, and is not taken for 0.
    """

    def coefficient(values: FloatArray) -> Statistic:
        predicted, actual = values[:, :1] == classes, values[:, 1:] == classes
        top, bottom = 2.0 * (predicted & actual), predicted.astype(float) + actual

        def columns(weights: FloatArray) -> FloatArray:
            divisors = weights @ bottom
            is_known = divisors > 0
            f1 = np.divide(weights @ top, divisors, out=np.zeros_like(divisors), where=is_known)
            number = is_known.sum(axis=1)
            mean = np.divide(f1.sum(axis=1), number, out=np.full(len(divisors), np.nan), where=number > 0)
            return np.column_stack([mean, np.where(is_known, f1, np.nan)])

        return columns

    return coefficient


ABSTAINED = -1
"""The class of a rater who was asked and gave nothing: none, so that it is a miss of the right one."""
NOTHING = "no case has both an answer and a reference"

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
    accuracy = _mean(answers, lambda answer, truth: answer == truth, "accuracy", SHARE)
    macro, *by_class = Jackknife().estimates(
        class_f1_coefficient(np.arange(classes, dtype=float)),
        _grid(answers),
        methods=["F1, macro", *["F1 of a class"] * classes],
        otherwise=[NOTHING, *["neither the prediction nor the reference has this class"] * classes],
        transform=RATIO,
    )
    return {"accuracy": accuracy, "f1_macro": macro, **dict(enumerate(by_class))}


def mean_reward(answers: ClassAnswers, worth: FloatArray, abstention: float) -> Estimate:
    """What an answer of this rater is worth on average; `worth` is by right class (row) and class given (column)."""
    paid = with_abstention(worth, abstention)
    return _mean(answers, lambda answer, truth: paid[truth, answer], "mean reward", RAW)


def reward_over_constant(
    answers: ClassAnswers, worth: FloatArray, abstention: float, constant: int
) -> Estimate:
    """By how much the mean reward is above that of giving every case the class `constant`, on the same cases."""
    paid = with_abstention(worth, abstention)
    return _mean(
        answers,
        lambda answer, truth: paid[truth, answer] - paid[truth, constant],
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
        given_classes, truth = values.astype(np.int64).T
        paid = worth(given_classes, truth).astype(float)
        return OfSums(np.column_stack([paid, np.ones(len(paid))]), lambda total: total[:, 0] / total[:, 1])

    return Jackknife().estimate(
        coefficient, _grid(answers), method=method, otherwise=NOTHING, transform=transform
    )


def _grid(answers: ClassAnswers) -> Matrix:
    columns = np.column_stack([answers.said, answers.truth]).astype(float)
    _, cluster = np.unique(answers.cluster, return_inverse=True)
    return Matrix(columns, tuple(range(len(columns))), ("said", "truth"), cluster.astype(np.int64))


YesNoMetric = Literal["accuracy", "sensitivity", "specificity", "precision", "recall", "f1", "kappa"]
YES_NO_METRICS: tuple[YesNoMetric, ...] = get_args(YesNoMetric)
SHARE_OF: dict[YesNoMetric, tuple[int, ...]] = {
    "accuracy": (0, 1, 2, 3),
    "sensitivity": (0, 2),
    "recall": (0, 2),
    "specificity": (1, 3),
    "precision": (0, 1),
}
"""The cells whose cases each metric is a share of: 0 both yes, 1 only predicted, 2 only true, 3 both no."""
UNDEFINED: dict[YesNoMetric, str] = {
    "accuracy": "no case has both a prediction and a reference",
    "sensitivity": "there is no case whose reference answer is yes",
    "recall": "there is no case whose reference answer is yes",
    "specificity": "there is no case whose reference answer is no",
    "precision": "yes was never predicted",
    "f1": "no prediction and no reference answer is yes",
    "kappa": "every prediction and every reference is one and the same answer, so agreement beyond chance is undefined",
}


def yes_no_estimates(
    predicted: npt.ArrayLike,
    actual: npt.ArrayLike,
    cluster: IntArray,
    metrics: Sequence[YesNoMetric] = YES_NO_METRICS,
) -> dict[YesNoMetric, Estimate]:
    """Each metric of `predicted` against `actual`.

    A share of 0 or 1, which leaving out a case cannot change, has Wilson's interval of the cases that it is a share of;
    where these come in groups, of the groups.

    Args:
        predicted: One truth value a case.
        actual: What the reference says of the same cases.
        cluster: The number of the cluster of each case.

    Returns:
        Estimates whose `n` counts cases; NaN with a note where a metric divides by nothing.
    """
    answers = np.column_stack([np.asarray(predicted, bool), np.asarray(actual, bool)]).astype(float)
    _, codes = np.unique(cluster, return_inverse=True)
    grid = Matrix(answers, tuple(range(len(answers))), ("predicted", "actual"), codes.astype(np.int64))
    return {metric: _estimate(grid, metric) for metric in metrics}


def _estimate(grid: Matrix, metric: YesNoMetric) -> Estimate:
    def coefficient(answers: FloatArray) -> OfSums:
        return OfSums(_cells(answers), lambda totals: yes_no_values(*totals.T)[metric])

    kappa = metric == "kappa"
    estimate = Jackknife().estimate(
        coefficient,
        grid,
        method=metric,
        otherwise=UNDEFINED[metric],
        transform=FISHER if kappa else RATIO,
        gate=RANKED_PAIRS if kappa else OPEN,
    )
    if metric not in SHARE_OF or estimate.value not in (0.0, 1.0):
        return estimate
    shared = _cells(grid.values)[:, list(SHARE_OF[metric])].any(axis=1)
    low, high = wilson(estimate.value, float(len(np.unique(grid.cluster[shared]))), estimate.confidence)
    return replace(estimate, low=low, high=high, method=f"{metric}; Wilson", note="")


def _cells(answers: FloatArray) -> FloatArray:
    """By case, 1 in its cell: both yes, only predicted, only true, both no."""
    yes, truly = answers.T > 0
    return np.column_stack([yes & truly, yes & ~truly, ~yes & truly, ~yes & ~truly]).astype(float)


def yes_no_values(
    tp: npt.ArrayLike, fp: npt.ArrayLike, fn: npt.ArrayLike, tn: npt.ArrayLike
) -> dict[YesNoMetric, FloatArray]:
    """Each metric of tables of two answers by two, NaN where it divides by nothing."""
    a, b, c, d = (np.asarray(count, float) for count in (tp, fp, fn, tn))
    n = a + b + c + d
    chance = _share((a + b) * (a + c) + (c + d) * (b + d), n**2)
    accuracy = _share(a + d, n)
    sensitivity = _share(a, a + c)
    return {
        "accuracy": accuracy,
        "sensitivity": sensitivity,
        "specificity": _share(d, b + d),
        "precision": _share(a, a + b),
        "recall": sensitivity,
        "f1": _share(2 * a, 2 * a + b + c),
        "kappa": _share(accuracy - chance, np.where(chance < 1 - 1e-12, 1 - chance, 0)),
    }


def _share(top: FloatArray, bottom: FloatArray) -> FloatArray:
    return np.divide(top, bottom, out=np.full(np.broadcast(top, bottom).shape, np.nan), where=bottom > 0)
