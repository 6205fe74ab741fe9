"""How often every two raters' values meet, all in all and without each cluster: what statistics of two raters are made of."""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .matrix import FloatArray, IntArray, Matrix

PAIRS = 64
"""Pairs of raters counted at a time."""
SHORT = 12
"""The most values that a scale has for which pairs are counted together and the counts remembered."""
APART = 1e-3
"""How far apart values on such a scale are at least, over its range: a pair that uses two of them still moves."""


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
    codes, known = codes.reshape(values.shape), ~np.isnan(values)
    met = known.astype(float)
    first, second = np.triu(met.T @ met, 1).nonzero()
    for start in range(0, len(first), at_a_time):
        x, y = first[start : start + at_a_time], second[start : start + at_a_time]
        case, pair = (known[:, x] & known[:, y]).nonzero()
        code = codes[case, x[pair]] * len(scale) + codes[case, y[pair]]
        kinds, kind = np.unique(code, return_inverse=True)
        whole = np.bincount(pair * len(kinds) + kind, minlength=len(x) * len(kinds)).astype(float)
        whole = whole.reshape(len(x), len(kinds))
        left, touched = _without(whole, pair, kind, cluster[case])
        yield PairTables(
            np.column_stack([x, y]),
            (scale[kinds // len(scale)], scale[kinds % len(scale)]),
            np.bincount(pair, minlength=len(x)),
            np.concatenate([whole, left]),
            *touched,
        )


def _without(
    whole: FloatArray, pair: IntArray, kind: IntArray, cluster: IntArray
) -> tuple[FloatArray, tuple[IntArray, IntArray, IntArray]]:
    """What is left of pairs' counts; and by pair and cluster, in which row."""
    pairs, kinds = whole.shape
    clusters = int(cluster.max()) + 1
    each, entry = np.unique(pair * clusters + cluster, return_inverse=True)
    if len(each) == len(entry):
        # Clusters are single cases, of which all that hold the same two values leave the same.
        ways, way = np.unique(pair * kinds + kind, return_inverse=True)
        left = whole[ways // kinds]
        left[np.arange(len(ways)), ways % kinds] -= 1
        return left, (pair, cluster, pairs + way)
    left = whole[each // clusters]
    np.subtract.at(left, (entry, kind), 1)
    return left, (each // clusters, each % clusters, pairs + np.arange(len(each)))
