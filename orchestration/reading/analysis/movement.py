"""Movement: who changed which score and when, towards whom, on what grounds, and how far apart the jury stood after each round."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from itertools import pairwise
from typing import NamedTuple, TypeVar

from ....rubrics.ballot import Vote, find_quote, fold_quote
from ....rubrics.case import Exhibit
from ....rubrics.scale import Value
from ...counting import median, mode
from ...stopping import settled, spread
from ...transcript import Purpose, Transcript

UNDER_ORDERS = ("challenge", "argument")
"""The purposes for which a juror is told which way to argue."""
_AFRESH = ("blind", "repeat")
"""The purposes for which it is asked as if it had not been asked before: another score is then no change of mind."""
Found = TypeVar("Found")


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


class Influence(NamedTuple):
    """A move that brought a juror nearer to someone whose ballot it had just read."""

    move: Move
    source: str
    """The juror it moved towards."""
    seen: str
    """The ballot of that juror which it had read."""
    credit: float
    """This source's share in the move: one, divided by all whom the move brought nearer."""
    grounds: tuple[str, ...]
    """The evidence that was new to the mover: quotes that stand in the case, its own or named from what it had read."""


@of_latest
def influence(transcript: Transcript) -> tuple[Influence, ...]:
    """Each move with each juror it may be owed to. A move that was ordered is owed to nobody.

    It shows what a juror had read and which way it went, not what went on in its mind.
    """
    walked = paths(transcript)
    found: list[Influence] = []
    for move in moves(transcript):
        if move.under_orders or not move.saw:
            continue
        by_juror, before, after = walked[move.attribute], move.before, move.after
        saw = frozenset(move.saw)
        seen = [
            (juror, step)
            for juror, steps in by_juror.items()
            if juror != move.juror
            for step in steps
            if step.entry in saw
        ]
        drawn: dict[str, str] = {}
        for juror, step in seen:
            value = step.vote.value
            if distance(after, value) < distance(before, value):
                drawn[juror] = step.entry
        shown = _grounds(move, by_juror[move.juror], [step for _, step in seen]) if drawn else ()
        found += [Influence(move, source, entry, 1 / len(drawn), shown) for source, entry in drawn.items()]
    return tuple(found)


def _grounds(move: Move, own: Sequence[Step], seen: Sequence[Step]) -> tuple[str, ...]:
    """The quotes behind a move that stand in the case and that the mover had not cited on the attribute before.

    They may be its own, or another's that it names in its reasons.
    """
    read = [quote.text for step in seen for quote in step.vote.evidence if quote.found]
    vote = next(step.vote for step in own if step.entry == move.entry)
    cited = [quote.text for quote in vote.evidence if quote.found]
    if read:
        words = (Exhibit(name="words", text=f"{vote.moved_by}\n{vote.rationale}"),)
        cited += [text for text in read if find_quote(text, words).found]
    if not cited:
        return ()
    known = {fold_quote(quote.text) for step in own if step.at < move.at for quote in step.vote.evidence}
    return tuple(dict.fromkeys(text for text in cited if fold_quote(text) not in known))


def conformity(transcript: Transcript, among: Sequence[Influence] | None = None) -> tuple[Influence, ...]:
    """The moves to a score that most jurors already held, made without evidence that was new to the mover.

    The majority is of all votes that stood before the move, the mover's own included: between two jurors there
    is none, so one who gives way to the other is persuaded, well or badly, but does not conform. One entry for
    each move; its source is the first of the majority whom the mover had read. `among` saves the work of finding
    the transcript's influences again.
    """
    before = votes_before(transcript)
    found: dict[tuple[str, str], Influence] = {}
    for drawn in influence(transcript) if among is None else among:
        move = drawn.move
        if not drawn.grounds and before[move.attribute, move.at].majority == move.after:
            found.setdefault((move.entry, move.attribute), drawn)
    return tuple(found.values())


def chances(transcript: Transcript) -> dict[str, int]:
    """How often each juror was asked again while most of the others stood together against it."""
    counted: dict[str, int] = {}
    before = votes_before(transcript)
    for attribute, by_juror in paths(transcript).items():
        for juror, steps in by_juror.items():
            for step in steps:
                if step.purpose == "revision":
                    held, most = before[attribute, step.at]
                    if most is not None and held.get(juror, most) != most:
                        counted[juror] = counted.get(juror, 0) + 1
    return counted


class Point(NamedTuple):
    """The standing votes on one attribute at the end of one round."""

    round: int
    values: Mapping[str, Value]
    """By juror."""

    @property
    def spread(self) -> float | None:
        """From the lowest vote to the highest; None among words."""
        return spread(self.values.values())

    @property
    def agreement(self) -> float:
        """The share of the votes that gave the commonest score."""
        votes = list(self.values.values())
        return max(votes.count(value) for value in votes) / len(votes) if votes else 0.0


class TurningPoint(NamedTuple):
    """A step after which the jury's middle (among words, its commonest answer) was another one, or it had settled."""

    attribute: str
    round: int
    step: int
    before: Value
    after: Value
    settled: bool
    moves: tuple[Move, ...]


def convergence(transcript: Transcript) -> Mapping[str, tuple[Point, ...]]:
    """Each attribute's standing votes round by round; a round in which it was not asked about repeats the last."""
    rounds = range(1, transcript.rounds + 1)
    return {attribute: tuple(_points(by_juror, rounds)) for attribute, by_juror in paths(transcript).items()}


def turning_points(transcript: Transcript) -> tuple[TurningPoint, ...]:
    """The steps that moved the jury as a whole, not only one of its members."""
    walked = paths(transcript)
    made: dict[tuple[int, str], list[Move]] = {}
    for move in moves(transcript):
        made.setdefault((move.at, move.attribute), []).append(move)
    found: list[TurningPoint] = []
    for (at, attribute), moved in made.items():
        before = list(standing_before(walked[attribute], at).values())
        after = list(standing_before(walked[attribute], at + 1).values())
        closed = settled(after, 0) and not settled(before, 0)
        if closed or _middle(before) != _middle(after):
            turn = (attribute, moved[0].round, at, _middle(before), _middle(after), closed, tuple(moved))
            found.append(TurningPoint(*turn))
    return tuple(found)


def _points(by_juror: Mapping[str, tuple[Step, ...]], rounds: Iterable[int]) -> Iterator[Point]:
    cast: dict[int, dict[str, Value]] = {}
    for juror, steps in by_juror.items():
        for step in steps:
            cast.setdefault(step.round, {})[juror] = step.vote.value
    values: dict[str, Value] = {}
    for number in rounds:
        values = values | cast.get(number, {})
        yield Point(number, values)


def _middle(values: list[Value]) -> Value:
    if any(isinstance(value, str) for value in values):
        return mode(values)
    return median([float(value) for value in values])
