"""Coefficients of two raters, and their mean over the pairs of more.

All that such a coefficient needs is how often the two raters' values meet. That is counted once for every pair, all in all and
without each cluster; many coefficients of one matrix are asked for in turn, so the counts on short scales are remembered.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from .estimate import Estimate, undefined
from .gate import Gate
from .jackknife import Jackknife, Transform
from .matrix import FloatArray, IntArray, Matrix, Ratings, matrix
from .weighted import Statistic

PairStatistic = Callable[[FloatArray, FloatArray], Statistic]
"""From what two raters gave the same cases to the statistic as a function of the cases' weights."""

Raters = tuple[str, str]
PAIRS = 64
"""Pairs of raters counted at a time."""
SHORT = 12
"""The most values that a scale has for which pairs are counted together and the counts remembered."""
APART = 1e-3
"""How far apart values on such a scale are at least, over its range: a pair that uses two of them still moves."""


def pair_matrix(ratings: Ratings, raters: Raters | None, *, by: str = "case") -> Matrix:
    """The matrix of the two `raters`, in that order, over the cases both rated; of everyone when None."""
    grid = matrix(ratings, by=by)
    if raters is None:
        return grid
    if raters == grid.raters:
        return grid.complete()
    names = ratings["rater"].unique() if isinstance(ratings, pd.DataFrame) else ratings.raters
    silent = set(map(str, names)) - set(grid.raters)
    blank = np.full(len(grid.cases), np.nan)
    columns = np.column_stack([blank if rater in silent else grid.column(rater) for rater in raters])
    pair_grid = Matrix(columns, grid.cases, raters, grid.cluster, grid.labels)
    return pair_grid.complete()


def pair_estimate(
    grid: Matrix,
    statistic: PairStatistic,
    jackknife: Jackknife,
    *,
    method: str,
    otherwise: str,
    transform: Transform,
    gate: Gate,
    least: int = 2,
) -> Estimate:
    """The statistic of two raters or, of more, its mean over the pairs for which it is defined.

    Missing ratings: each pair uses the cases both rated, and takes part when there are `least` of them.
    `otherwise` says why the statistic is NaN when there were cases enough.
    """
    k = len(grid.raters)
    if k < 2:
        return undefined("fewer than two raters", method=method, confidence=jackknife.confidence)
    grid = grid.pairable()
    tables = [(part, _values(part, statistic, least)) for part in pair_tables(grid)]
    if not any((part.shared >= least).any() for part, _ in tables):
        reason = (
            f"no two raters rated {least} or more of the same cases"
            if k > 2
            else f"fewer than {least} cases were rated by both raters"
        )
        return undefined(reason, method=method, n=len(grid.cases), confidence=jackknife.confidence)
    pairs = np.concatenate([part.raters for part, _ in tables])
    values = np.concatenate([rows[: len(part.raters)] for part, rows in tables])
    is_defined = ~np.isnan(values)
    count = int(is_defined.sum())
    return jackknife.of_left_out(
        float(values[is_defined].mean()) if count else np.nan,
        lambda: (_mean_without_each(grid.clusters, tables), None),
        grid,
        method=method if k == 2 else f"{method}, mean over {count} of {k * (k - 1) // 2} rater pairs",
        otherwise=otherwise,
        transform=transform,
        gate=gate,
        n=len(grid.cases),
        pairs=pairs[is_defined],
    )


def _values(tables: "PairTables", statistic: PairStatistic, least: int) -> FloatArray:
    """The statistic of each row of counts; of a pair who share fewer than `least` cases, NaN."""
    values = statistic(*tables.values)(tables.counts)
    values[tables.counts.sum(axis=1) < least] = np.nan
    return values


def _mean_without_each(clusters: int, tables: "Sequence[tuple[PairTables, FloatArray]]") -> FloatArray:
    """The mean over pairs without each cluster in turn; a pair that this leaves undefined takes no part."""
    total, count = np.zeros(clusters), np.zeros(clusters)
    for part, rows in tables:
        values = rows[: len(part.raters)]
        is_defined = ~np.isnan(values)
        total += values[is_defined].sum()
        count += is_defined.sum()
        taking_part = is_defined[part.pair]
        cluster, row = part.cluster[taking_part], part.row[taking_part]
        left_out, lost = rows[row], np.isnan(rows[row])
        change = np.where(lost, 0.0, left_out) - values[part.pair[taking_part]]
        total += np.bincount(cluster, change, minlength=clusters)
        count -= np.bincount(cluster, lost, minlength=clusters)
    return np.divide(total, count, out=np.full(clusters, np.nan), where=count > 0)


class PairTables(NamedTuple):
    """Some pairs of raters, each with the cases both rated as counts of the pairs of values that they hold."""

    raters: IntArray
    """The two of each pair, one row a pair."""
    values: tuple[FloatArray, FloatArray]
    """The first rater's value and the second's, of each column of counts."""
    shared: IntArray
    """By pair, how many cases both rated."""
    counts: FloatArray
    """One row a pair; below these, one row for each way in which leaving out a cluster changes a pair's."""
    pair: IntArray
    """For each pair and each cluster that it shares, the pair's place;"""
    cluster: IntArray
    """the cluster;"""
    row: IntArray
    """and the row of what is left without it."""


def pair_tables(grid: Matrix) -> Iterator[PairTables]:
    """The tables of all pairs who share a case, in order; each pair by itself unless the scale is short.

    Many coefficients of one matrix are asked for in turn, so the counts on short scales are remembered.
    """
    scale = np.unique(grid.values[~np.isnan(grid.values)])
    if len(scale) <= SHORT and (np.diff(scale) >= APART * (scale[-1:] - scale[:1])).all():
        yield from _cached_tables(grid.values.tobytes(), grid.values.shape, grid.cluster.tobytes())
    else:
        yield from _count_pairs(grid.values, grid.cluster, 1)


@lru_cache(maxsize=4)
def _cached_tables(values: bytes, shape: tuple[int, int], cluster: bytes) -> tuple[PairTables, ...]:
    cells = np.frombuffer(values).reshape(shape)
    return tuple(_count_pairs(cells, np.frombuffer(cluster, dtype=np.int64), PAIRS))


def _count_pairs(values: FloatArray, cluster: IntArray, at_a_time: int) -> Iterator[PairTables]:
    scale, codes = np.unique(values, return_inverse=True)
    codes, has_value = codes.reshape(values.shape), ~np.isnan(values)
    met = has_value.astype(float)
    first_raters, second_raters = np.triu(met.T @ met, 1).nonzero()
    for start in range(0, len(first_raters), at_a_time):
        x, y = first_raters[start : start + at_a_time], second_raters[start : start + at_a_time]
        case, pair = (has_value[:, x] & has_value[:, y]).nonzero()
        code = codes[case, x[pair]] * len(scale) + codes[case, y[pair]]
        kinds, kind = np.unique(code, return_inverse=True)
        counts = np.bincount(pair * len(kinds) + kind, minlength=len(x) * len(kinds)).astype(float)
        counts = counts.reshape(len(x), len(kinds))
        counts_without, touched = _without(counts, pair, kind, cluster[case])
        yield PairTables(
            np.column_stack([x, y]),
            (scale[kinds // len(scale)], scale[kinds % len(scale)]),
            np.bincount(pair, minlength=len(x)),
            np.concatenate([counts, counts_without]),
            *touched,
        )


def _without(
    counts: FloatArray, pair: IntArray, kind: IntArray, cluster: IntArray
) -> tuple[FloatArray, tuple[IntArray, IntArray, IntArray]]:
    """What is left of pairs' counts; and by pair and cluster, in which row."""
    pairs, kinds = counts.shape
    clusters = int(cluster.max()) + 1
    touched, entry = np.unique(pair * clusters + cluster, return_inverse=True)
    if len(touched) == len(entry):
        # Clusters are single cases, of which all that hold the same two values leave the same.
        pair_kinds, row = np.unique(pair * kinds + kind, return_inverse=True)
        remaining = counts[pair_kinds // kinds]
        remaining[np.arange(len(pair_kinds)), pair_kinds % kinds] -= 1
        return remaining, (pair, cluster, pairs + row)
    remaining = counts[touched // clusters]
    np.subtract.at(remaining, (entry, kind), 1)
    return remaining, (touched // clusters, touched % clusters, pairs + np.arange(len(touched)))
