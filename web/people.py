"""People's ratings beside a run's scores: by case, and where they are furthest apart."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..rubrics.ratings import Rating

Numbers = Mapping[str, float | str]
"""By rater, what each gave."""


class Difference(NamedTuple):
    """An arm's score and the median of people's, of one attribute of one case."""

    case: str
    arm: str
    attribute: str
    score: float
    people: float

    @property
    def apart(self) -> float:
        """How far the arm stands above people."""
        return self.score - self.people


class People:
    """The last ratings of every person, by case and attribute."""

    def __init__(self, ratings: Iterable[Rating]) -> None:
        self._by_case: dict[str, dict[tuple[str, str], Rating]] = {}
        for rating in ratings:
            mine, key = self._by_case.setdefault(rating.case, {}), (rating.attribute, rating.rater)
            before = mine.get(key)
            if rating.value is None or (before and (rating.round or 0) < (before.round or 0)):
                continue
            mine[key] = rating

    @property
    def cases(self) -> list[str]:
        """The cases that somebody rated."""
        return [case for case, given in self._by_case.items() if given]

    def ratings_of(self, case: str) -> tuple[Rating, ...]:
        """What each person said of each attribute of the case, with the reason where one was given."""
        return tuple(self._by_case.get(case, {}).values())

    def of(self, case: str) -> Mapping[str, Numbers]:
        """By attribute, what each person gave the case."""
        found: dict[str, dict[str, float | str]] = {}
        for rating in self.ratings_of(case):
            if rating.value is not None:
                found.setdefault(rating.attribute, {})[rating.rater] = rating.value
        return found

    def median(self, case: str, attribute: str) -> float | None:
        """The median of the people's numbers; None where nobody gave one."""
        given = self.of(case).get(attribute, {})
        numbers = [value for value in given.values() if not isinstance(value, str)]
        return statistics.median(numbers) if numbers else None

    def differences(self, scores: Iterable[tuple[str, str, str, float]]) -> list[Difference]:
        """Every score that people rated too, the furthest from their median first."""
        found = []
        for case, arm, attribute, score in scores:
            middle = self.median(case, attribute)
            if middle is not None:
                found.append(Difference(case, arm, attribute, score, middle))
        return sorted(found, key=lambda each: (-abs(each.apart), each.case, each.arm, each.attribute))
