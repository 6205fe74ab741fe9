"""Statistics of two raters, and their mean over all pairs of raters."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from .bootstrap import Bootstrap, Statistic
from .estimate import Estimate, undefined
from .holding import COUNTS, Basis, Population
from .jackknife import Link
from .matrix import FloatArray, IntArray, Matrix, Ratings, matrix
from .pair_tables import PairTables, pair_tables

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
    each = [(tables, _values(tables, statistic, least)) for tables in pair_tables(grid)]
    if not any((tables.shared >= least).any() for tables, _ in each):
        few = (
            f"no two raters share {least} cases or more"
            if k > 2
            else f"fewer than {least} cases have both ratings"
        )
        return undefined(few, method=method, n=len(grid.cases), confidence=bootstrap.confidence)
    pairs = np.concatenate([tables.raters for tables, _ in each])
    values = np.concatenate([found[: len(tables.raters)] for tables, found in each])
    defined = ~np.isnan(values)
    count = int(defined.sum())
    named = method if k == 2 else f"{method}, mean over {count} of {k * (k - 1) // 2} rater pairs"
    if bootstrap.kind != "holding":
        return bootstrap.estimate(
            lambda given: _mean_over(given, pairs[defined], statistic),
            grid,
            method=named,
            otherwise=otherwise,
        )
    return bootstrap.with_interval(
        float(values[defined].mean()) if count else np.nan,
        lambda: (_mean_without_each(grid.clusters, each), np.ones(grid.clusters, dtype=np.int64)),
        grid,
        everyone=everyone,
        link=link,
        population=population,
        method=named,
        otherwise=otherwise,
        n=len(grid.cases),
        basis=basis,
    )


def _values(tables: PairTables, statistic: PairStatistic, least: int) -> FloatArray:
    """The statistic of each row of counts; of a pair who share fewer than `least` cases, NaN."""
    found = statistic(*tables.values)(tables.counts)
    found[: len(tables.raters)][tables.shared < least] = np.nan
    return found


def _mean_without_each(clusters: int, each: Sequence[tuple[PairTables, FloatArray]]) -> FloatArray:
    """The mean over pairs without each cluster in turn; a pair that this leaves undefined takes no part."""
    total, count = np.zeros(clusters), np.zeros(clusters)
    for tables, found in each:
        values = found[: len(tables.raters)]
        defined = ~np.isnan(values)
        total += values[defined].sum()
        count += defined.sum()
        taking_part = defined[tables.pair]
        cluster, row = tables.cluster[taking_part], tables.row[taking_part]
        without, lost = found[row], np.isnan(found[row])
        change = np.where(lost, 0.0, without) - values[tables.pair[taking_part]]
        total += np.bincount(cluster, change, minlength=clusters)
        count -= np.bincount(cluster, lost, minlength=clusters)
    return np.divide(total, count, out=np.full(clusters, np.nan), where=count > 0)


def _mean_over(values: FloatArray, pairs: IntArray, statistic: PairStatistic) -> Statistic:
    """The mean over `pairs`; in a resample, over those it leaves defined."""
    parts = [_of_pair(values, pair, statistic) for pair in pairs]

    def mean(weights: FloatArray) -> FloatArray:
        each = np.array([part(weights) for part in parts]).reshape(len(parts), len(weights))
        known = ~np.isnan(each)
        count = known.sum(axis=0)
        total = np.where(known, each, 0.0).sum(axis=0)
        return np.divide(total, count, out=np.full(len(weights), np.nan), where=count > 0)

    return mean


def _of_pair(values: FloatArray, pair: IntArray, statistic: PairStatistic) -> Statistic:
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
