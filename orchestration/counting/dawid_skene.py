"""`dawid-skene`: each juror's habits of error and the likeliest answers, learned together over the run.

Dawid, A. P. & Skene, A. M. Maximum likelihood estimation of observer error-rates using the EM algorithm.
Journal of the Royal Statistical Society C 28, 20-28 (1979).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...rubrics.errors import VenireError
from ...rubrics.scale import Value
from .averages import majority_preference
from .rule import Count, Counted, Rule, Tally, too_few

ITERATIONS = 200
TOLERANCE = 1e-6
SMOOTHING = 0.01
"""Added to every cell of an error table: an error never seen is unlikely, not impossible."""

_Shares = tuple[float, ...]
"""One number for each answer of the scale."""
_Votes = Sequence[tuple[str, int]]
"""Each juror and the place of its answer on the scale."""


@dataclass(frozen=True, slots=True)
class Learned:
    """What is learned of one attribute, in logarithms."""

    answers: tuple[Value, ...]
    priors: _Shares
    """How common each answer is."""
    errors: Mapping[str, tuple[_Shares, ...]]
    """By juror: for each answer it may give, how likely it is under each true answer."""

    def beliefs(self, votes: _Votes) -> _Shares:
        """The probability of each answer, given the votes. The expectation step."""
        rows = [self.errors[juror][given] for juror, given in votes if juror in self.errors]
        logs = [math.fsum(column) for column in zip(self.priors, *rows, strict=True)]
        # Shifted by the largest, so that products of many small numbers do not vanish.
        largest = max(logs)
        weights = [math.exp(log - largest) for log in logs]
        total = math.fsum(weights)
        return tuple(weight / total for weight in weights)


def fit(run: Sequence[Tally]) -> Count:
    """The likeliest answer; of two equally likely the lower on the scale, of two preferences the nearer to a tie.

    Each attribute is learned on its own, answers taken as unordered categories. It starts from the majority: the share
    of each answer among a case's votes. Nothing is drawn by chance, and the order of cases and jurors is theirs by
    name, so that the same ballots give the same result to the last digit.
    """
    by_attribute: dict[str, list[Tally]] = defaultdict(list)
    for tally in sorted(run, key=lambda tally: tally.case):
        if tally.votes:
            by_attribute[tally.attribute].append(tally)
    learned = {name: learn(tallies) for name, tallies in by_attribute.items()}

    def count(tally: Tally) -> Counted:
        if hung := too_few(tally):
            return hung
        model = learned[tally.attribute]
        beliefs = model.beliefs(_vote_indices(tally, model.answers))
        likeliest = max(round(belief, 9) for belief in beliefs)
        best = [
            answer
            for answer, belief in zip(model.answers, beliefs, strict=True)
            if round(belief, 9) == likeliest
        ]
        return Counted(majority_preference(best) if tally.compares else best[0], "dawid-skene")

    return count


def learn(tallies: Sequence[Tally]) -> Learned:
    """Priors and errors at which expectation and maximisation no longer change each other."""
    answers = tallies[0].scale.values
    if not answers:
        raise VenireError(
            f"{tallies[0].attribute!r} takes any number, but dawid-skene needs a fixed set of answers",
            remedy="count by median or weighted",
        )
    cases = [_vote_indices(tally, answers) for tally in tallies]
    beliefs = [_majority(votes, len(answers)) for votes in cases]
    for _ in range(ITERATIONS):
        model = _maximise(cases, beliefs, answers)
        before, beliefs = beliefs, [model.beliefs(votes) for votes in cases]
        if _furthest(before, beliefs) < TOLERANCE:
            break
    return model


def _vote_indices(tally: Tally, answers: tuple[Value, ...]) -> _Votes:
    return [(juror, answers.index(vote)) for juror, vote in tally.votes.items()]


def _majority(votes: _Votes, size: int) -> _Shares:
    given = [answer for _, answer in votes]
    return tuple(given.count(answer) / len(given) for answer in range(size))


def _furthest(before: Sequence[_Shares], after: Sequence[_Shares]) -> float:
    pairs = zip(before, after, strict=True)
    return max(abs(a - b) for old, new in pairs for a, b in zip(old, new, strict=True))


def _maximise(cases: Sequence[_Votes], beliefs: Sequence[_Shares], answers: tuple[Value, ...]) -> Learned:
    """The priors and errors that `beliefs` make likeliest. The maximisation step."""
    size = len(answers)
    totals = [SMOOTHING + math.fsum(column) for column in zip(*beliefs, strict=True)]
    seen: dict[str, list[list[float]]] = {}
    for votes, belief in zip(cases, beliefs, strict=True):
        for juror, given in votes:
            table = seen.setdefault(juror, [[SMOOTHING] * size for _ in answers])
            table[given] = [cell + share for cell, share in zip(table[given], belief, strict=True)]
    errors = {}
    for juror, table in seen.items():
        under = [math.fsum(column) for column in zip(*table, strict=True)]
        errors[juror] = tuple(
            tuple(math.log(cell / total) for cell, total in zip(row, under, strict=True)) for row in table
        )
    everything = math.fsum(totals)
    return Learned(answers, tuple(math.log(total / everything) for total in totals), errors)


dawid_skene = Rule(
    "the likeliest answer, given how often each juror errs; answers and error rates are estimated together from the whole run",
    fit=fit,
)
