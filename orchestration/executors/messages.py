"""What workers and the clerk write to each other. A worker asks, or notes what needs no answer; the clerk answers."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import Self

from ...agents.model import Reply, Request
from ...agents.providers import ProviderKey
from ...rubrics.ballot import AbstentionReason
from ..transcript import Entry


@dataclass(frozen=True, slots=True)
class Lookup:
    """Is this call in the record? Whoever is told no is the one to make it."""

    key: str


@dataclass(frozen=True, slots=True)
class Commit:
    """Keep this reply; answered once it survives the run's own process."""

    key: str
    request: Request
    reply: Reply


@dataclass(frozen=True, slots=True)
class Enter:
    """A place in flight at this provider, please."""

    provider: ProviderKey


Question = Lookup | Commit | Enter


@dataclass(frozen=True, slots=True)
class Forgone:
    """The call that was to be made will not be."""

    key: str


@dataclass(frozen=True, slots=True)
class Leave:
    """The place is free again."""

    provider: ProviderKey
    unsent: bool


@dataclass(frozen=True, slots=True)
class Answered:
    provider: ProviderKey
    tokens: int


@dataclass(frozen=True, slots=True)
class Busy:
    provider: ProviderKey
    took: float
    retry_after: float | None


@dataclass(frozen=True, slots=True)
class Failed:
    provider: ProviderKey
    why: str


@dataclass(frozen=True, slots=True)
class Noted:
    """An entry of a deliberation that goes on, for whoever listens."""

    case: str
    entry: Entry


Note = Forgone | Leave | Answered | Busy | Failed | Noted


@dataclass(frozen=True, slots=True)
class Refused:
    """The provider is given up for now."""

    reason: AbstentionReason
    detail: str


@dataclass(frozen=True, slots=True)
class Spent:
    """The run's budget is spent, or the run is to stop: nothing more may be sent."""

    limit: str


@dataclass(frozen=True, slots=True)
class Wrong:
    """Something that the person at the keyboard can mend."""

    problem: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Broken:
    """A bug: what it says of itself, and where it happened."""

    told: str
    where: str

    @classmethod
    def of(cls, error: Exception, *, redacted: bool) -> Self:
        """In a redacted run an exception is known by its type alone: its message may hold a case's words."""
        kind = type(error).__name__
        told = f"{kind} (its message is withheld: this run is redacted)" if redacted else f"{kind}: {error}"
        return cls(told, "".join(traceback.format_tb(error.__traceback__)))


Answer = Reply | None | Refused | Spent | Wrong | Broken

NOTE = 0
"""The number of a letter that is not answered; and of an answer that nobody asked for: the run is to stop."""

Outgoing = list[tuple[int, Question | Note]]
Incoming = list[tuple[int, Answer]]
