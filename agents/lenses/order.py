"""Order: whether the dates of the output run forwards."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from itertools import pairwise

from .numbers import LONGEST_MONTH, Date, dates
from .words import LensReading, count_of, first_quotes, split_sentences

_YEAR = 12 * LONGEST_MONTH


def order(source: Sequence[str], output: str) -> LensReading | None:
    """How far the dates of the output rise as it is read.

    Kendall's tau of date against place in the text, without its negative half: dates in random order have no
    merit, nor have dates told backwards. The notes tell at which month the story starts, so that January may
    follow December. None with fewer than two different dates.
    """
    told = [(sentence, date) for sentence in split_sentences(output) for date in dates(sentence)]
    noted = [date for note in source for date in dates(note)]
    start = _first_day([*noted, *(date for _, date in told)])
    days = [(_day(date) - start) % _YEAR for _, date in told]
    backwards, pairs = inversions(days)
    if not pairs:
        return None
    return LensReading(
        merit=max(0.0, 1.0 - 2.0 * backwards / pairs),
        rationale=f"Of {count_of(pairs, 'pair')} of different dates in the output, {backwards or 'none'} "
        f"{'has' if backwards == 1 else 'have'} the later date first.",
        quotes=first_quotes(
            sentence
            for (sentence, _), (before, day) in zip(told[1:], pairwise(days), strict=True)
            if day < before
        ),
    )


def inversions(places: Sequence[int]) -> tuple[int, int]:
    """How many pairs of unequal places fall, and how many such pairs there are."""
    seen: list[int] = []
    counts: dict[int, int] = {}
    falling, pairs = 0, 0
    for place in places:
        falling += len(seen) - bisect_right(seen, place)
        pairs += len(seen) - counts.get(place, 0)
        counts[place] = counts.get(place, 0) + 1
        insort(seen, place)
    return falling, pairs


def _first_day(told: Sequence[Date]) -> int:
    """The day after the longest stretch of the year without a date: where the story begins."""
    days = sorted({_day(date) for date in told})
    if not days:
        return 0
    gaps = [(days[0] + _YEAR - days[-1], days[0])]
    gaps += [(later - earlier, later) for earlier, later in pairwise(days)]
    return max(gaps)[1]


def _day(date: Date) -> int:
    return (date.month - 1) * LONGEST_MONTH + date.day
