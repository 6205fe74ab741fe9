"""Means over questions, with intervals from resampling whole cases; paired differences, tested by swapping."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import ndtr, ndtri

from ..statistics.bootstrap import Bootstrap, OfSums
from ..statistics.draws import Draws
from ..statistics.estimate import Estimate
from ..statistics.matrix import FloatArray, IntArray, Matrix
from ..statistics.paired_test import Contrast, swap_test

NOTHING = "no question has an answer to compare"


def mean_of(values: FloatArray, cluster: IntArray, bootstrap: Bootstrap, *, method: str) -> Estimate:
    """The mean of what is not NaN; `n` counts the questions."""
    known = ~np.isnan(values)
    _, drawn = np.unique(cluster[known], return_inverse=True)
    grid = Matrix(values[known][:, None], tuple(range(int(known.sum()))), ("value",), drawn.astype(np.int64))
    return bootstrap.estimate(_mean, grid, method=method, otherwise=NOTHING)


def mean_difference(
    first: FloatArray, second: FloatArray, cluster: IntArray, bootstrap: Bootstrap, *, method: str
) -> Contrast:
    """The mean of `first` minus that of `second` over the questions that both have, tested by swapping the two."""
    known = ~np.isnan(first + second)
    _, drawn = np.unique(cluster[known], return_inverse=True)
    return swap_test(
        _mean,
        first[known][:, None],
        second[known][:, None],
        drawn.astype(np.int64),
        draws=Draws(int(bootstrap.rng.integers(2**32)), bootstrap.resamples),
        method=method,
        otherwise=NOTHING,
        confidence=bootstrap.confidence,
    )


def widen(found: Estimate, by: float) -> Estimate:
    """The interval made `by` times as wide about its value."""
    if by == 1 or np.isnan(found.low):
        return found
    low, high = (found.value + by * (end - found.value) for end in (found.low, found.high))
    return replace(found, low=low, high=high, method=f"{found.method}, widened by {by:.2f}")


def widen_test(found: Contrast, by: float) -> Contrast:
    """`widen`, with the p of zero that follows from the wider interval.

    Swaps have no p below their number, which widening would make too large; so it is read from the interval, as if
    the side towards zero were normal.
    """
    wide = widen(found.difference, by)
    if wide is found.difference:
        return found
    reach = wide.value - wide.low if wide.value > 0 else wide.high - wide.value
    z = abs(wide.value) / reach * float(ndtri((1 + wide.confidence) / 2)) if reach > 0 else np.inf
    return Contrast(wide, 1.0 if wide.value == 0 else float(2 * ndtr(-z)))


def by_cluster(values: FloatArray, cluster: IntArray) -> FloatArray:
    """The mean of each cluster (of each column), NaN where it has none."""
    table = values.reshape(len(values), -1)
    _, at = np.unique(cluster, return_inverse=True)
    known = ~np.isnan(table)
    total, number = np.zeros((2, at.max() + 1, table.shape[1]))
    np.add.at(total, at, np.where(known, table, 0))
    np.add.at(number, at, known)
    means = np.where(number > 0, total / np.maximum(number, 1), np.nan)
    return means.reshape(-1, *values.shape[1:])


def _mean(values: FloatArray) -> OfSums:
    sums = np.column_stack([values[:, 0], np.ones(len(values))])
    return OfSums(sums, lambda totals: totals[:, 0] / np.maximum(totals[:, 1], 1))
