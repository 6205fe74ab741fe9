"""Where a deliberation ends: the limits of a jury file, and further reasons to stop before them."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Limits(BaseModel):
    """Where a deliberation ends, whatever has been reached. Each means what it says."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_rounds: int | None = Field(default=3, ge=1)
    max_turns: int | None = Field(default=None, ge=1)
    """The exact number of juror turns."""
    max_stalls: int | None = Field(default=1, ge=0)
    """Consecutive rounds without movement or new evidence before it stops."""
    max_replans: int | None = Field(default=1, ge=0)
    max_tokens: int | None = Field(default=None, ge=1)
    max_usd: float | None = Field(default=None, gt=0)
    max_seconds: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _ends(self) -> Self:
        # Jurors may go back and forth for ever, and a free model never spends a token or a dollar.
        if self.max_rounds is None and self.max_turns is None and self.max_seconds is None:
            raise ValueError(
                "nothing is sure to end the deliberation\nset max_rounds, max_turns or max_seconds"
            )
        return self


class EarlyStop(BaseModel):
    """Further reasons to stop before a limit does: that going on would change nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    stable_rounds: int | None = Field(default=None, ge=1)
    """Stop when no vote changed in this many rounds in a row, even if new evidence was quoted."""
    ks: float | None = Field(default=None, gt=0, le=1)
    """Stop when the votes of two rounds in a row are distributed alike: their Kolmogorov-Smirnov statistic, on
    the attribute where it is largest, lies below this. 0.1 is strict."""
