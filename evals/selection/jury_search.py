"""The jury of each size that agrees best with people on the cases it is chosen on."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

import numpy as np

from ..statistics.matrix import FloatArray
from .juror_pool import BINARY, Pool
from .jury_counts import Members, VoteCounter

EVERY = 5_000
"""Up to so many juries, all are tried."""
SWAPS = 20
"""How often one member may be exchanged for a better one before a size is done."""
EQUAL = 1e-12


def sizes_of(pool: Pool, largest: int) -> tuple[int, ...]:
    """The sizes worth trying: all up to `largest`, but only odd ones where every question has two answers and may tie."""
    most = min(largest, len(pool.jurors))
    odd = most > 2 and bool((pool.counting == BINARY).all())
    return tuple(range(1, most + 1, 2 if odd else 1))


def best_juries(pool: Pool, sizes: Sequence[int]) -> Members:
    """Row by row the best jury of each size, from one up; of equal ones the cheapest, then the first.

    All juries are tried where they are few; beyond that each size starts from the one before, takes in the juror
    who helps most, and exchanges members as long as that helps.
    """
    counter, jurors = VoteCounter(pool), len(pool.jurors)
    if sum(comb(jurors, size) for size in sizes) <= EVERY:
        return np.array([_best(counter, every_jury(jurors, size)) for size in sizes])
    found = [_best(counter, np.eye(jurors, dtype=bool))]
    for size in sizes[1:]:
        jury = found[-1]
        while jury.sum() < size:
            jury = _best(counter, _with_one_more(jury))
        found.append(_with_exchanges(counter, jury))
    return np.array(found)


def _best(counter: VoteCounter, juries: Members) -> Members:
    return juries[_first(counter.scores_of_one_size(juries), juries @ counter.pool.cost)]


def _first(scores: FloatArray, costs: FloatArray) -> int:
    tied = np.flatnonzero(scores >= np.nanmax(scores) - EQUAL)
    return int(tied[np.argmin(costs[tied])])


def every_jury(size: int, number: int) -> Members:
    """All juries of `number` out of `size` jurors."""
    members = np.array(list(combinations(range(size), number)))
    juries = np.zeros((len(members), size), dtype=bool)
    juries[np.arange(len(members))[:, None], members] = True
    return juries


def _with_one_more(jury: Members) -> Members:
    """The jury with each other juror in turn."""
    outside = np.flatnonzero(~jury)
    juries = np.repeat(jury[None, :], len(outside), axis=0)
    juries[np.arange(len(outside)), outside] = True
    return juries


def _with_exchanges(counter: VoteCounter, jury: Members) -> Members:
    score = counter.scores_of_one_size(jury[None, :])[0]
    for _ in range(SWAPS):
        inside, outside = np.flatnonzero(jury), np.flatnonzero(~jury)
        if not len(outside):
            break
        pairs = np.array([(leaves, joins) for leaves in inside for joins in outside])
        juries = np.repeat(jury[None, :], len(pairs), axis=0)
        at = np.arange(len(pairs))
        juries[at, pairs[:, 0]], juries[at, pairs[:, 1]] = False, True
        scores = counter.scores_of_one_size(juries)
        first = _first(scores, juries @ counter.pool.cost)
        if not scores[first] > score + EQUAL:
            break
        jury, score = juries[first], scores[first]
    return jury
