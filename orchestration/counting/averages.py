"""Mean, median, mode and trimmed mean: the rules that look at one attribute's votes and nothing else."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Sequence

from ...rubrics.scale import Value
from .rule import Count, Counted, Rule, Tally, plain, too_few


def mean(votes: Sequence[float]) -> float:
    """The mean, not rounded, so that the jurors' disagreement stays visible in it."""
    return statistics.fmean(votes)


def median(votes: Sequence[float]) -> float:
    """The middle vote; of an even number, the mean of the two in the middle."""
    return statistics.median(votes)


def trimmed_mean(votes: Sequence[float]) -> float:
    """The mean without the lowest and the highest vote; with fewer than three votes, the mean."""
    return statistics.fmean(sorted(votes)[1:-1] if len(votes) > 2 else votes)


def mode(votes: Sequence[Value]) -> Value:
    """The commonest vote. A tie goes to the vote nearest the median, and then to the lower one.

    Among words, which have no middle, a tie goes to the first in alphabetical order.
    """
    counted = Counter(votes)
    most = max(counted.values())
    tied = [vote for vote, number in counted.items() if number == most]
    if any(isinstance(vote, str) for vote in votes):
        return min(tied, key=str)
    middle = statistics.median(votes)  # type: ignore[type-var]
    return min(tied, key=lambda vote: (abs(vote - middle), vote))  # type: ignore[operator]


def by(name: str, average: Callable[[Sequence[float]], float]) -> Count:
    """The count by an average of numbers; answers without an order have none, and are counted by mode."""

    def count(tally: Tally) -> Counted:
        if hung := too_few(tally):
            return hung
        votes = list(tally.votes.values())
        if not tally.scale.ordered:
            return Counted(mode(votes), "mode")
        return Counted(plain(votes, average([float(vote) for vote in votes])), name)

    return count


def count_by_median(tally: Tally) -> Counted:
    """The median; a tie between the two values of a binary scale is hung, for it has no middle."""
    votes = list(tally.votes.values())
    if tally.scale.level == "binary" and votes and 2 * votes.count(tally.scale.ends[0]) == len(votes):
        return Counted(None, "none", "the votes are tied, and a scale of two values has no middle")
    return by("median", median)(tally)


def count_by_mode(tally: Tally) -> Counted:
    """The mode; of two outputs that are preferred equally often neither is, whatever their labels."""
    votes = list(tally.votes.values())
    return too_few(tally) or Counted(majority_preference(votes) if tally.compares else mode(votes), "mode")


def majority_preference(votes: Sequence[Value]) -> Value:
    """The commonest preference; where several are as common, the one nearest the median, and a tie between two as near."""
    most = Counter(votes).most_common()
    tied = [float(value) for value, number in most if number == most[0][1]]
    middle = statistics.median(map(float, votes))
    nearest = [value for value in tied if abs(value - middle) == min(abs(each - middle) for each in tied)]
    return int(nearest[0]) if len(nearest) == 1 else 0


mean_rule = Rule("the mean of the votes, not rounded", by("mean", mean))
median_rule = Rule(
    "the median of the votes: the middle vote, or the mean of the two middle votes if the number of votes is even",
    count_by_median,
)
mode_rule = Rule(
    "the commonest vote; if votes are tied, the one nearest the median, and if that is tied too, the lower one",
    count_by_mode,
)
trimmed_rule = Rule(
    "the mean of the votes without the lowest and the highest vote", by("trimmed", trimmed_mean)
)
