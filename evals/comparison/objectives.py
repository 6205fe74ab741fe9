"""What juries are chosen by: agreement of answers with people's values, for many rows of answers at a time.

Each measure takes `said` and `truth`, one row for each arm or resample and one column a case; what is NaN in either is left
out. They are the coefficients of `agreement/` for two raters, the arm and people's reference, in closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ...rubrics.scale import Level, Scale
from ..ratings.folds import Rows
from ..ratings.question import RewardTable
from ..statistics.matrix import FloatArray, IntArray

ObjectiveName = Literal[
    "icc3k", "icc2", "kappa_quadratic", "kappa", "spearman", "kendall", "alpha", "mae", "credit", "costs"
]

MARGIN = 0.02
"""The difference, in an objective, that does not matter unless a study says otherwise."""


@dataclass(frozen=True, slots=True)
class AnswerScale:
    """An attribute's scale, as far as agreement depends on it."""

    level: Level
    steps: FloatArray
    """The legal answers as numbers, in order; empty where any number between two ends is legal."""
    width: float
    rewards: RewardTable | None = None
    """What each answer is worth, by the number of its value, where the scale has costs."""

    @property
    def ordered(self) -> bool:
        return self.level in ("ordinal", "interval")

    @classmethod
    def of(cls, scale: Scale) -> AnswerScale:
        """Words are numbered by the alphabet, as `ratings/reference.py` codes them, and what they are worth goes with them."""
        steps = np.array([float(v) for v in scale.values] if scale.numeric else range(len(scale.values)), dtype=float)  # fmt: skip
        low, high = map(float, scale.ends) if scale.numeric else (0.0, 1.0)
        rewards = RewardTable.of(scale)
        if rewards is not None:
            values = scale.values
            order = sorted(range(len(values)), key=lambda at: at if scale.numeric else str(values[at]))
            worth = rewards.worth[np.ix_(order, order)]
            rewards = RewardTable(tuple(steps.tolist()), worth, rewards.abstention)
        return cls(scale.level, steps, high - low, rewards)

    def legal(self, values: FloatArray) -> FloatArray:
        """Each value taken to the nearest legal answer, in the middle of two to the lower."""
        if not len(self.steps):
            return values
        at = np.searchsorted((self.steps[1:] + self.steps[:-1]) / 2, values)
        return np.where(np.isnan(values), np.nan, self.steps[np.minimum(at, len(self.steps) - 1)])


Batch = Callable[[FloatArray, FloatArray, AnswerScale], FloatArray]


@dataclass(frozen=True, slots=True)
class Objective:
    """A measure of agreement: `value` is what is reported, `score` what is maximised."""

    name: str
    words: str
    value: Batch
    better: float = 1.0
    """-1 where less is better."""
    needs_order: bool = True
    absolute: bool = False
    """Whether an offset from people's values lowers it."""
    ranked: bool = False
    """Whether the order of values is all that counts."""
    stand_in: str = ""
    """The objective that a search takes its steps by, where this one is too slow for many."""
    least: float = -np.inf
    most: float = 1.0
    """The lowest and the highest value there can be: no interval goes beyond them."""
    needs_costs: bool = False
    averaged: bool = False
    """Whether it is the mean of what each question has by itself."""

    def fits(self, scale: AnswerScale) -> bool:
        """Whether it can be told of values on this scale."""
        return (scale.ordered or not self.needs_order) and (scale.rewards is not None or not self.needs_costs)

    @property
    def need(self) -> str:
        """What a scale lacks that it does not fit."""
        return "needs a scale with costs" if self.needs_costs else "needs a scale whose values have an order"

    def score(self, said: FloatArray, truth: FloatArray, scale: AnswerScale) -> FloatArray:
        """High is good."""
        return self.better * self.value(said, truth, scale)


def objective(name: str) -> Objective:
    """The objective of that name."""
    return OBJECTIVES[name]


def _both(said: FloatArray, truth: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The two with NaN wherever either is, and how many pairs are left in each row."""
    known = ~(np.isnan(said) | np.isnan(truth))
    return np.where(known, said, np.nan), np.where(known, truth, np.nan), known.sum(axis=-1).astype(float)


def _mean(values: FloatArray, n: FloatArray) -> FloatArray:
    return np.nansum(values, axis=-1) / np.maximum(n, 1)


def _ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    """NaN where there is nothing to divide by."""
    some = bottom > 1e-12
    return np.where(some, top / np.where(some, bottom, 1.0), np.nan)


def _correlation(x: FloatArray, y: FloatArray, n: FloatArray) -> FloatArray:
    left, right = x - _mean(x, n)[:, None], y - _mean(y, n[: len(y)])[:, None]
    shared = np.nansum(left * right, axis=1)
    return _ratio(shared, np.sqrt(np.nansum(left**2, axis=1) * np.nansum(right**2, axis=1)))


def _ranks(values: FloatArray) -> FloatArray:
    """Mean ranks within each row; NaN stays."""
    # Half a second to import, and `compare` by itself ranks nothing here.
    from scipy.stats import rankdata

    ranks = rankdata(np.where(np.isnan(values), np.inf, values), axis=1)
    return np.where(np.isnan(values), np.nan, ranks)


def _spearman(said: FloatArray, truth: FloatArray, scale: AnswerScale) -> FloatArray:
    x, y, n = _both(said, truth)
    # Arms held against the same values, all answered: those are ranked once.
    once = truth.strides[0] == 0 and bool((n == truth.shape[1]).all())
    return _correlation(_ranks(x), _ranks(y[:1]) if once else _ranks(y), n)


def _kendall(said: FloatArray, truth: FloatArray, scale: AnswerScale) -> FloatArray:
    x, y, _ = _both(said, truth)
    known = ~np.isnan(x)
    return np.array(
        [_tau_b(left[k], right[k]) for left, right, k in zip(x, y, known, strict=True)], dtype=float
    )


def _tau_b(x: FloatArray, y: FloatArray) -> float:
    """Kendall's tau-b from the table of the two, which is small where there are few different values."""
    _, across = np.unique(x, return_inverse=True)
    _, down = np.unique(y, return_inverse=True)
    rows, columns = (int(code.max()) + 1 if len(code) else 0 for code in (across, down))
    if rows < 2 or columns < 2:
        return np.nan
    if rows * columns > 4096:
        from scipy.stats import kendalltau

        return float(kendalltau(x, y).statistic)
    table = (
        np.bincount(across * columns + down, minlength=rows * columns).reshape(rows, columns).astype(float)
    )
    # For each cell, what stands below it and to its right, or to its left.
    below = table[::-1].cumsum(axis=0)[::-1] - table
    right = below[:, ::-1].cumsum(axis=1)[:, ::-1] - below
    left = below.cumsum(axis=1) - below
    n = table.sum()
    pairs = n * (n - 1) / 2
    tied = [float((total * (total - 1)).sum()) / 2 for total in (table.sum(axis=1), table.sum(axis=0))]
    return float((table * (right - left)).sum() / np.sqrt((pairs - tied[0]) * (pairs - tied[1])))


def _squares(said: FloatArray, truth: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """The mean squares of two raters: between cases, between raters, residual; and the number of cases."""
    x, y, n = _both(said, truth)
    free = np.maximum(n - 1, 1)
    middle, apart = (x + y) / 2, x - y
    offset = _mean(apart, n)
    cases = 2 * np.nansum((middle - _mean(middle, n)[:, None]) ** 2, axis=1) / free
    residual = np.nansum((apart - offset[:, None]) ** 2, axis=1) / 2 / free
    return cases, n * offset**2 / 2, residual, n


def _icc3k(said: FloatArray, truth: FloatArray, scale: AnswerScale) -> FloatArray:
    cases, _, residual, _ = _squares(said, truth)
    return _ratio(cases - residual, cases)


def _icc2(said: FloatArray, truth: FloatArray, scale: AnswerScale) -> FloatArray:
    cases, raters, residual, n = _squares(said, truth)
    return _ratio(cases - residual, cases + residual + 2 * (raters - residual) / np.maximum(n, 1))


def _kappa_quadratic(said: FloatArray, truth: FloatArray, scale: AnswerScale) -> FloatArray:
    x, y, n = _both(scale.legal(said), scale.legal(truth))
    left, right = _mean(x, n), _mean(y, n)
    spread = _mean(x**2, n) - left**2 + _mean(y**2, n) - right**2 + (left - right) ** 2
    return 1 - _ratio(_mean((x - y) ** 2, n), spread)


def _kappa(said: FloatArray, truth: FloatArray, scale: AnswerScale) -> FloatArray:
    x, y, n = _both(scale.legal(said), scale.legal(truth))
    steps = scale.steps if len(scale.steps) else np.unique(np.concatenate([x, y], axis=None)[~np.isnan(np.concatenate([x, y], axis=None))])  # fmt: skip
    chance = sum((_mean(x == step, n) * _mean(y == step, n) for step in steps), np.zeros(len(x)))
    return _ratio(_mean(x == y, n) - chance, 1 - chance)


def _alpha(said: FloatArray, truth: FloatArray, scale: AnswerScale) -> FloatArray:
    """Krippendorff's, at the scale's level; the ordinal distance of two values is that of their mean ranks among all."""
    x, y, n = _both(said, truth)
    every = np.concatenate([x, y], axis=1)
    if not scale.ordered:
        pairs = np.maximum(2 * n * (2 * n - 1), 1)
        shared = np.zeros(len(x))
        for step in np.unique(every[~np.isnan(every)]):
            count = (every == step).sum(axis=1)
            shared += count * (count - 1) / pairs
        return 1 - _ratio(np.where(n > 0, 1 - _mean(x == y, n), np.nan), 1 - shared)
    if scale.level == "ordinal":
        every = _ranks(every)
        x, y = np.split(every, 2, axis=1)
    expected = (
        2 * np.nanvar(np.where((n > 0)[:, None], every, 0.0), axis=1) * 2 * n / np.maximum(2 * n - 1, 1)
    )
    return 1 - _ratio(_mean((x - y) ** 2, n), expected)


def _mae(said: FloatArray, truth: FloatArray, scale: AnswerScale) -> FloatArray:
    x, y, n = _both(said, truth)
    return np.where(n > 0, _mean(np.abs(x - y), n), np.nan)


def _credit(said: FloatArray, truth: FloatArray, scale: AnswerScale) -> FloatArray:
    """As `jury_counts.credit`: no answer is a miss where only the same answer agrees."""
    if scale.ordered:
        return 1 - _mae(said, truth, scale) / scale.width
    asked = ~np.isnan(truth)
    n = asked.sum(axis=-1)
    return np.where(n > 0, ((said == truth) & asked).sum(axis=-1) / np.maximum(n, 1), np.nan)


def _reward(said: FloatArray, truth: FloatArray, scale: AnswerScale) -> FloatArray:
    """The mean worth of the answers by the scale's costs; no answer is worth what an abstention is."""
    assert scale.rewards is not None
    paid = scale.rewards.rewards(said, truth)
    known = ~np.isnan(paid)
    n = known.sum(axis=-1)
    return np.where(n > 0, np.where(known, paid, 0.0).sum(axis=-1) / np.maximum(n, 1), np.nan)


OBJECTIVES: Mapping[str, Objective] = {
    each.name: each
    for each in (
        Objective("icc3k", "ICC(3,k)", _icc3k),
        Objective("icc2", "ICC(2,1)", _icc2, absolute=True),
        Objective("kappa_quadratic", "quadratic kappa", _kappa_quadratic, absolute=True, least=-1.0),
        Objective("kappa", "kappa", _kappa, needs_order=False, absolute=True, least=-1.0),
        Objective("spearman", "Spearman's rho", _spearman, ranked=True, least=-1.0),
        Objective("kendall", "Kendall's tau", _kendall, ranked=True, stand_in="spearman", least=-1.0),
        Objective("alpha", "Krippendorff's alpha", _alpha, needs_order=False, absolute=True),
        Objective(
            "mae",
            "mean absolute error",
            _mae,
            better=-1.0,
            absolute=True,
            least=0.0,
            most=np.inf,
            averaged=True,
        ),
        Objective(
            "credit", "mean credit", _credit, needs_order=False, absolute=True, least=0.0, averaged=True
        ),
        Objective(
            "costs",
            "mean reward",
            _reward,
            needs_order=False,
            absolute=True,
            most=np.inf,
            needs_costs=True,
            averaged=True,
        ),
    )
}


@dataclass(frozen=True, slots=True)
class ScoredVotes:
    """One row a question, one column a voter: a juror, or an arm that deliberated."""

    votes: FloatArray
    """NaN is no answer."""
    truth: FloatArray
    attribute: IntArray
    """By question, its place in `scales`."""
    cluster: IntArray
    """What is held out and resampled as a whole."""
    scales: tuple[AnswerScale, ...]

    def at(self, rows: Rows) -> ScoredVotes:
        """Those of some questions."""
        return replace(
            self,
            votes=self.votes[rows],
            truth=self.truth[rows],
            attribute=self.attribute[rows],
            cluster=self.cluster[rows],
        )

    def answers(self, weights: FloatArray) -> FloatArray:
        """By row of `weights` (one column a voter) and question: the weighted mean of those who answered, or, where values
        have no order, the answer with the most weight."""
        found = np.full((len(weights), len(self.truth)), np.nan)
        for place, scale in enumerate(self.scales):
            rows = np.flatnonzero(self.attribute == place)
            votes = self.votes[rows].T
            given = ~np.isnan(votes)
            if scale.ordered:
                total = weights @ given
                mean = (weights @ np.where(given, votes, 0.0)) / np.where(total > 0, total, 1.0)
                found[:, rows] = np.where(total > 0, mean, np.nan)
                continue
            most = np.zeros((len(weights), len(rows)))
            for value in np.unique(votes[given]):
                weight = weights @ (votes == value)
                better = weight > most + 1e-12
                found[:, rows] = np.where(better, value, found[:, rows])
                most = np.where(better, weight, most)
        return found

    def answers_with_a_seat(self, seats: FloatArray, joining: IntArray, weight: float) -> FloatArray:
        """`answers` of the voters with the weights `seats`, and `weight` more for each of `joining` in turn."""
        found = np.full((len(joining), len(self.truth)), np.nan)
        members = np.flatnonzero(seats)
        for place, scale in enumerate(self.scales):
            rows = np.flatnonzero(self.attribute == place)
            inside, more = self.votes[rows][:, members].T, self.votes[rows][:, joining].T
            known, joins = ~np.isnan(inside), ~np.isnan(more)
            if scale.ordered:
                total = seats[members] @ known + weight * joins
                sums = seats[members] @ np.where(known, inside, 0.0) + weight * np.where(joins, more, 0.0)
                found[:, rows] = np.where(total > 0, sums / np.where(total > 0, total, 1.0), np.nan)
                continue
            most, best = np.zeros(more.shape), np.full(more.shape, np.nan)
            for value in np.unique(np.concatenate([inside[known], more[joins]])):
                total = seats[members] @ (inside == value) + weight * (more == value)
                better = total > most + 1e-12
                best, most = np.where(better, value, best), np.where(better, total, most)
            found[:, rows] = best
        return found

    def scores(self, answers: FloatArray, objective: Objective, mask: FloatArray | None = None) -> FloatArray:
        """By row of `answers`, the mean over the attributes of the objective, high being good.

        `mask` has a row for each row of answers: what is 0 in it is left out.
        """
        parts = []
        for place, scale in enumerate(self.scales):
            rows = self.attribute == place
            if rows.any():
                truth = np.broadcast_to(self.truth[rows], (len(answers), int(rows.sum())))
                truth = truth if mask is None else np.where(mask[:, rows] > 0, truth, np.nan)
                parts.append(objective.score(answers[:, rows], truth, scale))
        found = np.array(parts)
        known = ~np.isnan(found)
        return np.where(
            known.any(axis=0),
            np.where(known, found, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1),
            np.nan,
        )

    def constant(self, objective: Objective) -> FloatArray:
        """By question, the one answer to its attribute that people give: the middle of them, or the commonest; where answers
        have costs, the one that earns most."""
        found = np.full(len(self.truth), np.nan)
        for place, scale in enumerate(self.scales):
            rows = self.attribute == place
            truth = self.truth[rows]
            if not len(truth):
                continue
            if objective.needs_costs:
                every = np.broadcast_to(truth, (len(scale.steps), len(truth)))
                earned = objective.score(np.repeat(scale.steps[:, None], len(truth), axis=1), every, scale)
                found[rows] = scale.steps[int(np.argmax(earned))]
                continue
            values, counts = np.unique(truth, return_counts=True)
            found[rows] = np.median(truth) if scale.ordered else values[counts.argmax()]
        return found


def scored_votes(
    votes: FloatArray,
    truth: FloatArray,
    attribute: Sequence[str],
    cluster: IntArray,
    scales: Mapping[str, AnswerScale],
) -> ScoredVotes:
    """The votes with their attributes numbered in the order of `scales`."""
    places = {name: place for place, name in enumerate(scales)}
    numbers = np.array([places[name] for name in attribute], dtype=np.int64)
    return ScoredVotes(votes, truth, numbers, cluster, tuple(scales.values()))


def equal_weights(members: Sequence[int], voters: int) -> FloatArray:
    """Equal weights of those who sit, nothing for the others."""
    weights = np.zeros(voters)
    weights[list(members)] = seat_weights(len(members))
    return weights / weights.sum()


def seat_weights(seats: int) -> FloatArray:
    """Equal but for a hair, so that of answers with as many votes that of the first member counts."""
    return np.asarray(1.0 - 1e-6 * np.arange(seats), dtype=float)
