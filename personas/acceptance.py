"""Which verdicts may stand unseen: the rule that `venire certify` writes and a jury file names."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..rubrics.errors import InvalidFile
from ..rubrics.files import read_json


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AttributeRule(_Part):
    """From which confidence on the verdicts on one attribute may stand unseen, and what that rests on."""

    threshold: float | None
    """None where no verdict on the attribute may."""
    labels: int
    """Labelled verdicts at or above the threshold."""
    errors: int
    """How many of these people did not share."""
    bound: float | None
    """What the error among accepted verdicts is at most, with probability 1 - delta."""


class JudgedBy(_Part):
    """Hashes of what a jury answers by; where a seat's server stands is not among it."""

    rubric: str
    seats: dict[str, str]
    orchestrator: str
    rest: str
    """Protocol, limits, options, counting rule."""
    prompts: str
    adapters: str = ""


class SignalSample(_Part):
    """The labelled verdicts on one attribute, as far as new ones can be held against them."""

    clusters: tuple[int, ...]
    signals: dict[str, tuple[float | None, ...]]
    """By signal, one number a verdict; null where it is not known."""
    systems: tuple[str, ...] = ()
    """Who produced the text of each verdict's case, blank where that is not known; none in rules saved before it was kept."""


class AcceptanceRule(_Part):
    """What `venire certify --save` writes."""

    format: Literal["venire acceptance 1"] = "venire acceptance 1"
    risk: float = Field(gt=0, lt=1)
    delta: float = Field(gt=0, lt=1)
    within: float = Field(default=0, ge=0)
    """How far a verdict may lie from people's reference without being an error."""
    arm: str
    judged_by: JudgedBy
    attributes: dict[str, AttributeRule]
    labelled: dict[str, SignalSample] = {}


def load_acceptance(path: Path | str) -> AcceptanceRule:
    """The rule in a file that `venire certify --save` wrote."""
    try:
        return AcceptanceRule.model_validate(read_json(Path(path)))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise InvalidFile(
            f"{path}: no rule of acceptance: {where}: {first['msg']}",
            remedy="give a file that `venire certify RUN --human RATINGS --save FILE` wrote",
        ) from None
