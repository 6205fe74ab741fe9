"""Counting rules: one function each, from the votes on an attribute to a value."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence

from ..rubrics.scale import Value


def mean(votes: Sequence[float]) -> float:
    """The mean, not rounded, so that the jurors' disagreement stays visible in it."""
    return statistics.fmean(votes)


def median(votes: Sequence[float]) -> float:
    """The middle vote; of an even number, the mean of the two in the middle."""
    return statistics.median(votes)


def trimmed(votes: Sequence[float]) -> float:
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
