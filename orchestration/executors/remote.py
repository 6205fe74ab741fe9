"""Remote record, slots and budget: a worker's proxies for those of the coordinator."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from types import TracebackType

from ...agents.budget import Budget, BudgetSpent, LimitReached
from ...agents.cost import Cost
from ...agents.model import Reply, Request, Sampling
from ...agents.providers import ProviderKey
from .channel import Channel
from .messages import (
    AcquireSlot,
    Commit,
    Forgo,
    Lookup,
    ProviderAnswered,
    ProviderBusy,
    ProviderFailed,
    ReleaseSlot,
)


class RemoteCalls:
    """Proxy of the run's record of calls."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    async def get(self, key: str) -> Reply | None:
        """The recorded reply; None also means that this worker has claimed the call."""
        reply = self._channel.ask(Lookup(key))
        try:
            return await asyncio.shield(reply)
        except asyncio.CancelledError:
            reply.add_done_callback(lambda answer: self._forgo_if_unanswered(key, answer))
            raise

    async def put(self, key: str, request: Request, reply: Reply) -> None:
        # The form of the answer and the subject are in the key already, and in no row of the record.
        slim = replace(request, schema=None, subject=None, settings=Sampling(request.settings))
        await self._channel.ask(Commit(key, slim, reply))

    def forgo(self, key: str) -> None:
        self._channel.notify(Forgo(key))

    def _forgo_if_unanswered(self, key: str, answer: asyncio.Future[Reply | None]) -> None:
        if answer.exception() is None and answer.result() is None:
            self.forgo(key)


class RemoteSlots:
    """Proxy of one provider's slots, which all workers of the run share."""

    def __init__(self, channel: Channel, provider: ProviderKey) -> None:
        self._channel = channel
        self._provider = provider

    async def __aenter__(self) -> None:
        slot = self._channel.ask(AcquireSlot(self._provider))
        try:
            await asyncio.shield(slot)
        except asyncio.CancelledError:
            slot.add_done_callback(self._give_back)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release(unsent=kind is not None and issubclass(kind, BudgetSpent | LimitReached))

    def release(self, *, unsent: bool = False) -> None:
        self._channel.notify(ReleaseSlot(self._provider, unsent))

    def on_answer(self, tokens: int = 0) -> None:
        self._channel.notify(ProviderAnswered(self._provider, tokens))

    def on_busy(self, took: float, retry_after: float | None) -> None:
        self._channel.notify(ProviderBusy(self._provider, took, retry_after))

    def on_failure(self, why: str) -> None:
        self._channel.notify(ProviderFailed(self._provider, why))

    def admit_all(self) -> None:
        """Nothing to do: the queue of waiting calls is the coordinator's."""

    def _give_back(self, slot: asyncio.Future[None]) -> None:
        if slot.exception() is None:
            self.release(unsent=True)


@dataclass(slots=True)
class RemoteBudget(Budget):
    """Proxy of the run's budget: not spent until the coordinator says so."""

    limit: str | None = None

    def check(self) -> None:
        if self.limit is not None:
            raise BudgetSpent(self.limit)

    def add(self, cost: Cost) -> None:
        """Nothing to do: the coordinator counts the replies it commits."""
