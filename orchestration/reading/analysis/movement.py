"""Movement: who changed which score, when, and what lay before them when they did."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from itertools import pairwise
from typing import NamedTuple, TypeVar

from ....rubrics.ballot import Vote
from ....rubrics.scale import Value
from ...transcript import Purpose, Transcript

UNDER_ORDERS = ("challenge", "argument")
"""The purposes for which a juror is told which way to argue."""
_AFRESH = ("blind", "repeat")
"""The purposes for which it is asked as if it had not been asked before: another score is then no change of mind."""


class Step(NamedTuple):
    """One vote in a juror's path on an attribute."""

    entry: str
    at: int
    """The transcript's serial step."""
    round: int
    purpose: Purpose
    vote: Vote
    saw: tuple[str, ...]


class Move(NamedTuple):
    """A juror's change of one score, between two of its ballots."""

    juror: str
    attribute: str
    before: Value
    after: Value
    at: int
    """The transcript's serial step."""
    round: int
    entry: str
    """The ballot that gave the new score."""
    prior: str
    """The ballot that gave the old one."""
    saw: tuple[str, ...]
    under_orders: bool
    """Whether the juror had been told which way to argue; such a move is nobody's influence."""


Found = TypeVar("Found")


def of_latest(analysis: Callable[[Transcript], Found]) -> Callable[[Transcript], Found]:
    """The analysis, which remembers its answer for the transcript it was last given: the others of one deliberation build on it."""
    latest: tuple[Transcript, Found] | None = None

    @wraps(analysis)
    def remembering(transcript: Transcript) -> Found:
        nonlocal latest
        known = latest
        if known is None or known[0] is not transcript:
            known = latest = (transcript, analysis(transcript))
        return known[1]

    return remembering


Paths = Mapping[str, Mapping[str, tuple[Step, ...]]]
"""Each attribute's votes by juror, in the order they were cast."""


@of_latest
def paths(transcript: Transcript) -> Paths:
    """The jurors' paths through the deliberation."""
    found: dict[str, dict[str, list[Step]]] = {}
    for entry in transcript.ballots:
        juror, ballot = entry.speaker, entry.ballot
        name, at, number, purpose, saw = entry.id, entry.step, entry.round, entry.purpose, ballot.saw
        for vote in ballot.votes:
            step = Step(name, at, number, purpose, vote, saw)
            found.setdefault(vote.attribute, {}).setdefault(juror, []).append(step)
    return {a: {juror: tuple(steps) for juror, steps in by.items()} for a, by in found.items()}


@of_latest
def moves(transcript: Transcript) -> tuple[Move, ...]:
    """Every change of a score, in the order they were made."""
    made = [
        Move(
            juror,
            attribute,
            before.vote.value,
            after.vote.value,
            after.at,
            after.round,
            after.entry,
            before.entry,
            after.saw,
            after.purpose in UNDER_ORDERS,
        )
        for attribute, by_juror in paths(transcript).items()
        for juror, steps in by_juror.items()
        for before, after in pairwise(steps)
        if before.vote.value != after.vote.value and after.purpose not in _AFRESH
    ]
    return tuple(sorted(made, key=lambda move: move.at))


def distance(one: Value, other: Value) -> float:
    """How far apart two scores are; between words, or a word and a number, 0 or 1."""
    if isinstance(one, str) or isinstance(other, str):
        return float(one != other)
    return abs(one - other)


def standing_before(by_juror: Mapping[str, tuple[Step, ...]], at: int) -> dict[str, Value]:
    """The last score that each juror had given when the serial step `at` began."""
    held: dict[str, Value] = {}
    for juror, steps in by_juror.items():
        for step in steps:
            if step.at < at:
                held[juror] = step.vote.value
    return held


class VotesBefore(NamedTuple):
    """The scores on an attribute that stood when a serial step began."""

    held: Mapping[str, Value]
    """By juror."""
    majority: Value | None
    """The score that more than half of them were, if there was one."""


@of_latest
def votes_before(transcript: Transcript) -> Mapping[tuple[str, int], VotesBefore]:
    """What stood before each vote, by its attribute and serial step."""
    found: dict[tuple[str, int], VotesBefore] = {}
    for attribute, by_juror in paths(transcript).items():
        at_step: dict[int, dict[str, Value]] = {}
        for juror, steps in by_juror.items():
            for step in steps:
                at_step.setdefault(step.at, {})[juror] = step.vote.value
        held: dict[str, Value] = {}
        for at in sorted(at_step):
            found[attribute, at] = VotesBefore(held, majority(held.values()))
            held = held | at_step[at]
    return found


def majority(values: Iterable[Value]) -> Value | None:
    """The score that more than half of the votes gave, if there is one."""
    votes = list(values)
    for value in votes:
        if 2 * votes.count(value) > len(votes):
            return value
    return None
