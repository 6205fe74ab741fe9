"""Messages between workers and the coordinator: queries and notifications one way, responses the other."""

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
    """Is this call in the record? Whoever is message no is the one to make it."""

    key: str


@dataclass(frozen=True, slots=True)
class Commit:
    """Store this reply; answered once it is committed."""

    key: str
    request: Request
    reply: Reply


@dataclass(frozen=True, slots=True)
class AcquireSlot:
    """Wait for a free slot at this provider."""

    provider: ProviderKey


Query = Lookup | Commit | AcquireSlot


@dataclass(frozen=True, slots=True)
class Forgo:
    """Give up a claimed call: it will not be made."""

    key: str


@dataclass(frozen=True, slots=True)
class ReleaseSlot:
    """Free a slot; `unsent` if no call was made in it."""

    provider: ProviderKey
    unsent: bool


@dataclass(frozen=True, slots=True)
class ProviderAnswered:
    """A call succeeded: for the rate limiter."""

    provider: ProviderKey
    tokens: int


@dataclass(frozen=True, slots=True)
class ProviderBusy:
    """A call was rate-limited."""

    provider: ProviderKey
    took: float
    retry_after: float | None


@dataclass(frozen=True, slots=True)
class ProviderFailed:
    """A call failed: for the circuit breaker."""

    provider: ProviderKey
    why: str


@dataclass(frozen=True, slots=True)
class EntryAdded:
    """A new entry in a transcript, for the run's listener."""

    case: str
    entry: Entry


Notification = Forgo | ReleaseSlot | ProviderAnswered | ProviderBusy | ProviderFailed | EntryAdded


@dataclass(frozen=True, slots=True)
class ProviderUnavailable:
    """The provider is given up for now: the call fails with this reason."""

    reason: AbstentionReason
    detail: str


@dataclass(frozen=True, slots=True)
class OutOfBudget:
    """The run's budget is spent, or the run is to stop: nothing more may be sent."""

    limit: str


@dataclass(frozen=True, slots=True)
class UserError:
    """A `VenireError`: something the user can correct."""

    problem: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Crash:
    """An unexpected exception: its message and traceback."""

    message: str
    traceback: str

    @classmethod
    def of(cls, error: Exception, *, redacted: bool) -> Self:
        """The exception as a message; in a redacted run only its type, as its text may quote a case."""
        kind = type(error).__name__
        message = (
            f"{kind} (its message is withheld: this run is redacted)" if redacted else f"{kind}: {error}"
        )
        return cls(message, "".join(traceback.format_tb(error.__traceback__)))


Response = Reply | None | ProviderUnavailable | OutOfBudget | UserError | Crash

UNNUMBERED = 0
"""The number of notifications, which get no response, and of responses that are broadcast to every worker."""

FromWorker = list[tuple[int, Query | Notification]]
ToWorker = list[tuple[int, Response]]
