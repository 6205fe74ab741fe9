"""Numbers: doses, results and dates of the output that the notes do not give."""

from __future__ import annotations

from collections.abc import Sequence

from .figures import NumberInText, figures
from .reading import LensReading, count_of, first_quotes, merit_after


def numbers(source: Sequence[str], output: str) -> LensReading | None:
    """How free the output is of numbers that no note has, or has only with another unit.

    Says nothing of a number that stands in the notes but beside another thing, and does not convert units.
    """
    stated = list(figures(output))
    if not stated or not any(note.strip() for note in source):
        return None
    given = {(figure.value, figure.unit) for note in source for figure in figures(note)}
    values = {value for value, _ in given}
    absent = list(dict.fromkeys(figure.text for figure in stated if not _given(figure, given, values)))
    return LensReading(
        merit=merit_after(len(absent)),
        rationale=f"Of {count_of(len(stated), 'number')} in the output, {len(absent) or 'none'} cannot be "
        "found in the notes with the same unit.",
        quotes=first_quotes(absent),
    )


def _given(figure: NumberInText, given: set[tuple[str, str]], values: set[str]) -> bool:
    if not figure.unit:
        return figure.value in values
    return (figure.value, figure.unit) in given or (figure.value, "") in given
