"""Statistics of two raters, and their mean over all pairs of raters."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pandas as pd

from .bootstrap import Bootstrap, Statistic
from .estimate import Estimate, undefined
from .matrix import FloatArray, Matrix, matrix

PairStatistic = Callable[[FloatArray, FloatArray], Statistic]
"""From what two raters gave the same cases to the statistic as a function of the cases' weights."""

Raters = tuple[str, str]


def paired(ratings: pd.DataFrame, raters: Raters | None, *, by: str = "case") -> Matrix:
    """The matrix of the two `raters`, in that order, over the cases both rated; of everyone when None."""
    grid = matrix(ratings, by=by)
    if raters is None:
        return grid
    silent = set(map(str, ratings["rater"].unique())) - set(grid.raters)
    nothing = np.full(len(grid.cases), np.nan)
    both = np.column_stack([nothing if rater in silent else grid.column(rater) for rater in raters])
    chosen = Matrix(both, grid.cases, raters, grid.cluster, grid.labels)
    return chosen.complete()


def pair_estimate(
    grid: Matrix,
    statistic: PairStatistic,
    bootstrap: Bootstrap,
    *,
    method: str,
    otherwise: str,
    least: int = 2,
) -> Estimate:
    """The statistic of two raters or, of more, its mean over the pairs for which it is defined.

    Missing ratings: each pair uses the cases both rated, and takes part when there are `least` of them.
    `otherwise` says why the statistic is NaN when there were cases enough.
    """
    k = len(grid.raters)
    if k < 2:
        return undefined("fewer than two raters", method=method, confidence=bootstrap.confidence)
    grid = grid.pairable()
    rated = ~np.isnan(grid.values)
    pairs = [(i, j) for i, j in combinations(range(k), 2) if (rated[:, i] & rated[:, j]).sum() >= least]
    if not pairs:
        few = (
            f"no two raters share {least} cases or more"
            if k > 2
            else f"fewer than {least} cases have both ratings"
        )
        return undefined(few, method=method, n=len(grid.cases), confidence=bootstrap.confidence)
    whole = np.ones((1, len(grid.cases)))
    each = np.array([_of_pair(grid.values, pair, statistic)(whole)[0] for pair in pairs])
    pairs = [pair for pair, value in zip(pairs, each, strict=True) if not np.isnan(value)]
    named = method if k == 2 else f"{method}, mean over {len(pairs)} of {k * (k - 1) // 2} rater pairs"
    return bootstrap.estimate(
        lambda values: _mean_over(values, pairs, statistic), grid, method=named, otherwise=otherwise
    )


def _mean_over(values: FloatArray, pairs: list[tuple[int, int]], statistic: PairStatistic) -> Statistic:
    """The mean over `pairs`; in a resample, over those it leaves defined."""
    parts = [_of_pair(values, pair, statistic) for pair in pairs]

    def mean(weights: FloatArray) -> FloatArray:
        each = np.array([part(weights) for part in parts]).reshape(len(parts), len(weights))
        known = ~np.isnan(each)
        count = known.sum(axis=0)
        total = np.where(known, each, 0.0).sum(axis=0)
        return np.divide(total, count, out=np.full(len(weights), np.nan), where=count > 0)

    return mean


def _of_pair(values: FloatArray, pair: tuple[int, int], statistic: PairStatistic) -> Statistic:
    """The statistic of two columns, over the distinct pairs of values they hold."""
    x, y = values[:, pair[0]], values[:, pair[1]]
    both = ~(np.isnan(x) | np.isnan(y))
    x, y = x[both], y[both]
    _, across = np.unique(x, return_inverse=True)
    _, down = np.unique(y, return_inverse=True)
    code = across * (down.max(initial=0) + 1) + down
    _, first, cell = np.unique(code, return_index=True, return_inverse=True)
    if len(first) > len(x) / 2:
        inner = statistic(x, y)
        return lambda weights: inner(weights[:, both])
    member = np.zeros((len(both), len(first)))
    member[np.flatnonzero(both), cell] = 1
    inner = statistic(x[first], y[first])
    return lambda weights: inner(weights @ member)
