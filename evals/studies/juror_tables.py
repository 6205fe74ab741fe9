"""One row a juror or jury: what each adds, how agreement grows with more of them, who errs together, and who favours the text shown first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, combinations
from math import comb, factorial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..audits.independence import LEAST, PairSums, correlation_matrix, effective_number
from ..ratings.folds import cluster_numbers, groups_in
from ..ratings.published_data import GIVEN, SWAPPED
from ..statistics.estimate import Estimate, undefined
from ..statistics.jackknife import LOG, jackknife_spread
from ..statistics.matrix import FloatArray, IntArray
from .juror_pool import Pool
from .jury_search import HeldOut, Members, VoteCounter, every_jury, mean_credit
from .paired_means import mean_credit_estimate, mean_difference

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


def jurors_table(counter: VoteCounter, shares: Shares, chosen: HeldOut) -> pd.DataFrame:
    """Scores, leave-one-out and Shapley values with their intervals; those who add most first."""
    pool = counter.pool
    alone = counter.credits(np.eye(len(pool.jurors), dtype=bool))
    without = leave_one_out(counter)
    rows = []
    for at, name in enumerate(pool.jurors):
        found = {
            "": mean_credit_estimate(alone[at], pool.cluster, method="agreement"),
            "leave_one_out": mean_difference(
                without[at], pool.cluster, method="with minus without"
            ).difference,
            "shapley": _with_sampling(
                mean_difference(shares.each[at], pool.cluster, method="Shapley value").difference,
                shares.se[at],
            ),
        }
        rows.append(
            {
                "juror": name,
                "in_jury": bool(chosen.seated[at]),
                "score": found[""].value,
                "low": found[""].low,
                "high": found[""].high,
                "answered": float((~np.isnan(pool.votes[:, at])).mean()),
                "cost": pool.cost[at],
                **{
                    f"{what}{end}": value
                    for what in ("leave_one_out", "shapley")
                    for end, value in (
                        ("", found[what].value),
                        ("_low", found[what].low),
                        ("_high", found[what].high),
                    )
                },
                "shapley_se": shares.se[at],
            }
        )
    table = pd.DataFrame(rows)
    return table.sort_values("shapley", ascending=False, ignore_index=True)


def _with_sampling(found: Estimate, se: float) -> Estimate:
    """The interval over cases, wider by the error of having sampled orders."""
    low = found.value - float(np.hypot(found.value - found.low, 1.96 * se))
    return replace(found, low=low, high=found.value + float(np.hypot(found.high - found.value, 1.96 * se)))


DRAWN = 100
"""Random juries of each size."""


def growth(
    counter: VoteCounter, chosen: HeldOut, *, widening: float, rng: np.random.Generator
) -> pd.DataFrame:
    """One row for each size and way to fill it.

    `low` and `high` are for other cases; `weakest` and `strongest` are the 5th and 95th percentiles over random
    juries of that size on these cases.
    """
    rows = []
    for size in _sizes(len(counter.pool.jurors), chosen.sizes):
        credits = counter.credits(_random(len(counter.pool.jurors), size, rng))
        rows.append(_row("random", size, _mean(credits), counter.pool.cluster, mean_credit(credits), 1.0))
    cluster = counter.pool.cluster[chosen.rows]
    for size, held in zip(chosen.sizes, chosen.by_size, strict=True):
        rows.append(_row("chosen", size, held, cluster, np.full(1, np.nan), widening))
    return pd.DataFrame(rows)


def _row(
    how: str,
    size: int,
    credits: FloatArray,
    cluster: IntArray,
    scores: FloatArray,
    widening: float,
) -> dict[str, object]:
    found = mean_credit_estimate(credits, cluster, method=f"{how} juries of {size}", widening=widening)
    weakest, strongest = np.quantile(scores, [0.05, 0.95])
    return {
        "how": how,
        "size": size,
        "score": found.value,
        "low": found.low,
        "high": found.high,
        "weakest": weakest,
        "strongest": strongest,
        "juries": len(scores),
        "n": found.n,
    }


def _mean(credits: FloatArray) -> FloatArray:
    """By question, over the juries that count for it."""
    return mean_credit(credits.T)


def _sizes(jurors: int, searched: tuple[int, ...]) -> Iterator[int]:
    """Every size searched, then ever larger steps up to the whole pool; odd sizes stay odd until the last."""
    yield from searched
    size, odd = searched[-1], len(searched) > 1 and searched[1] == 3
    while size < jurors:
        size = min(jurors, max(size + 2, round(size * 1.5)) | odd)
        yield size


def _random(jurors: int, size: int, rng: np.random.Generator) -> Members:
    """Every jury of that size where they are few, otherwise some drawn without preference."""
    if comb(jurors, size) <= DRAWN:
        return every_jury(jurors, size)
    ranks = rng.random((DRAWN, jurors)).argsort(axis=1).argsort(axis=1)
    return ranks < size


METHOD = "effective number of n jurors: n / (1 + (n - 1) r), where r is the mean correlation of two jurors' errors on the questions that both answered"
FURTHEST = 10
"""Beyond so many times its jurors a jury's errors cancel out, and no number of independent jurors says what it is worth."""


def juror_errors(pool: Pool) -> FloatArray:
    """By question and juror: 1 for a wrong answer or none; on numbers, how much better than people say, NaN without an answer.

    Turned so that high is good, a lenient juror errs alike on all attributes.
    """
    away = pool.votes - pool.truth[:, None]
    better = away * (pool.direction / pool.width)[:, None]
    return np.where(pool.exact[:, None], ~(away == 0), better)


def error_correlations(pool: Pool) -> pd.DataFrame:
    """Pearson correlations of the errors of every two jurors on the questions that both answered; NaN where one never varies."""
    found = pd.DataFrame(juror_errors(pool), columns=list(pool.jurors))
    matrix = correlation_matrix(found.to_numpy(float))
    known = found.notna().to_numpy(float)
    together = known.T @ known
    first, second = np.triu_indices(len(pool.jurors), 1)
    names = np.array(pool.jurors, dtype=object)
    return pd.DataFrame(
        {
            "first": names[first],
            "second": names[second],
            "correlation": matrix[first, second],
            "n": together[first, second].astype(int),
        }
    )


def independence(pool: Pool, juries: dict[str, Members]) -> pd.DataFrame:
    """For each jury: the mean correlation of its members' errors, and how many independent jurors that leaves.

    `effective` is the number of independent jurors whose mean would err as much: the design effect of Kish (1965).
    `participation` counts the dimensions that errors spread over: (sum of eigenvalues)^2 / sum of their squares.
    Every correlation is of the questions that both jurors answered. Jurors whose error never varies have none and are left
    out of both.
    """
    errors = juror_errors(pool)
    rows = []
    for name, jury in juries.items():
        mine = errors[:, jury]
        mine = mine[:, [np.nanvar(column) > 1e-12 for column in mine.T]]
        number = effective_number(correlation_matrix(mine))
        found = effective_jurors(mine, pool.cluster)
        rows.append(
            {
                "jury": name,
                "jurors": int(jury.sum()),
                "correlation": number.correlation if found.defined else np.nan,
                "effective": found.value,
                "low": found.low,
                "high": found.high,
                "participation": number.participation,
                "note": found.note,
            }
        )
    return pd.DataFrame(rows)


def effective_jurors(errors: FloatArray, cluster: IntArray, confidence: float = 0.95) -> Estimate:
    """The effective number of independent jurors, by Kish, with the interval of a jackknife over clusters.

    Args:
        errors: By question and juror; NaN without an answer, which has no part in any correlation.
        cluster: By question, the number of what is left out as a whole.
    """
    questions, jurors = errors.shape
    if jurors < 2:
        return undefined(
            "fewer than two jurors have errors that vary, so errors cannot be correlated",
            method=METHOD,
            n=questions,
        )
    sums = PairSums.of(errors)
    number = effective_number(sums.correlations)
    lacking = f"{number.unknown} pairs of jurors share fewer than {LEAST} questions on which the errors of both vary"
    if np.isnan(number.correlation):
        return undefined(lacking, method=METHOD, n=questions)
    if not number.kish <= FURTHEST * jurors:
        return undefined(
            "the jurors' errors cancel out in their mean, so no effective number of jurors can be given",
            method=METHOD,
            n=questions,
        )
    groups = [errors[rows] for rows in _rows_by_cluster(cluster)]
    without = [
        effective_number(sums.less(PairSums.of(rows, sums.centre)).correlations).kish for rows in groups
    ]
    error = jackknife_spread(number.kish, np.array(without), LOG)
    low, high = (np.nan, np.nan) if isinstance(error, str) else error.bounds(confidence)
    notes = [lacking + " and are left out"] if number.unknown else []
    if isinstance(error, str):
        notes.append(f"no interval: the jackknife over {len(groups)} cases or groups gives none")
    return Estimate(number.kish, low, high, questions, METHOD, confidence, "; ".join(notes))


def _rows_by_cluster(cluster: IntArray) -> list[IntArray]:
    order = np.argsort(cluster, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(cluster[order])) + 1)


def position_bias(judgements: pd.DataFrame) -> pd.DataFrame:
    """One row for each juror with both orders of a choice between two.

    `consistent` is the share of pairs with the same answer twice (none twice is the same); `first` and `second` are
    the shares that went with the place twice; `lean` is first minus second, with its interval.
    """
    columns = ["juror", "n", "consistent", "first", "second", "lean", "low", "high"]
    if "order" not in judgements:
        return pd.DataFrame(columns=columns)
    keys = ["juror", "case", "attribute"]
    given = judgements[judgements["order"].isin([GIVEN, SWAPPED])].drop_duplicates([*keys, "order"])
    given = given[given.groupby(keys)["order"].transform("size") == 2]
    words = given.assign(value=given["value"].map(_word)).pivot(index=keys, columns="order", values="value")
    groups, rows = groups_in(judgements), []
    for juror, both in words.groupby("juror", sort=False):
        options = sorted(set(both.to_numpy().ravel()) - {""})
        if len(options) != 2:
            continue
        one, other = both[GIVEN].to_numpy(str), both[SWAPPED].to_numpy(str)
        first = (one == options[0]) & (other == options[1])
        second = (one == options[1]) & (other == options[0])
        cluster = cluster_numbers(both.index.get_level_values("case").to_series(), groups)
        lean = mean_difference(first.astype(float) - second, cluster, method="first minus second").difference
        rows.append(
            (juror, len(both), (one == other).mean(), first.mean(), second.mean(), lean.value, lean.low, lean.high)
        )  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def _word(value: object) -> str:
    if value is None or value != value:
        return ""
    return f"{value:g}" if isinstance(value, int | float) else str(value)
