"""Juries of a pool: what each answers, the best of every size, and what the best is worth on cases that did not choose it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...rubrics.errors import VenireError
from ..ratings.folds import Fold, Rows, folds, held_rows, held_values
from ..statistics.matrix import FloatArray
from .juror_pool import BINARY, WORDS, Pool

Members = npt.NDArray[np.bool_]
"""One row a jury, one column a juror."""
Tally = list[npt.NDArray[np.float32]]
"""For each answer, how many votes it has: one row a jury, one column a question."""
FEW = 64
"""Up to so many different answers, votes are counted answer by answer."""
ROOM = 4_000_000
"""Numbers held at a time."""


class VoteCounter:
    """Counts the votes of many juries of a pool at a time."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.agreeing = _agreeing(pool)
        self.parts = [
            (np.flatnonzero(pool.counting == name), _counting_rule(str(name), pool.at(np.flatnonzero(pool.counting == name))))
            for name in dict.fromkeys(pool.counting)
        ]  # fmt: skip

    def answers(self, members: Members) -> FloatArray:
        """By jury and question: the counted answer, NaN where nobody answered or the votes are tied."""
        found = np.full((len(members), len(self.pool.truth)), np.nan)
        for rows, count in self.parts:
            for some in _chunks(len(members), len(rows)):
                found[some[:, None], rows] = count(members[some])
        return found

    def credits(self, members: Members) -> FloatArray:
        """By jury and question, from 0 to 1: how far the answer agrees with people."""
        pool = self.pool
        return credit(self.answers(members), pool.truth, exact=pool.exact, width=pool.width)

    def scores(self, members: Members) -> FloatArray:
        """The mean credit of each jury over the questions that count for it."""
        return mean_credit(self.credits(members))

    def scores_of_one_size(self, members: Members) -> FloatArray:
        """`scores`, faster where every question has two answers; the juries must all be of one size."""
        if self.agreeing is None:
            return self.scores(members)
        seats = np.nonzero(members)[1].reshape(len(members), -1)
        # Small numbers added seat by seat: a matrix product of this size costs more in threads than in sums.
        total = sum((self.agreeing[seat] for seat in seats.T[1:]), start=self.agreeing[seats[:, 0]])
        return np.asarray((total > 0).mean(axis=1), dtype=float)

    def constant(self) -> FloatArray:
        """By question, the credit of the one answer to each attribute that agrees best: what no jury at all earns."""
        pool = self.pool
        found = np.zeros(len(pool.truth))
        for _, rows in pool.questions.reset_index(drop=True).groupby("attribute").groups.items():
            at = np.asarray(rows)
            truth = pool.truth[at]
            answers = np.append(np.unique(truth), np.median(truth))[:, None]
            credits = credit(answers, truth, exact=pool.exact[at], width=pool.width[at])
            found[at] = credits[credits.mean(axis=1).argmax()]
        return found


def credit(
    answers: FloatArray, truth: FloatArray, *, exact: npt.NDArray[np.bool_], width: FloatArray
) -> FloatArray:
    """The credit of answers, from 0 to 1: 1 for the people's, on numbers less in proportion to the distance on the scale.

    No answer is a miss where only the same answer agrees, and NaN, to be left out, where agreement is by distance.
    """
    near = 1 - np.abs(answers - truth) / width
    return np.where(exact, answers == truth, near)


def mean_credit(credits: FloatArray) -> FloatArray:
    """The mean of each row without its NaNs; NaN where nothing is left."""
    known = ~np.isnan(credits)
    total = known.sum(axis=1)
    return np.where(total > 0, np.where(known, credits, 0).sum(axis=1) / np.maximum(total, 1), np.nan)


def _agreeing(pool: Pool) -> npt.NDArray[np.int16] | None:
    """Where every question has two answers: 1 for a vote that agrees with people, -1 for one that does not, 0 for none.

    A jury is right where these sum to more than nothing, which is all that a search has to know.
    """
    if not (pool.counting == BINARY).all():
        return None
    agrees = np.where(pool.votes == pool.truth[:, None], 1, -1)
    return np.where(np.isnan(pool.votes), 0, agrees).T.astype(np.int16)


def _counting_rule(rule: str, pool: Pool) -> Callable[[Members], FloatArray]:
    if rule == "mean":
        given, value = ~np.isnan(pool.votes), np.nan_to_num(pool.votes)
        return lambda members: _ratio(_totals(members, value), _totals(members, given))
    levels = np.unique(pool.votes[~np.isnan(pool.votes)])
    if len(levels) > FEW:
        if rule in (WORDS, "mode"):
            raise VenireError(
                f"the jurors use {len(levels)} different answers, too many for the most common to be meaningful",
                remedy="count by median or mean",
            )
        return lambda members: _sorted_median(pool.votes, members)
    if not len(levels):
        return lambda members: np.full((len(members), len(pool.truth)), np.nan)
    if rule == BINARY:
        return _two_sided(pool.votes, levels)
    ballots = [(pool.votes == level).T.astype(np.float32) for level in levels]

    def count(members: Members) -> FloatArray:
        seats = members.astype(np.float32)
        # Zeros and ones: nothing in their product is invalid, but OpenBLAS can raise the processor's flag (numpy issue 24067).
        with np.errstate(invalid="ignore"):
            tally = [seats @ given for given in ballots]
        return _median(tally, levels) if rule == "median" else _mode(tally, levels, words=rule == WORDS)

    return count


def _totals(members: Members, values: npt.NDArray[np.generic]) -> FloatArray:
    return members.astype(float) @ values.T.astype(float)


def _ratio(total: FloatArray, number: FloatArray) -> FloatArray:
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)


def _two_sided(votes: FloatArray, levels: FloatArray) -> Callable[[Members], FloatArray]:
    """The majority of two answers; a tie has none."""
    side = np.where(np.isnan(votes), 0, np.where(votes == levels[-1], 1, -1)).T.astype(np.float32)

    def count(members: Members) -> FloatArray:
        margin = members.astype(np.float32) @ side
        return np.where(margin > 0, levels[-1], np.where(margin < 0, levels[0], np.nan))

    return count


def _median(tally: Tally, levels: FloatArray) -> FloatArray:
    """The middle vote, of an even number the mean of the two in the middle: how many levels lie wholly below it."""
    number = np.sum(tally, axis=0)
    so_far = np.zeros_like(number)
    low, high = np.zeros((2, *number.shape), dtype=np.intp)
    for votes in tally[:-1]:
        so_far += votes
        low += 2 * so_far < number
        high += 2 * so_far <= number
    return np.where(number > 0, (levels[low] + levels[high]) / 2, np.nan)


def _mode(tally: Tally, levels: FloatArray, *, words: bool) -> FloatArray:
    """A tie goes to the answer nearest the median and then to the lower; of words, to the first of the alphabet."""
    most = np.max(tally, axis=0)
    middle = None if words else _median(tally, levels)
    found, nearest = np.full(most.shape, np.nan), np.full(most.shape, np.inf)
    for votes, level in zip(tally, levels, strict=True):
        away = np.zeros(most.shape) if middle is None else np.abs(level - middle)
        better = (votes == most) & (most > 0) & (away < nearest)
        found[better], nearest[better] = level, away[better]
    return found


def _sorted_median(votes: FloatArray, members: Members) -> FloatArray:
    rows, at = [], np.arange(len(votes))
    for jury in members:
        ranked = np.sort(np.where(jury, votes, np.nan), axis=1)
        number = (~np.isnan(ranked)).sum(axis=1)
        low, high = ranked[at, np.maximum(number - 1, 0) // 2], ranked[at, number // 2]
        rows.append(np.where(number > 0, (low + high) / 2, np.nan))
    return np.array(rows)


def _chunks(juries: int, questions: int) -> Iterator[npt.NDArray[np.integer]]:
    step = max(1, ROOM // max(1, questions * 4))
    for start in range(0, juries, step):
        yield np.arange(start, min(start + step, juries))


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


INNER = 5


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Credits on held-out questions, in the order of `rows`, of what was chosen without them.

    A question held out several times has the mean of its credits.
    """

    rows: Rows
    """Which questions of the pool."""
    sizes: tuple[int, ...]
    by_size: FloatArray
    """One row a size: the best jury of that size."""
    jury: FloatArray
    """The jury of two or more, its size chosen by inner folds."""
    single: FloatArray
    """The single judge chosen the same way."""
    best: FloatArray
    """Whichever of all sizes the inner folds preferred."""
    selection: pd.DataFrame
    juries: Members
    """Row by row, the best jury of each size when all cases chosen on count: what would be used from now on."""
    seated: Members
    """The one of them, of two or more, that inner folds over those cases choose."""
    naive_jury: float
    """What the best jury of any size earns on the very questions that it was chosen on."""
    naive_single: float


def held_out(
    pool: Pool, outer: Sequence[Fold], *, sizes: tuple[int, ...], rng: np.random.Generator
) -> HeldOut:
    """Credits of what was chosen, on questions that did not choose it; `outer` holds out each case in turn, or one test set."""
    parts, rows = [], []
    for number, fold in enumerate(outer, 1):
        train, test = pool.at(fold.chosen_on), VoteCounter(pool.at(fold.held_out))
        inner = by_inner_folds(train, sizes, rng)
        juries = best_juries(train, sizes)
        credits, before = test.credits(juries), VoteCounter(train).scores(juries)
        seated, liked = _best_of(inner, least=1), _best_of(inner, least=0)
        parts.append((credits, credits[seated], credits[liked]))
        after = mean_credit(credits)
        rows.append(
            {
                "fold": number,
                "size": sizes[seated],
                "jurors": jury_label(pool, juries[seated]),
                "chosen_on": before[seated],
                "held_out": after[seated],
                "single": jury_label(pool, juries[0]),
                "single_chosen_on": before[0],
                "single_held_out": after[0],
                "n": len(fold.held_out),
            }
        )
    chosen_on = pool.at(np.unique(np.concatenate([fold.chosen_on for fold in outer])))
    final, naive = best_juries(chosen_on, sizes), VoteCounter(chosen_on)
    scores = naive.scores(final)
    by_size, jury, best = (held_values(outer, pieces) for pieces in zip(*parts, strict=True))
    return HeldOut(
        rows=held_rows(outer),
        sizes=sizes,
        by_size=by_size,
        jury=jury,
        single=by_size[0],
        best=best,
        selection=pd.DataFrame(rows),
        juries=final,
        seated=final[_best_of(by_inner_folds(chosen_on, sizes, rng), least=1)],
        naive_jury=float(scores[1:].max()),
        naive_single=float(scores[0]),
    )


def by_inner_folds(pool: Pool, sizes: Sequence[int], rng: np.random.Generator) -> FloatArray:
    """The cross-validated score of the best jury of each size."""
    credits = [
        VoteCounter(pool.at(fold.held_out)).credits(best_juries(pool.at(fold.chosen_on), sizes))
        for fold in folds(pool.cluster, INNER, rng)
    ]
    return mean_credit(np.concatenate(credits, axis=1))


def jury_label(pool: Pool, jury: Members) -> str:
    """The members' names, joined by a plus sign."""
    return " + ".join(name for name, sits in zip(pool.jurors, jury, strict=True) if sits)


def _best_of(scores: FloatArray, *, least: int) -> int:
    """The place of the best from `least` on; of equal ones the first."""
    return int(np.argmax(scores[least:] >= np.nanmax(scores[least:]) - EQUAL)) + least
