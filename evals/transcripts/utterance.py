"""Utterances: what one speaker said in one go, or what a recogniser made of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, field_validator


class Utterance(BaseModel):
    """A stretch of speech as text. Only the text is required."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    id: str = ""
    speaker: str = ""
    start: float | None = None
    """Seconds; from the talk's beginning or any other moment, as long as it is one for the file."""
    end: float | None = None
    text: str = ""
    confidence: float | None = None

    @field_validator("start", "end", "confidence")
    @classmethod
    def _is_finite(cls, value: float | None) -> float | None:
        return None if value is None or not math.isfinite(value) else value


@dataclass(frozen=True, slots=True)
class Talk:
    """One side of a recording: its utterances in order."""

    name: str
    utterances: tuple[Utterance, ...]
    speaker: str | None = None
    """The speaker whose utterances are meant, where the format says so; the others are context."""

    @property
    def speakers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.speaker for each in self.utterances if each.speaker))

    def places(self, speaker: str | None) -> tuple[int, ...]:
        """The places of one speaker's utterances; of all, where none is named or the file names nobody."""
        if speaker is None or not self.speakers:
            return tuple(range(len(self.utterances)))
        wanted = speaker.casefold()
        return tuple(n for n, each in enumerate(self.utterances) if each.speaker.casefold() == wanted)
