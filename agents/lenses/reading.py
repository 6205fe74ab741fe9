"""What a lens saw in one text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

QUOTES = 4
"""Quotes kept in one reading: enough to see the fault, short enough to read."""

QUOTE_LENGTH = 240


@dataclass(frozen=True, slots=True)
class LensReading:
    """How free of one kind of fault a text is, what was counted, and where."""

    merit: float
    """From 0 to 1; 1 is no fault seen, which is not the same as no fault."""
    rationale: str
    quotes: tuple[str, ...] = ()
    """Verbatim stretches of the output or of a source note."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.merit <= 1.0:
            raise ValueError(f"merit {self.merit!r} is outside 0 to 1")


Reads = Callable[[Sequence[str], str], LensReading | None]
"""Source notes and output in, a reading out; None where there is nothing to examine."""


def merit_after(faults: int) -> float:
    """Merit after `faults` faults, where each one halves the trust that is left.

    For faults of which one is enough to matter, however long the text around it.
    """
    return 0.5**faults


def first_quotes(stretches: Iterable[str]) -> tuple[str, ...]:
    """The first few distinct stretches, cut to a readable length; a cut one is still verbatim."""
    kept = dict.fromkeys(stretch[:QUOTE_LENGTH].strip() for stretch in stretches)
    return tuple(quote for quote in kept if quote)[:QUOTES]


def count_of(number: int, singular: str, plural: str = "") -> str:
    """'1 date', '2 dates', 'no dates'."""
    noun = singular if number == 1 else plural or f"{singular}s"
    return f"{number or 'no'} {noun}"
