"""A worker's end of the connection to the coordinator: outgoing messages, and futures for the responses."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

from ...agents.budget import BudgetSpent
from ...agents.model import ModelFailure
from ...rubrics.errors import VenireError
from .messages import (
    UNNUMBERED,
    Crash,
    FromWorker,
    Notification,
    OutOfBudget,
    ProviderUnavailable,
    Query,
    Response,
    ToWorker,
    UserError,
)

LINGER = 0.002
"""Seconds that messages wait to be sent in one batch: a round trip costs more than a message."""


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
