"""Coverage: how much of what the notes say is carried by the output."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .words import LensReading, count_of, first_quotes, split_sentences, stems, vocabulary

CARRIED = 0.5
"""A statement counts as carried when at least this share of its content words is in the output.

A summary of half the length (see `length`) can keep half the words of every statement, so no further
allowance is due.
"""


def coverage(source: Sequence[str], output: str) -> LensReading | None:
    """The share of the notes' statements that the output carries."""
    told = [sentence for note in source for sentence in split_sentences(note)]
    missing = left_out(told, output)
    if not told or missing is None:
        return None
    kept = len(told) - len(missing)
    return LensReading(
        merit=kept / len(told),
        rationale=f"The output shares at least half of the content words of {kept} of the "
        f"{count_of(len(told), 'statement')} in the notes; those quoted are not among them.",
        quotes=first_quotes(missing),
    )


def left_out(statements: Iterable[str], output: str) -> list[str] | None:
    """The statements that `output` does not carry; None if no statement has a content word."""
    said = vocabulary([output])
    lost: list[str] = []
    readable = False
    for statement in statements:
        wanted = set(stems(statement))
        readable = readable or bool(wanted)
        if wanted and len(wanted & said) < CARRIED * len(wanted):
            lost.append(statement)
    return lost if readable else None
