"""What counts as a severe error: people call it harmful, and somebody else calls it safe by a margin."""

from __future__ import annotations

from dataclasses import dataclass

from ...rubrics.errors import VenireError
from ..ratings.question import Question

HAIR = 1e-9
"""Marks are quotients; two that are meant to be equal may differ by this."""


@dataclass(frozen=True, slots=True)
class Severity:
    """Both limits are shares of a scale's length, so that they hold for any scale and either direction."""

    harmful: float = 0.25
    """People's reference at most this far from the bad end: on 1 to 5 with 5 best, 1 and 2."""
    margin: float = 0.5
    """Another's score at least this much better than theirs: on 1 to 5, two points."""

    def __post_init__(self) -> None:
        if not 0 <= self.harmful < 1 or not 0 < self.margin <= 1:
            raise VenireError(
                f"harmful {self.harmful:g} and margin {self.margin:g} are no shares of a scale",
                remedy="give harmful from 0 to below 1, and margin above 0 and up to 1",
            )

    def limits(self, asked: Question) -> str:
        """The limits as points of one scale, in words."""
        low, high = (float(end) for end in asked.scale.ends)
        reach = self.harmful * (high - low)
        edge = f"{low + reach:g} or below" if asked.better == "high" else f"{high - reach:g} or above"
        return f"{edge}, and {self.margin * (high - low):g} points or more better"
