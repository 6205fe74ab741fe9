"""The scores of a run by arm, system and attribute: how often each was given, their mean, what was hung or abstained."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ...rubrics.rubric import Rubric
from ...rubrics.scale import Value
from ..record import Arm
from ..transcript import Abstained, Cast
from ..verdict import Verdict

REACHED, HUNG, NOT_APPLICABLE, ABSTAINED = "reached", "hung", "not_applicable", "abstained"
Key = tuple[str, str, str, str]
"""Arm, system, attribute, and what is counted: a score as JSON, or one of the words above."""
BARS = " ▁▂▃▄▅▆▇█"


class ScoreSummary(NamedTuple):
    """What one arm gave one attribute (or composite) of one system's outputs, or of all."""

    arm: str
    system: str
    """Empty for all systems together."""
    attribute: str
    counts: tuple[tuple[Value, int], ...]
    """Every value of the scale with how often it was given; nothing for a composite."""
    n: int
    mean: float | None
    hung: int
    not_applicable: int
    abstained: int
    """Ballots, or parts of them, that were not cast."""


class ScoreCounts:
    """Sums over deliberations; they can be stored and added to."""

    def __init__(self, sums: Mapping[Key, tuple[int, float]] | None = None) -> None:
        self.sums: dict[Key, tuple[int, float]] = dict(sums or {})

    def add(self, arm: str, system: str | None, verdict: Verdict) -> None:
        for attribute, what, times, total in score_sums(verdict):
            key = (arm, system or "", attribute, what)
            before = self.sums.get(key, (0, 0.0))
            self.sums[key] = (before[0] + times, before[1] + total)

    def systems(self) -> list[str]:
        """The systems that are named, in order."""
        return sorted({system for _, system, _, _ in self.sums if system})

    def summaries(self, arm: Arm, *, system: str | None = None) -> list[ScoreSummary]:
        """The arm's attributes in the rubric's order, then what is derived from them; of one system, or of all."""
        rubric = arm.rubric
        names = [*rubric.names, *rubric.reversed_names, *rubric.composites]
        mine: dict[tuple[str, str], tuple[int, float]] = {}
        for (name, of, attribute, what), (times, total) in self.sums.items():
            if name == arm.name and system in (None, of):
                before = mine.get((attribute, what), (0, 0.0))
                mine[attribute, what] = (before[0] + times, before[1] + total)
        met = {attribute for attribute, _ in mine}
        return [_summary(arm.name, system or "", name, rubric, mine) for name in names if name in met]


def score_sums(verdict: Verdict) -> Iterator[tuple[str, str, int, float]]:
    """Attribute, what is counted, how often and its sum, for one deliberation."""
    for attribute, outcome in verdict.outcomes.items():
        if outcome.value is None or outcome.status != "reached":
            yield attribute, outcome.status, 1, 0.0
            continue
        yield attribute, as_json(outcome.value), 1, 0.0
        yield attribute, REACHED, 1, 0.0 if isinstance(outcome.value, str) else float(outcome.value)
    for name, value in verdict.derived.items():
        yield name, REACHED, 1, value
    for entry in verdict.transcript.entries:
        match entry:
            case Abstained():
                yield from ((attribute, ABSTAINED, 1, 0.0) for attribute in verdict.outcomes)
            case Cast():
                yield from ((part.attribute, ABSTAINED, 1, 0.0) for part in entry.ballot.abstained)


@lru_cache(maxsize=4096, typed=True)
def as_json(value: Value) -> str:
    """A score as JSON; there are few, and they are asked for often."""
    return json.dumps(value)


def histogram(counts: Sequence[tuple[Value, int]]) -> str:
    """The counts as bars of eight heights, one a value; what was never given is blank."""
    most = max((times for _, times in counts), default=0)
    return "".join(BARS[-(-8 * times // most)] if most else " " for _, times in counts)


def _summary(
    arm: str, system: str, name: str, rubric: Rubric, mine: Mapping[tuple[str, str], tuple[int, float]]
) -> ScoreSummary:
    def times(what: str) -> int:
        return mine.get((name, what), (0, 0.0))[0]

    asked = rubric.by_name.get(name)
    counts: tuple[tuple[Value, int], ...] = ()
    numeric = True
    if asked is not None:
        scale = rubric.scale_of(name)
        numeric = scale.numeric
        given = {json.loads(what): count for (attribute, what), (count, _) in mine.items()
                 if attribute == name and what not in (REACHED, HUNG, NOT_APPLICABLE, ABSTAINED)}  # fmt: skip
        values = list(scale.values) or sorted(given, key=str)
        between = [value for value in given if value not in values]
        shown = sorted([*values, *between], key=float) if numeric and between else values
        counts = tuple((value, given.get(value, 0)) for value in shown)
    n, total = mine.get((name, REACHED), (0, 0.0))
    mean = total / n if n and numeric else None
    return ScoreSummary(
        arm, system, name, counts, n, mean, times(HUNG), times(NOT_APPLICABLE), times(ABSTAINED)
    )
