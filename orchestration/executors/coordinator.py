"""The coordinator: owns the record, the rate limits and the budget on behalf of remote workers."""

from __future__ import annotations

from typing import Protocol

from ...agents.budget import BudgetSpent
from ...agents.cost import Cost
from ...agents.gateway import Calls
from ...agents.model import Reply
from ..bench import Court
from .claims import Claims
from .messages import UNNUMBERED, Commit, OutOfBudget, Response

_UNKNOWN = 10.0
"""Seconds that a call is assumed to take before any was answered."""
_MARGIN = 1.25


class ResponseSink(Protocol):
    """Sends responses to one worker."""

    def reply(self, number: int, response: Response) -> None: ...


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
