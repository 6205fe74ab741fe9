"""Votes side by side with people's values, and how arms made of them score under an objective."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..ratings.folds import Rows
from ..statistics.matrix import FloatArray, IntArray
from .objectives import AnswerScale, Objective


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


def equal_weights(members: Sequence[int], voters: int) -> FloatArray:
    """Equal weights of those who sit, nothing for the others."""
    weights = np.zeros(voters)
    weights[list(members)] = seat_weights(len(members))
    return weights / weights.sum()


def seat_weights(seats: int) -> FloatArray:
    """Equal but for a hair, so that of answers with as many votes that of the first member counts."""
    return np.asarray(1.0 - 1e-6 * np.arange(seats), dtype=float)
