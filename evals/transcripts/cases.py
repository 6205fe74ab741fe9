"""Cases from an alignment: what was said as the reference, what was heard as the output, the turns before as the source."""

from __future__ import annotations

from typing import Any

from .alignment import Alignment, spoken_words

TURNS_BEFORE = 3
"""Turns of the talk that a case shows before what was said."""
NOTHING = "(nothing was heard)"
"""The output of an utterance that was missed: a jury must read something. `missed` tells metrics that it is empty."""


def alignment_cases(
    alignment: Alignment, *, differing: bool = False, before: int = TURNS_BEFORE
) -> list[dict[str, Any]]:
    """One row a group, and one for each missed utterance, in the order in which they were said.

    An alignment that its aligner abstained from has no cases.

    Args:
        differing: Leave out what was heard word for word.
    """
    if alignment.abstention is not None:
        return []
    rows: list[tuple[tuple[int, ...], dict[str, Any]]] = []
    for group in alignment.groups:
        said, heard = alignment.said_text(group), alignment.heard_text(group)
        same = spoken_words(said) == spoken_words(heard)
        if not (differing and same):
            rows.append((group.said, _case(alignment, group.said, said, heard, before)))
    for place in alignment.missed:
        rows.append(((place,), _case(alignment, (place,), alignment.said[place].text, "", before)))
    return [row for _, row in sorted(rows, key=lambda each: each[0])]


def _case(alignment: Alignment, said: tuple[int, ...], text: str, heard: str, before: int) -> dict[str, Any]:
    first = alignment.places[said[0]] if alignment.places else said[0]
    turns = alignment.turns or alignment.said
    context = "\n".join(
        f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text
        for turn in turns[max(0, first - before) : first]
    )
    return {
        "id": f"{alignment.name}-{'+'.join(map(str, said))}",
        "reference": text,
        "output": heard or NOTHING,
        **({"source": context} if context else {}),
        "group": alignment.name,
        "missed": not heard,
    }
