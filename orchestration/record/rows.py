"""Rows of the record, as typed tuples."""

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


class FinishedDeliberation(NamedTuple):
    """A stored deliberation; `number` increases with every one that is finished."""

    number: int
    arm: int
    case: str
    fingerprint: str
    """Of the case as it was judged."""
    transcript: Transcript


class UnfinishedDeliberation(NamedTuple):
    """A deliberation as far as it had come when it was last stored."""

    arm: int
    case: str
    fingerprint: str
    changed_at: float
    """In seconds since the epoch."""
    transcript: Transcript


class Hearing(NamedTuple):
    """The last deliberation of an arm on a case: its number, and the fingerprint of the case as it was then."""

    number: int
    fingerprint: str


class ArmProgress(NamedTuple):
    """How many cases an arm has finished, of `cases` that its last run session was to hear (None: not known)."""

    arm: str
    done: int
    cases: int | None
    started: float
    last: float | None
    recent: int
    """How many deliberations it finished within the time asked about."""
