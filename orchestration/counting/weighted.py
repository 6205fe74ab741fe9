"""`weighted`: jurors count by their reliability, given in the jury file or estimated over the run."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence

from .averages import majority_preference, mode
from .rule import Count, Counted, Rule, Tally, plain, too_few


def fit(run: Sequence[Tally]) -> Count:
    """The mean weighted by reliability; of words, and of preferences between two outputs, the answer with the most weight.

    Weights are those in the jury file, a seat that it leaves out weighing 1. Without any they are estimated:
    see `reliability`.
    """
    given = next((tally.jury.weights for tally in run if tally.jury.weights), None)
    weights = given or reliability(run)

    def count(tally: Tally) -> Counted:
        if hung := too_few(tally):
            return hung
        weighed = {name: weights.get(name.partition("#")[0], 1.0) for name in tally.votes}
        total = math.fsum(weighed.values())
        if not total:
            return Counted(None, "none", "every juror who voted has the weight 0")
        votes = list(tally.votes.values())
        if tally.scale.ordered and not tally.compares:
            value = math.fsum(weighed[name] * float(vote) for name, vote in tally.votes.items()) / total
            return Counted(plain(votes, value), "weighted")
        shares = {vote: math.fsum(w for n, w in weighed.items() if tally.votes[n] == vote) for vote in votes}
        heaviest = [vote for vote in votes if math.isclose(shares[vote], max(shares.values()))]
        if tally.compares:
            return Counted(majority_preference(sorted(set(heaviest))), "weighted")
        return Counted(mode(heaviest), "weighted")

    return count


def reliability(run: Sequence[Tally]) -> Mapping[str, float]:
    """Each juror's agreement with the others, over every case and attribute it shares with one of them.

    Leave-one-out: on each tally 1 less the distance between its vote and the mean of the others' votes, as a part of
    the scale's length; among words, the share of the others who gave the same. The reliability is the mean of these,
    so it lies between 0 and 1; it knows agreement, not truth.
    """
    agreements: dict[str, list[float]] = defaultdict(list)
    for tally in run:
        for name, vote in tally.votes.items():
            others = [other for juror, other in tally.votes.items() if juror != name]
            if not others:
                continue
            if tally.scale.ordered:
                low, high = (float(end) for end in tally.scale.ends)
                apart = abs(float(vote) - statistics.fmean(map(float, others))) / (high - low)
                agreements[name.partition("#")[0]].append(1 - apart)
            else:
                agreements[name.partition("#")[0]].append(others.count(vote) / len(others))
    return {name: statistics.fmean(found) for name, found in agreements.items()}


weighted = Rule(
    "the votes weighted by each juror's reliability, which the jury file states or which is the agreement with the other jurors",
    fit=fit,
)
