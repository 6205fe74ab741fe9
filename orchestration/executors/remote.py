"""What a worker has in place of a record, limits and a budget of its own: the run's, by letter."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from types import TracebackType

from ...agents.budget import Budget, BudgetSpent, LimitReached
from ...agents.model import Reply, Request, Sampling
from ...agents.providers import ProviderKey
from .channel import Post
from .messages import Answered, Busy, Commit, Enter, Failed, Forgone, Leave, Lookup


class FarCalls:
    """The run's record of calls."""

    def __init__(self, post: Post) -> None:
        self._post = post

    async def get(self, key: str) -> Reply | None:
        """The recorded reply. None is also the word that nobody else is making this call."""
        found = self._post.ask(Lookup(key))
        try:
            return await asyncio.shield(found)
        except asyncio.CancelledError:
            found.add_done_callback(lambda answer: self._unwanted(key, answer))
            raise

    async def put(self, key: str, request: Request, reply: Reply) -> None:
        # The form of the answer and the subject are in the key already, and in no row of the record.
        slim = replace(request, schema=None, subject=None, settings=Sampling(request.settings))
        await self._post.ask(Commit(key, slim, reply))

    def forgo(self, key: str) -> None:
        self._post.tell(Forgone(key))

    def _unwanted(self, key: str, answer: asyncio.Future[Reply | None]) -> None:
        if answer.exception() is None and answer.result() is None:
            self.forgo(key)


class FarPlaces:
    """Places in flight at one provider, shared with every other worker of the run."""

    def __init__(self, post: Post, provider: ProviderKey) -> None:
        self._post = post
        self._provider = provider

    async def __aenter__(self) -> None:
        place = self._post.ask(Enter(self._provider))
        try:
            await asyncio.shield(place)
        except asyncio.CancelledError:
            place.add_done_callback(self._give_back)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.leave(unsent=kind is not None and issubclass(kind, BudgetSpent | LimitReached))

    def leave(self, *, unsent: bool = False) -> None:
        self._post.tell(Leave(self._provider, unsent))

    def answered(self, tokens: int = 0) -> None:
        self._post.tell(Answered(self._provider, tokens))

    def busy(self, took: float, retry_after: float | None) -> None:
        self._post.tell(Busy(self._provider, took, retry_after))

    def failed(self, why: str) -> None:
        self._post.tell(Failed(self._provider, why))

    def let_go(self) -> None:
        """Nobody waits in line here: the clerk's lines are let go of where they are."""

    def _give_back(self, place: asyncio.Future[None]) -> None:
        if place.exception() is None:
            self.leave(unsent=True)


@dataclass(slots=True)
class FarBudget(Budget):
    """The run's budget as a worker knows it: there is some, until the clerk says that there is none."""

    limit: str | None = None

    def check(self) -> None:
        if self.limit is not None:
            raise BudgetSpent(self.limit)

    def add(self, reply: Reply) -> None:
        """The clerk counts what it is given to commit."""
