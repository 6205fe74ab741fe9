"""Length: whether the output is shorter than what it sums up."""

from __future__ import annotations

from collections.abc import Sequence

from .words import LensReading, stems

SHORT_ENOUGH = 0.5
"""'No longer than half of the original': the definition of a summary in Radev, Hovy & McKeown (2002)."""

NO_SUMMARY = 1.0
"""As long as the notes themselves: nothing has been saved."""


def length(source: Sequence[str], output: str) -> LensReading | None:
    """How far the output compresses the notes: full merit up to half their length, none at all of it.

    Counts content words, since notes drop the function words that a summary in sentences must have.
    """
    told = sum(len(stems(note)) for note in source)
    said = len(stems(output))
    if not told or not said:
        return None
    ratio = said / told
    merit = (NO_SUMMARY - ratio) / (NO_SUMMARY - SHORT_ENOUGH)
    return LensReading(
        merit=min(1.0, max(0.0, merit)),
        rationale=f"The output has {said} content words for {told} in the notes: {ratio:.0%} of their "
        f"length, where up to {SHORT_ENOUGH:.0%} is no fault.",
    )
