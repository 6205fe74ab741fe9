"""Yes or no against a reference: accuracy, sensitivity, specificity, precision, recall, F1 and kappa."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from .estimate import Estimate
from .gate import OPEN, RANKED_PAIRS
from .jackknife import FISHER, RATIO, Jackknife
from .matrix import FloatArray, IntArray, Matrix
from .proportion import wilson
from .weighted import OfSums

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
    "accuracy": "no case has both answers",
    "sensitivity": "the reference never says yes",
    "recall": "the reference never says yes",
    "specificity": "the reference never says no",
    "precision": "yes was never predicted",
    "f1": "neither says yes",
    "kappa": "both gave one and the same answer throughout, so chance agreement is complete",
}


def yes_no_estimates(
    predicted: npt.ArrayLike,
    actual: npt.ArrayLike,
    cluster: IntArray,
    metrics: Sequence[YesNoMetric] = YES_NO_METRICS,
) -> dict[YesNoMetric, Estimate]:
    """Each metric of `predicted` against `actual`.

    A share of 0 or 1, which leaving out a case cannot change, has Wilson's interval of the cases that it is a share of.

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
    size = float(_cells(grid.values).sum(axis=0)[list(SHARE_OF[metric])].sum())
    low, high = wilson(estimate.value, size, estimate.confidence)
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
