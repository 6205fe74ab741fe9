"""What each juror adds: to everybody else's jury, and on average over all juries that could be."""

from __future__ import annotations

from itertools import chain, combinations
from math import factorial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..statistics.matrix import FloatArray
from .jury_counts import Members, VoteCounter

EXACT = 10
"""Up to so many jurors, every coalition is counted."""


class Shares(NamedTuple):
    """Shapley values, question by question; their mean over questions is the juror's share."""

    each: FloatArray
    """One row a juror, one column a question. Columns sum to the whole pool's credit less the best constant's."""
    se: FloatArray
    """By juror: the error from having sampled orders; 0 where every coalition was counted."""
    orders: int
    """How many orders were drawn; 0 where none had to be."""

    @property
    def values(self) -> FloatArray:
        return self.each.mean(axis=1)


def leave_one_out(counter: VoteCounter) -> FloatArray:
    """By juror and question: the whole pool's credit less its credit without the juror; NaN for a pool of one."""
    size = len(counter.pool.jurors)
    if size == 1:
        return np.full((1, len(counter.pool.truth)), np.nan)
    return counter.credits(np.ones((1, size), dtype=bool)) - counter.credits(~np.eye(size, dtype=bool))


def shapley(counter: VoteCounter, *, rng: np.random.Generator, orders: int = 200) -> Shares:
    """Each juror's share of what the whole pool earns over the best constant answer.

    The mean of what the juror adds to those who came before, over all orders of arrival (Shapley 1953); beyond ten
    jurors over `orders` drawn ones, each with its reverse, which cancels part of the error (Mitchell et al. 2022,
    "Sampling permutations for Shapley value estimation"). A jury without an answer earns what the constant earns,
    unless that is a miss.
    """
    return (
        exact_shapley(counter)
        if len(counter.pool.jurors) <= EXACT
        else sampled_shapley(counter, rng=rng, orders=orders)
    )


def exact_shapley(counter: VoteCounter) -> Shares:
    """Shapley values over every coalition."""
    size = len(counter.pool.jurors)
    coalitions = list(chain.from_iterable(combinations(range(size), n) for n in range(size + 1)))
    at = {coalition: row for row, coalition in enumerate(coalitions)}
    juries = np.array([[juror in coalition for juror in range(size)] for coalition in coalitions])
    worth = _worth(counter, juries)
    each = np.zeros((size, worth.shape[1]))
    for coalition in coalitions:
        for juror in set(range(size)) - set(coalition):
            share = factorial(len(coalition)) * factorial(size - len(coalition) - 1) / factorial(size)
            grown = tuple(sorted((*coalition, juror)))
            each[juror] += share * (worth[at[grown]] - worth[at[coalition]])
    return Shares(each, np.zeros(size), 0)


def sampled_shapley(counter: VoteCounter, *, rng: np.random.Generator, orders: int) -> Shares:
    """Shapley values over drawn orders of arrival and their reverses; `orders` counts both."""
    size, pairs = len(counter.pool.jurors), max(2, orders // 2)
    each = np.zeros((size, len(counter.pool.truth)))
    means = np.zeros((pairs, size))
    for pair in range(pairs):
        order = rng.permutation(size)
        for arrival in (order, order[::-1]):
            added = _marginal_credits(counter, arrival)
            each += added / (2 * pairs)
            means[pair] += added.mean(axis=1) / 2
    return Shares(each, means.std(axis=0, ddof=1) / np.sqrt(pairs), 2 * pairs)


def _marginal_credits(counter: VoteCounter, order: npt.NDArray[np.integer]) -> FloatArray:
    """By juror and question, what the juror adds to those before in `order`."""
    size = len(order)
    juries = np.zeros((size + 1, size), dtype=bool)
    juries[1:, order] = np.tri(size, dtype=bool)
    added = np.empty((size, len(counter.pool.truth)))
    added[order] = np.diff(_worth(counter, juries), axis=0)
    return added


def _worth(counter: VoteCounter, juries: Members) -> FloatArray:
    """Credits; nobody at all earns what the best constant does, and so does a jury whose silence is left out."""
    floor = counter.constant()
    credits = counter.credits(juries)
    credits = np.where(np.isnan(credits), floor, credits)
    credits[~juries.any(axis=1)] = floor
    return credits
