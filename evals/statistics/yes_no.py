"""Yes or no against a reference: accuracy, sensitivity, specificity, precision, recall, F1 and kappa, all on the same resamples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from math import comb
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, ndtr, ndtri

from .bootstrap import Bootstrap, Coefficient, OfSums
from .estimate import Estimate, undefined
from .matrix import FloatArray, IntArray, Matrix
from .proportion import wilson

YesNoMetric = Literal["accuracy", "sensitivity", "specificity", "precision", "recall", "f1", "kappa"]
YES_NO_METRICS: tuple[YesNoMetric, ...] = (
    "accuracy",
    "sensitivity",
    "specificity",
    "precision",
    "recall",
    "f1",
    "kappa",
)
CELLS = ("both yes", "only predicted", "only true", "both no")
ENUMERATED = 100
"""Cases up to which every resample is counted: 176,851 tables."""
_TIES: dict[str, float] = {"f1": 0.0, "kappa": 0.0}
"""Efron's count of the resamples below the value leaves ties out. So do the papers that report F1 and kappa; of a share of
cases ties are a tenth of all resamples, and half of them count."""
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
    bootstrap: Bootstrap,
    metrics: Sequence[YesNoMetric] = YES_NO_METRICS,
) -> dict[YesNoMetric, Estimate]:
    """Each metric of `predicted` against `actual` with its BCa interval.

    Up to `ENUMERATED` cases that stand alone, the bootstrap's distribution is enumerated: the answers are four counts, and
    every resample of them has a known chance, so that the interval depends on no seed. More cases, or clusters of them, are
    resampled. A share of 0 or 1, which no resample can change, has Wilson's interval.

    Args:
        predicted: One truth value a case.
        actual: What the reference says of the same cases.
        cluster: The number of the cluster of each case.

    Returns:
        Estimates whose `n` counts cases; NaN with a note where a metric divides by nothing.

    References:
        Efron (1987), "Better bootstrap confidence intervals", JASA 82:171-185.
    """
    yes, truly = (np.asarray(given, bool) for given in (predicted, actual))
    cells = np.column_stack([yes & truly, yes & ~truly, ~yes & truly, ~yes & ~truly]).astype(float)
    _, codes = np.unique(cluster, return_inverse=True)
    alone = len(np.unique(cluster)) == len(yes)
    if len(yes) and alone and len(yes) <= ENUMERATED:
        return _enumerated_estimates(cells.sum(axis=0), bootstrap.confidence, metrics)
    grid = Matrix(cells, tuple(range(len(cells))), CELLS, codes.astype(np.int64))
    # Every metric draws from the same state, so that all see the same resamples.
    state, resampled = bootstrap.rng.bit_generator.state, replace(bootstrap, kind="bca")
    found: dict[YesNoMetric, Estimate] = {}
    for metric in metrics:
        bootstrap.rng.bit_generator.state = state
        estimate = resampled.estimate(_coefficient(metric), grid, method=metric, otherwise=UNDEFINED[metric])
        found[metric] = _with_width(estimate, metric, cells.sum(axis=0))
    return found


def _enumerated_estimates(
    counts: FloatArray, confidence: float, metrics: Sequence[YesNoMetric]
) -> dict[YesNoMetric, Estimate]:
    n, used = int(counts.sum()), np.flatnonzero(counts)
    values = yes_no_values(*counts)
    tables = np.zeros((comb(n + len(used) - 1, len(used) - 1), 4))
    tables[:, used] = _compositions(n, len(used))
    chance = np.exp(
        gammaln(n + 1) - gammaln(tables + 1).sum(axis=1) + tables[:, used] @ np.log(counts[used] / n)
    )
    drawn, left_out = yes_no_values(*tables.T), yes_no_values(*(counts - np.eye(4)[used]).T)
    found: dict[YesNoMetric, Estimate] = {}
    for metric in metrics:
        value = float(values[metric])
        if np.isnan(value):
            found[metric] = undefined(UNDEFINED[metric], method=metric, n=n, confidence=confidence)
            continue
        low, high = _bca_ends(
            value,
            drawn[metric],
            chance,
            left_out[metric],
            counts[used],
            confidence,
            _TIES.get(metric, 0.5),
        )
        method = f"{metric}; BCa, all resamples of {n} cases enumerated"
        note = "no interval: no resample differs" if np.isnan(low) else ""
        found[metric] = _with_width(Estimate(value, low, high, n, method, confidence, note), metric, counts)
    return found


def _bca_ends(
    value: float,
    drawn: FloatArray,
    chance: FloatArray,
    left_out: FloatArray,
    times: FloatArray,
    confidence: float,
    ties: float,
) -> tuple[float, float]:
    """Efron's ends from the whole distribution of resamples and the value without each case, of which `times` are alike.

    `ties` is the share of the resamples with the very value that count as below it. NaN where no resample differs.
    """
    known = ~np.isnan(drawn)
    order = np.argsort(drawn[known])
    ladder, weight = drawn[known][order], chance[known][order]
    cumulative = np.cumsum(weight) / weight.sum()
    if ladder[0] == ladder[-1]:
        return np.nan, np.nan
    level_with = np.searchsorted(ladder, [value - 1e-12, value + 1e-12])
    under, up_to = (float(cumulative[at - 1]) if at else 0.0 for at in level_with)
    below = under + ties * (up_to - under)
    if not 0 < below < 1:
        return float(ladder[0]), float(ladder[-1])
    bias = float(ndtri(below))
    left_out, times = left_out[~np.isnan(left_out)], times[~np.isnan(left_out)]
    gap = np.sum(times * left_out) / times.sum() - left_out if len(times) else left_out
    spread = float(np.sum(times * gap**2))
    skew = float(np.sum(times * gap**3) / (6 * spread**1.5)) if spread > 0 else 0.0
    ends = []
    for side in ((1 - confidence) / 2, (1 + confidence) / 2):
        reach = bias + float(ndtri(side))
        level = float(ndtr(bias + reach / (1 - skew * reach)))
        ends.append(float(ladder[min(int(np.searchsorted(cumulative, level)), len(ladder) - 1)]))
    return ends[0], ends[1]


def _with_width(estimate: Estimate, metric: YesNoMetric, counts: FloatArray) -> Estimate:
    """A share of 0 or 1 with Wilson's interval: resampling cases that are all alike gives no width."""
    of = {
        "accuracy": (0, 1, 2, 3), "sensitivity": (0, 2), "recall": (0, 2), "specificity": (1, 3), "precision": (0, 1),
    }.get(metric)  # fmt: skip
    if of is None or estimate.value not in (0.0, 1.0):
        return estimate
    low, high = wilson(estimate.value, float(counts[list(of)].sum()), estimate.confidence)
    return replace(estimate, low=low, high=high, method=f"{metric}; Wilson", note="")


def _compositions(total: int, parts: int) -> FloatArray:
    """Every way to write `total` as a sum of so many counts, one a row."""
    if parts == 1:
        return np.array([[float(total)]])
    bars = np.array(list(combinations(range(total + parts - 1), parts - 1)), dtype=np.int64)
    ends = np.column_stack([np.full(len(bars), -1), bars, np.full(len(bars), total + parts - 1)])
    return (np.diff(ends, axis=1) - 1).astype(float)


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


def _coefficient(metric: YesNoMetric) -> Coefficient:
    def coefficient(cells: FloatArray) -> OfSums:
        return OfSums(cells, lambda totals: yes_no_values(*totals.T)[metric])

    return coefficient


def _share(top: FloatArray, bottom: FloatArray) -> FloatArray:
    return np.divide(top, bottom, out=np.full(np.broadcast(top, bottom).shape, np.nan), where=bottom > 0)
