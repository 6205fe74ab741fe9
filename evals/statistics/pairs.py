"""Statistics of two raters, and their mean over all pairs of raters."""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from .bootstrap import Bootstrap, Statistic
from .estimate import Estimate, undefined
from .holding import COUNTS, Basis, Population
from .jackknife import Link
from .matrix import FloatArray, IntArray, Matrix, Ratings, matrix

PairStatistic = Callable[[FloatArray, FloatArray], Statistic]
"""From what two raters gave the same cases to the statistic as a function of the cases' weights."""

Raters = tuple[str, str]


def pair_matrix(ratings: Ratings, raters: Raters | None, *, by: str = "case") -> Matrix:
    """The matrix of the two `raters`, in that order, over the cases both rated; of everyone when None."""
    grid = matrix(ratings, by=by)
    if raters is None:
        return grid
    if raters == grid.raters:
        return grid.complete()
    named = ratings["rater"].unique() if isinstance(ratings, pd.DataFrame) else ratings.raters
    silent = set(map(str, named)) - set(grid.raters)
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
    link: Link,
    population: Population | None = None,
    least: int = 2,
    basis: Basis = COUNTS,
) -> Estimate:
    """The statistic of two raters or, of more, its mean over the pairs for which it is defined.

    Missing ratings: each pair uses the cases both rated, and takes part when there are `least` of them.
    `otherwise` says why the statistic is NaN when there were cases enough.
    """
    k = len(grid.raters)
    if k < 2:
        return undefined("fewer than two raters", method=method, confidence=bootstrap.confidence)
    everyone, grid = grid, grid.pairable()
    rated = (~np.isnan(grid.values)).astype(float)
    shared = rated.T @ rated
    pairs = [(i, j) for i, j in combinations(range(k), 2) if shared[i, j] >= least]
    if not pairs:
        few = (
            f"no two raters share {least} cases or more"
            if k > 2
            else f"fewer than {least} cases have both ratings"
        )
        return undefined(few, method=method, n=len(grid.cases), confidence=bootstrap.confidence)
    scale, codes = np.unique(grid.values, return_inverse=True)
    codes = codes.reshape(grid.values.shape)
    each = [_without_each(grid, scale, codes, pair, statistic) for pair in pairs]
    defined = [number for number, (value, _, _) in enumerate(each) if not np.isnan(value)]
    named = method if k == 2 else f"{method}, mean over {len(defined)} of {k * (k - 1) // 2} rater pairs"
    if bootstrap.kind != "holding":
        kept = [pairs[number] for number in defined]
        return bootstrap.estimate(
            lambda values: _mean_over(values, kept, statistic), grid, method=named, otherwise=otherwise
        )
    known = [each[number] for number in defined]
    value = float(np.mean([value for value, _, _ in known])) if known else np.nan
    return bootstrap.with_interval(
        value,
        lambda: (_mean_without_each(grid.clusters, known), np.ones(grid.clusters, dtype=np.int64)),
        grid,
        everyone=everyone,
        link=link,
        population=population,
        method=named,
        otherwise=otherwise,
        n=len(grid.cases),
        basis=basis,
    )


Without = tuple[float, IntArray, FloatArray]
"""A pair's value, the clusters that it shares, and its value without each of them."""


def _without_each(
    grid: Matrix, scale: FloatArray, codes: IntArray, pair: tuple[int, int], statistic: PairStatistic
) -> Without:
    """Both raters' shared cases as counts of distinct pairs of values, from which each cluster's are taken away.

    Args:
        scale: The values in use, and `codes` which of them each rating is.
    """
    x, y = pair
    both = ~np.isnan(grid.values[:, x] + grid.values[:, y])
    kinds, kind = np.unique(codes[both, x] * len(scale) + codes[both, y], return_inverse=True)
    clusters, cluster = np.unique(grid.cluster[both], return_inverse=True)
    taken = np.zeros((len(clusters) + 1, len(kinds)))
    np.add.at(taken, (cluster + 1, kind), 1)
    values = statistic(scale[kinds // len(scale)], scale[kinds % len(scale)])(taken.sum(axis=0) - taken)
    return float(values[0]), clusters, values[1:]


def _mean_without_each(clusters: int, known: Sequence[Without]) -> FloatArray:
    """The mean over pairs without each cluster in turn; a pair that this leaves undefined takes no part."""
    total = np.full(clusters, sum(value for value, _, _ in known))
    count = np.full(clusters, float(len(known)))
    for value, touched, without in known:
        lost = np.isnan(without)
        total[touched] += np.where(lost, 0.0, without) - value
        count[touched] -= lost
    return np.divide(total, count, out=np.full(clusters, np.nan), where=count > 0)


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
