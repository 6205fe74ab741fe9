"""The coordinator's handler for one worker: answers its queries, and frees what it held when it is lost."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

from ...agents.budget import BudgetSpent
from ...agents.model import ModelFailure, Reply
from ...agents.providers import ProviderKey
from ...rubrics.errors import VenireError
from .channel import LINGER
from .coordinator import Coordinator
from .messages import (
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
