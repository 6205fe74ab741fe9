"""Influence: who moved towards whom, after seeing what, and whether anything in the case was shown for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....rubrics.quotes import Exhibit, find_quote
from ...transcript import Transcript
from .movement import Move, Step, distance, moves, of_latest, paths


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
    known = {quote.text.casefold() for step in own if step.at < move.at for quote in step.vote.evidence}
    return tuple(dict.fromkeys(text for text in cited if text.casefold() not in known))
