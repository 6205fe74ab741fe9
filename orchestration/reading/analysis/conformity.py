"""Conformity: going over to the majority with nothing new in hand."""

from __future__ import annotations

from collections.abc import Sequence

from ...transcript import Transcript
from .influence import Influence, influence
from .movement import paths, votes_before


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
