"""What comes out of the record."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...personas.jury import Jury
from ...rubrics.rubric import Rubric
from ..transcript import Transcript


class Arm(NamedTuple):
    """A jury with everything that decides what it will ask, as it sat in this run."""

    id: int
    name: str
    rubric: Rubric
    jury: Jury
    manifest: dict[str, Any]


class Finished(NamedTuple):
    """A deliberation as the record holds it: `number` grows with every one that is finished."""

    number: int
    arm: int
    case: str
    transcript: Transcript


class Heard(NamedTuple):
    """That an arm has heard a case, and the fingerprint of the case as it was then."""

    number: int
    fingerprint: str


class Toll(NamedTuple):
    """What all recorded calls took. `usd` is the sum of the known prices, of which there are `priced`."""

    calls: int
    prompt: int
    completion: int
    cached: int
    usd: float
    priced: int
    last: float | None
    """When the last call was recorded, in seconds since the epoch."""


class Advance(NamedTuple):
    """How far an arm has come: `cases` is how many it was to hear when it last sat, if that is known."""

    arm: str
    done: int
    cases: int | None
    started: float
    last: float | None
    recent: int
    """How many deliberations it finished within the time asked about."""
