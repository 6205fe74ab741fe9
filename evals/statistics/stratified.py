"""Spearman's rho of cases that are only comparable within their stratum."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .bootstrap import Statistic
from .matrix import FloatArray, IntArray

NOBODY = -1
"""In the place of a case, where a stratum has fewer than the largest."""
BLOCK = 60_000
"""Weights used at a time: few enough to stay in the processor's cache."""

Part = Callable[[IntArray, FloatArray], FloatArray]
"""From the numbers of some strata and the weights of their cases (stratum, place, row) to what they add (stratum, row, sum)."""


@dataclass(frozen=True, slots=True)
class OfStrata:
    """A statistic of sums over strata, each a function of the weights of that stratum's own cases."""

    cases: IntArray
    """The cases of each stratum, one row a stratum, `NOBODY` at the end."""
    part: Part
    width: int
    value: Statistic
    """From rows of sums to one value each."""

    def __call__(self, weights: FloatArray) -> FloatArray:
        every = np.arange(len(self.cases))
        step = max(1, BLOCK // max(1, self.cases.size))
        total = [
            self.part(every, self.of_cases(weights[start : start + step].T)).sum(axis=0)
            for start in range(0, len(weights), step)
        ]
        return self.value(np.concatenate(total))

    def of_clusters(self, cluster: IntArray, clusters: int) -> "OfStrata":
        """The same of the weights of clusters; `cluster` says which each case is in."""
        return replace(self, cases=np.where(self.cases == NOBODY, NOBODY, cluster[self.cases]))

    def of_cases(self, rows: FloatArray, strata: IntArray | slice = slice(None)) -> FloatArray:
        """The rows of the cases of these strata, by stratum and place: zeros where there is nobody."""
        return np.concatenate([rows, np.zeros((1, *rows.shape[1:]))])[self.cases[strata]]


def stratified_spearman_statistic(x: FloatArray, y: FloatArray, stratum: IntArray) -> OfStrata:
    """Pearson's r of mean ranks within each stratum, centred and divided by its size, as a function of the weights of cases.

    Scores calibrated by different curves are such cases: within a fold a curve that rises keeps every rank, and
    across folds equal scores become unequal for no reason of theirs. With one stratum this is Spearman's rho.
    """
    _, number, size = np.unique(stratum, return_inverse=True, return_counts=True)
    cases = np.full((len(size), int(size.max(initial=0))), NOBODY)
    for each, many in enumerate(size):
        cases[each, :many] = np.flatnonzero(number == each)
    across, down = _members(x, cases), _members(y, cases)

    def rank_products(strata: IntArray, weights: FloatArray) -> FloatArray:
        sides = (_ranks(weights, members[strata]) for members in (across, down))
        (first, square), (second, other) = sides
        return np.stack([(weights * first * second).sum(axis=1), square, other], axis=2)

    return OfStrata(cases, rank_products, 3, _correlation)


def _correlation(total: FloatArray) -> FloatArray:
    shared, left, right = total.T
    moving = (left > 1e-12) & (right > 1e-12)
    bottom = np.sqrt(np.where(moving, left, 1.0) * np.where(moving, right, 1.0))
    return np.where(moving, np.clip(shared / bottom, -1.0, 1.0), np.nan)


def _members(values: FloatArray, cases: IntArray) -> FloatArray:
    """By stratum, distinct value in order and case: 1 where the case has the value."""
    mine = np.where(cases == NOBODY, np.inf, np.append(values, np.nan)[cases])
    order = mine.argsort(axis=1, kind="stable")
    ordered = np.take_along_axis(mine, order, axis=1)
    # The first case of a stratum has its first value, and each that differs from the one before it the next.
    rises = np.column_stack([np.zeros(len(cases), dtype=bool), ordered[:, 1:] != ordered[:, :-1]])
    value = np.empty_like(cases)
    np.put_along_axis(value, order, rises.cumsum(axis=1), axis=1)
    found = (value[:, None, :] == np.arange(cases.shape[1])[:, None]) & (cases != NOBODY)[:, None, :]
    used = int(found.any(axis=(0, 2)).sum())
    return found[:, :used].astype(float)


def _ranks(weights: FloatArray, members: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Each case's mean rank from the middle, as a share of its stratum, and the sum of its squares over the stratum's cases."""
    used = members @ weights
    reached = used.cumsum(axis=1)
    total = reached[:, -1:]
    rank = (reached - (used + total) / 2) / np.maximum(total, 1)
    return members.transpose(0, 2, 1) @ rank, (used * rank * rank).sum(axis=1)
