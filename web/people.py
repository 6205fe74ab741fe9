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
        self._by_case: dict[str, dict[str, dict[str, float | str]]] = {}
        rounds: dict[tuple[str, str, str], int] = {}
        for rating in ratings:
            key = (rating.case, rating.attribute, rating.rater)
            if rating.value is None or (rating.round or 0) < rounds.get(key, 0):
                continue
            rounds[key] = rating.round or 0
            mine = self._by_case.setdefault(rating.case, {}).setdefault(rating.attribute, {})
            mine[rating.rater] = rating.value

    @property
    def cases(self) -> list[str]:
        """The cases that somebody rated."""
        return list(self._by_case)

    def of(self, case: str) -> Mapping[str, Numbers]:
        """By attribute, what each person gave the case."""
        return self._by_case.get(case, {})

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
