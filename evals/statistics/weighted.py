"""Statistics as functions of how often each case counts.

The data are the weights (1, 1, ..., 1); leaving a case out is a row with one zero; a resample is a row of counts. So one
matrix product serves every row at once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from .matrix import FloatArray, IntArray, Matrix

Statistic = Callable[[FloatArray], FloatArray]
"""From weights, one row per weighting and one column per case, to one value per row."""

Coefficient = Callable[[FloatArray], Statistic]
"""From values, one row per case and one column per rater, to the statistic of those cases."""

BLOCK = 40_960
"""Weights used at a time: few enough to stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class OfSums:
    """A statistic of sums over cases: what each case adds to them, and the value for each row of totals."""

    sums: FloatArray
    value: Callable[[FloatArray], FloatArray]

    def __call__(self, weights: FloatArray) -> FloatArray:
        return self.value(weights @ self.sums)

    def of_clusters(self, cluster: IntArray, clusters: int) -> "OfSums":
        """The same of the weights of clusters; `cluster` says which each case is in."""
        totals = np.zeros((clusters, self.sums.shape[1]))
        np.add.at(totals, cluster, self.sums)
        return OfSums(totals, self.value)


@runtime_checkable
class Clusterable(Protocol):
    """A statistic that can take the weights of clusters in place of those of cases."""

    def of_clusters(self, cluster: IntArray, clusters: int) -> Statistic: ...


def over_clusters(coefficient: Coefficient, grid: Matrix) -> tuple[Statistic, IntArray]:
    """The coefficient as a function of the weights of clusters, and how often each kind of cluster occurs.

    Two raters on a short scale leave few distinct cases; those are counted rather than repeated.
    """
    if grid.clustered:
        return of_clusters(coefficient(grid.values), grid.cluster, grid.clusters), _once(grid.clusters)
    if grid.values.shape[1] <= 2:
        kinds, kind = distinct_rows(grid.values)
        return coefficient(kinds), np.bincount(kind).astype(np.int64)
    return coefficient(grid.values), _once(len(grid.values))


def of_clusters(statistic: Statistic, cluster: IntArray, clusters: int) -> Statistic:
    """The statistic as a function of the weights of clusters."""
    if isinstance(statistic, Clusterable):
        return statistic.of_clusters(cluster, clusters)
    return lambda weights: statistic(weights[:, cluster])


def leave_one_out(statistic: Statistic, frequency: IntArray, kinds: IntArray | None = None) -> FloatArray:
    """The statistic without one cluster of each kind, or of each of `kinds`."""
    if isinstance(statistic, OfSums):
        removed = statistic.sums if kinds is None else statistic.sums[kinds]
        return statistic.value(frequency @ statistic.sums - removed)
    kinds_used = np.arange(len(frequency)) if kinds is None else kinds
    step = max(1, BLOCK // len(frequency))
    parts = []
    for start in range(0, len(kinds_used), step):
        rows = kinds_used[start : start + step]
        weights = np.repeat(frequency[None, :].astype(float), len(rows), axis=0)
        weights[np.arange(len(rows)), rows] -= 1
        parts.append(statistic(weights))
    return np.concatenate(parts)


def distinct_rows(values: FloatArray) -> tuple[FloatArray, IntArray]:
    """The distinct rows in order and, for each row, which of them it is."""
    code = np.zeros(len(values), dtype=np.int64)
    for column in values.T:
        _, inverse = np.unique(column, return_inverse=True)
        code = code * (inverse.max() + 1) + inverse
    _, first_rows, kind = np.unique(code, return_index=True, return_inverse=True)
    return values[first_rows], kind


def _once(clusters: int) -> IntArray:
    return np.ones(clusters, dtype=np.int64)
