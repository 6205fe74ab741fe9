"""The coordinator: owns the record, the rate limits and the budget on behalf of remote workers, and answers each of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from ...agents.budget import BudgetSpent
from ...agents.cost import Cost
from ...agents.gateway import Calls
from ...agents.model import ModelFailure, Reply
from ...agents.providers import ProviderKey
from ...rubrics.errors import VenireError
from ..bench import Court
from .messages import (
    LINGER,
    UNNUMBERED,
    AcquireSlot,
    Commit,
    Crash,
    EntryAdded,
    Forgo,
    FromWorker,
    Lookup,
    Notification,
    OutOfBudget,
    ProviderAnswered,
    ProviderBusy,
    ProviderFailed,
    ProviderUnavailable,
    Query,
    ReleaseSlot,
    Response,
    ToWorker,
    UserError,
)

_UNKNOWN = 10.0
"""Seconds that a call is assumed to take before any was answered."""
_MARGIN = 1.25


class Coordinator:
    """State shared by the handlers of all workers."""

    def __init__(self, court: Court) -> None:
        self.court = court
        self.calls: Calls = court.calls
        self.redacted = False
        self.claims = Claims()
        self.handlers: set[ResponseSink] = set()
        self.error: Exception | None = None
        """An unexpected exception while answering a worker; the run ends with it."""
        self._slowest = 0.0

    def attach(self, calls: Calls, *, redacted: bool) -> None:
        self.calls = calls
        self.redacted = redacted

    def receive(self, message: Commit) -> None:
        """Count the reply against the budget at once, before its slot is given to another call."""
        self._slowest = max(self._slowest, message.reply.seconds)
        self.court.budget.add(Cost.of(message.reply))
        self.claims.committing(message.key)

    async def commit(self, message: Commit) -> None:
        """Store the reply, and give it to whoever waits for the same call."""
        committed: Reply | None = None
        try:
            await self.calls.put(message.key, message.request, message.reply)
            committed = message.reply
        finally:
            self.claims.settle(message.key, committed)
        self.broadcast_if_spent()

    @property
    def longest_call(self) -> float:
        """Seconds after which a call that nobody waits for has surely left its provider."""
        return _MARGIN * self._slowest if self._slowest else _UNKNOWN

    def broadcast_if_spent(self) -> None:
        """Tell every worker when the budget is spent: some may be waiting to retry."""
        try:
            self.court.budget.check()
        except BudgetSpent as spent:
            for handler in self.handlers:
                handler.reply(UNNUMBERED, OutOfBudget(spent.limit))


class ResponseSink(Protocol):
    """Sends responses to one worker."""

    def reply(self, number: int, response: Response) -> None: ...


class WorkerHandler:
    """Handles messages in order; responds to each query as soon as it can."""

    def __init__(self, coordinator: Coordinator, send: Callable[[ToWorker], None]) -> None:
        self._coordinator = coordinator
        self._send = send
        self._responses: ToWorker = []
        self._slots_held: Counter[ProviderKey] = Counter()
        self._waits: set[asyncio.Task[None]] = set()
        self._commits: set[asyncio.Task[None]] = set()
        coordinator.handlers.add(self)

    def take(self, messages: FromWorker) -> None:
        for number, message in messages:
            if isinstance(message, Lookup | Commit | AcquireSlot):
                if isinstance(message, Commit):
                    self._coordinator.receive(message)
                tasks = self._commits if isinstance(message, Commit) else self._waits
                task = asyncio.create_task(self._respond(number, message))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            else:
                self._on_notification(message)

    def reply(self, number: int, response: Response) -> None:
        """Queue a response; responses are sent in batches, `LINGER` seconds after the first."""
        if self not in self._coordinator.handlers:
            return
        if not self._responses:
            asyncio.get_running_loop().call_later(LINGER, self._flush)
        self._responses.append((number, response))

    def release(self) -> None:
        """The worker is lost: release its claims, so that others may make those calls, and its slots.

        The provider may go on with calls that nobody waits for, so their slots are released only after the time of the
        slowest answer. A reply that the worker had sent is committed all the same.
        """
        self._coordinator.handlers.discard(self)
        self._responses.clear()
        for task in list(self._waits):
            task.cancel()
        self._coordinator.claims.release_all(self)
        for provider, number in self._slots_held.items():
            slots = self._coordinator.court.providers.at(provider).slots
            for _ in range(number):
                asyncio.get_running_loop().call_later(self._coordinator.longest_call, slots.release)
        self._slots_held.clear()

    async def _respond(self, number: int, message: Query) -> None:
        try:
            response: Response = await self._response(message)
        except BudgetSpent as spent:
            response = OutOfBudget(spent.limit)
        except ModelFailure as failure:
            response = ProviderUnavailable(failure.reason, failure.detail)
        except VenireError as error:
            response = UserError(error.problem, error.remedy)
        except Exception as error:
            # A task's exception would be lost: the worker is answered, and the run ends with it.
            self._coordinator.error = error
            response = Crash.of(error, redacted=self._coordinator.redacted)
        self.reply(number, response)

    async def _response(self, message: Query) -> Reply | None:
        match message:
            case Lookup(key):
                return await self._coordinator.claims.reply(key, self, self._coordinator.calls.get)
            case Commit():
                await self._coordinator.commit(message)
            case AcquireSlot(provider):
                await self._acquire_slot(provider)
        return None

    async def _acquire_slot(self, provider: ProviderKey) -> None:
        slots, budget = self._coordinator.court.providers.at(provider).slots, self._coordinator.court.budget
        # Nobody waits for a slot for what may not be sent.
        budget.check()
        await slots.__aenter__()
        try:
            budget.check()
        except (BudgetSpent, VenireError):
            slots.release(unsent=True)
            self._coordinator.broadcast_if_spent()
            raise
        self._slots_held[provider] += 1

    def _on_notification(self, message: Notification) -> None:
        coordinator = self._coordinator
        match message:
            case Forgo(key):
                coordinator.claims.forgo(key, self)
            case EntryAdded(case, entry):
                if coordinator.court.listener is not None:
                    coordinator.court.listener(case, entry)
            case ReleaseSlot(provider, unsent):
                self._slots_held[provider] -= 1
                coordinator.court.providers.at(provider).slots.release(unsent=unsent)
            case ProviderAnswered(provider, tokens):
                coordinator.court.providers.at(provider).slots.on_answer(tokens)
            case ProviderBusy(provider, took, retry_after):
                coordinator.court.providers.at(provider).slots.on_busy(took, retry_after)
            case ProviderFailed(provider, why):
                coordinator.court.providers.at(provider).slots.on_failure(why)

    def _flush(self) -> None:
        if self._responses:
            responses, self._responses = self._responses, []
            self._send(responses)


class Claims:
    """The calls that are being made, by key."""

    def __init__(self) -> None:
        self._claims: dict[str, _Claim] = {}

    async def reply(
        self, key: str, owner: object, look: Callable[[str], Awaitable[Reply | None]]
    ) -> Reply | None:
        """The recorded reply, or that of a worker who is making the call; None where `owner` has claimed it."""
        while (other := self._claims.get(key)) is not None:
            if (reply := await asyncio.shield(other.outcome)) is not None:
                return reply
        # Claimed before it is looked for: what another commits in the meantime cannot be missed.
        mine = self._claims[key] = _Claim(owner)
        try:
            reply = await look(key)
        except BaseException:
            self._end(key, mine, None)
            raise
        if reply is not None:
            self._end(key, mine, reply)
        return reply

    def committing(self, key: str) -> None:
        """The reply has arrived: losing its owner no longer releases the claim."""
        if (claim := self._claims.get(key)) is not None:
            claim.owner = None

    def settle(self, key: str, reply: Reply | None) -> None:
        """End the claim with the reply; without one, the first who waits claims the call."""
        if (claim := self._claims.get(key)) is not None:
            self._end(key, claim, reply)

    def forgo(self, key: str, owner: object) -> None:
        claim = self._claims.get(key)
        if claim is not None and claim.owner is owner:
            self._end(key, claim, None)

    def release_all(self, owner: object) -> None:
        """Release every call that `owner` had claimed."""
        for key, claim in list(self._claims.items()):
            if claim.owner is owner:
                self._end(key, claim, None)

    def _end(self, key: str, claim: _Claim, reply: Reply | None) -> None:
        """End this claim, unless another has replaced it."""
        if self._claims.get(key) is claim:
            del self._claims[key]
            claim.outcome.set_result(reply)


@dataclass(slots=True)
class _Claim:
    owner: object | None
    """The worker that makes the call; None once its reply is being committed, which no loss of a worker undoes."""
    outcome: asyncio.Future[Reply | None] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
