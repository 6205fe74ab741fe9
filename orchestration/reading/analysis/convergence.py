"""Convergence: how far apart the jury stood after each round, and the moments at which it turned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ....rubrics.scale import Value
from ...counting import median, mode
from ...stopping import settled, spread
from ...transcript import Transcript
from .movement import Move, Step, moves, paths, standing_before


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
