"""Means and paired differences over questions, with intervals from resampling whole cases."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import ndtr, ndtri

from ..statistics.bootstrap import Bootstrap, OfSums
from ..statistics.estimate import Estimate
from ..statistics.matrix import FloatArray, IntArray, Matrix


def mean_of(values: FloatArray, cluster: IntArray, bootstrap: Bootstrap, *, method: str) -> Estimate:
    """The mean of what is not NaN; `n` counts the questions."""
    return tested_mean(values, cluster, bootstrap, method=method)[0]


def tested_mean(
    values: FloatArray, cluster: IntArray, bootstrap: Bootstrap, *, method: str
) -> tuple[Estimate, float]:
    """`mean_of`, with the p of a true mean of zero. Of a paired difference, hand over the differences."""
    known = ~np.isnan(values)
    _, drawn = np.unique(cluster[known], return_inverse=True)
    grid = Matrix(values[known][:, None], tuple(range(int(known.sum()))), ("value",), drawn.astype(np.int64))
    return bootstrap.estimate_and_p(
        _mean, grid, method=method, otherwise="no question has an answer to compare"
    )


def widen(found: Estimate, p: float, by: float) -> tuple[Estimate, float]:
    """The interval made `by` times as wide about its value, and the p of zero that follows from it.

    Draws have no p below their number, which widening would make too large; so it is read from the interval, as if
    the side towards zero were normal.
    """
    if by == 1 or np.isnan(found.low):
        return found, p
    low, high = (found.value + by * (end - found.value) for end in (found.low, found.high))
    reach = found.value - low if found.value > 0 else high - found.value
    method = f"{found.method}, widened by {by:.2f}"
    z = abs(found.value) / reach * float(ndtri((1 + found.confidence) / 2)) if reach > 0 else np.inf
    return replace(found, low=low, high=high, method=method), 1.0 if found.value == 0 else float(2 * ndtr(-z))


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
