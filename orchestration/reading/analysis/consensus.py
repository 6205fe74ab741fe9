"""Premature consensus: everyone gave the same end of the scale at once, and nothing tested it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from ....rubrics.rubric import Rubric
from ....rubrics.scale import Value
from ...transcript import Transcript
from .movement import Step, paths

Test = Literal["unchallenged", "empty challenge", "brushed aside", "held", "overturned"]


_NO_FIRST = ("repeat", "argument", "verification")
"""Votes that say nothing of a jury's first agreement: a judge's repeats, an advocate's brief, and shares that code counts."""


class InstantAgreement(NamedTuple):
    """An instant unanimous score at the end of a graded scale, and what became of it."""

    attribute: str
    value: Value
    jurors: tuple[str, ...]
    entries: tuple[str, ...]
    test: Test
    """`unchallenged`: nobody argued against it. `empty challenge`: someone was told to, and showed nothing in the
    case. `brushed aside`: someone showed something, and nobody who kept the score showed anything new.
    `held`: it was defended with new evidence. `overturned`: it did not last."""
    quoted: int
    """How many of the agreeing jurors quoted words that stand in the case."""
    misquoted: int
    """How many quoted words that do not."""

    @property
    def premature(self) -> bool:
        return self.test in ("unchallenged", "empty challenge", "brushed aside")


def instant_agreements(transcript: Transcript, rubric: Rubric) -> tuple[InstantAgreement, ...]:
    """The attributes on which the first vote of every juror was the same end of the scale, two jurors or more.

    A scale of two values is all ends, so agreement on it is not extreme; repeats of one judge are not a jury.
    """
    found: list[InstantAgreement] = []
    for attribute, by_juror in paths(transcript).items():
        asked = {juror: [s for s in steps if s.purpose not in _NO_FIRST] for juror, steps in by_juror.items()}
        first = {juror: steps[0] for juror, steps in asked.items() if steps}
        values = {step.vote.value for step in first.values()}
        if attribute not in rubric.by_name or len(first) < 2 or len(values) != 1:
            continue
        scale = rubric.scale_of(attribute)
        value = values.pop()
        if not scale.ordered or len(scale.values) == 2 or value not in scale.ends:
            continue
        quotes = [step.vote.evidence for step in first.values()]
        found.append(
            InstantAgreement(
                attribute,
                value,
                tuple(first),
                tuple(step.entry for step in first.values()),
                _test(by_juror, value),
                sum(any(q.found for q in cited) for cited in quotes),
                sum(any(not q.found for q in cited) for cited in quotes),
            )
        )
    return tuple(found)


def _test(by_juror: Mapping[str, tuple[Step, ...]], value: Value) -> Test:
    if any(steps[-1].vote.value != value for steps in by_juror.values()):
        return "overturned"
    challenges = [step for steps in by_juror.values() for step in steps if step.purpose == "challenge"]
    later = [step for steps in by_juror.values() for step in steps[1:]]
    argued = [*challenges, *(step for step in later if step.vote.value != value)]
    if not argued:
        return "unchallenged"
    before = {q.text.casefold() for steps in by_juror.values() for q in steps[0].vote.evidence if q.found}
    against = _quotes_found(argued) - before
    if not against:
        return "empty challenge"
    answered = _quotes_found([step for step in later if step not in argued]) - before - against
    return "held" if answered else "brushed aside"


def _quotes_found(steps: list[Step]) -> set[str]:
    return {quote.text.casefold() for step in steps for quote in step.vote.evidence if quote.found}
