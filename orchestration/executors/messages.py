"""Messages between workers and the coordinator, and the channel by which a worker sends queries and awaits responses."""

from __future__ import annotations

import asyncio
import traceback
from dataclasses import dataclass
from itertools import count
from typing import Any, Self

from ...agents.budget import BudgetSpent
from ...agents.model import ModelFailure, Reply, Request
from ...agents.providers import ProviderKey
from ...rubrics.ballot import AbstentionReason
from ...rubrics.errors import VenireError
from ..transcript import Entry

UNNUMBERED = 0
"""The number of notifications, which get no response, and of responses that are broadcast to every worker."""
LINGER = 0.002
"""Seconds that messages wait to be sent in one batch: a round trip costs more than a message."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """Is this call in the record? Whoever is answered None is the one to make it."""

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
            f"{kind} (the error's message is withheld, because this run is redacted)"
            if redacted
            else f"{kind}: {error}"
        )
        return cls(message, "".join(traceback.format_tb(error.__traceback__)))


Response = Reply | None | ProviderUnavailable | OutOfBudget | UserError | Crash


FromWorker = list[tuple[int, Query | Notification]]


ToWorker = list[tuple[int, Response]]


class Channel:
    """Queues outgoing messages, which the coordinator collects in batches, and matches responses to queries."""

    def __init__(self) -> None:
        self._numbers = count(UNNUMBERED + 1)
        self._out: FromWorker = []
        self._written = asyncio.Event()
        self._pending: dict[int, asyncio.Future[Any]] = {}

    def notify(self, notification: Notification) -> None:
        self._write(UNNUMBERED, notification)

    def ask(self, query: Query) -> asyncio.Future[Any]:
        """A future of the response; an error response is raised."""
        number = next(self._numbers)
        response = self._pending[number] = asyncio.get_running_loop().create_future()
        self._write(number, query)
        return response

    async def collect(self) -> FromWorker:
        """The queued messages, `LINGER` seconds after the first."""
        await self._written.wait()
        await asyncio.sleep(LINGER)
        self._written.clear()
        messages, self._out = self._out, []
        return messages

    def deliver(self, number: int, response: Response) -> None:
        """Resolve the query with this number."""
        pending = self._pending.pop(number)
        if pending.done():
            # Cancelled, with whoever waited for it.
            return
        error = _error_in(response)
        if error is None:
            pending.set_result(response)
        else:
            pending.set_exception(error)

    def _write(self, number: int, message: Query | Notification) -> None:
        self._out.append((number, message))
        self._written.set()


def broadcasts(messages: ToWorker) -> list[Response]:
    """The messages that respond to no query of this worker."""
    return [response for number, response in messages if number == UNNUMBERED]


def _error_in(response: Response) -> Exception | None:
    match response:
        case ProviderUnavailable(reason, detail):
            return ModelFailure(reason, detail)
        case OutOfBudget(limit):
            return BudgetSpent(limit)
        case UserError(problem, remedy):
            return VenireError(problem, remedy=remedy)
        case Crash(message, traceback):
            return RuntimeError(f"{message}\n{traceback}")
        case _:
            return None
