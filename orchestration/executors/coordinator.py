"""The clerk: keeps the one record, the limits and the budget for workers who are elsewhere."""

from __future__ import annotations

from typing import Protocol

from ...agents.budget import BudgetSpent
from ...agents.gateway import Calls
from ...agents.model import Reply
from ..bench import Court
from .claims import Claims
from .messages import NOTE, Answer, Commit, Spent

_UNKNOWN = 10.0
"""Seconds that a call is presumed to take before any was answered."""
_MARGIN = 1.25


class Writes(Protocol):
    """Where an answer to one worker goes."""

    def reply(self, number: int, answer: Answer) -> None: ...


class Clerk:
    """What the desks of all workers share."""

    def __init__(self, court: Court) -> None:
        self.court = court
        self.calls: Calls = court.calls
        self.redacted = False
        self.claims = Claims()
        self.desks: set[Writes] = set()
        self.trouble: Exception | None = None
        """A bug on this side of the post; the run ends with it."""
        self._slowest = 0.0

    def keep(self, calls: Calls, *, redacted: bool) -> None:
        self.calls = calls
        self.redacted = redacted

    def receive(self, letter: Commit) -> None:
        """Count what a reply took, at once: before anybody is given the place that it leaves."""
        self._slowest = max(self._slowest, letter.reply.seconds)
        self.court.budget.add(letter.reply)
        self.claims.committing(letter.key)

    async def commit(self, letter: Commit) -> None:
        kept: Reply | None = None
        try:
            await self.calls.put(letter.key, letter.request, letter.reply)
            kept = letter.reply
        finally:
            self.claims.settle(letter.key, kept)
        self.tell_if_spent()

    @property
    def presumed(self) -> float:
        """Seconds after which a call that nobody waits for any more has surely left its provider."""
        return _MARGIN * self._slowest if self._slowest else _UNKNOWN

    def tell_if_spent(self) -> None:
        """Have every worker know at once when nothing more may be sent: some may be resting between two tries."""
        try:
            self.court.budget.check()
        except BudgetSpent as spent:
            for desk in self.desks:
                desk.reply(NOTE, Spent(spent.limit))
