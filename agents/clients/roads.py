"""The former spelling of a client factory, which plug-ins written for it still import: use `client_factory`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...personas.jury import ModelSettings
from ..model import Reply, Request, Subject
from ..model_client import ModelClient
from .client_factory import ClientFactory


def Road(connect: Callable[[ModelSettings], Any], per_model: bool) -> ClientFactory:
    """A factory of clients that only have `complete` and `close`, and may have `at_once` and `answers_for`."""
    return ClientFactory(connect=lambda settings: _FormerClient(connect(settings)), per_model=per_model)


class _FormerClient(ModelClient):
    """A client from before capabilities were members of a base class."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.max_concurrency = getattr(client, "at_once", None)
        self.in_process = self.max_concurrency is not None
        self.votes_only = hasattr(client, "answers_for")

    async def complete(self, request: Request) -> Reply:
        return await self._client.complete(request)

    async def close(self) -> None:
        await self._client.close()

    def answers_for(self, subject: Subject) -> tuple[str, ...]:
        return self._client.answers_for(subject) if self.votes_only else subject.asked
