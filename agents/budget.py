"""Budgets: what has been spent, by one deliberation and by the whole run, and whether more may be."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from ..personas.jury import Limits
from ..rubrics.errors import VenireError
from .cost import Cost
from .model import Reply


class LimitReached(Exception):
    """A hard limit of one deliberation is spent: no further call may be made for it."""

    def __init__(self, limit: str) -> None:
        super().__init__(limit)
        self.limit = limit


class BudgetSpent(Exception):
    """The budget of the whole run is spent. Everything so far is kept; the run can be continued."""

    def __init__(self, limit: str) -> None:
        super().__init__(limit)
        self.limit = limit


@dataclass(slots=True)
class Budget:
    """What one invocation of a run may spend; calls replayed from the record cost it nothing."""

    max_tokens: int | None = None
    max_usd: float | None = None
    max_seconds: float | None = None
    max_calls: int | None = None
    spent: Cost = field(default_factory=Cost)
    started: float = field(default_factory=time.monotonic)
    interrupted: bool = False

    def check(self) -> None:
        """Raise `BudgetSpent` if nothing more may be spent."""
        if self.interrupted:
            raise BudgetSpent("interrupt")
        if self.max_tokens is not None and self.spent.tokens >= self.max_tokens:
            raise BudgetSpent("max_tokens")
        if self.max_usd is not None and _usd_spent(self.spent) >= self.max_usd:
            raise BudgetSpent("max_usd")
        if self.max_seconds is not None and time.monotonic() - self.started >= self.max_seconds:
            raise BudgetSpent("max_seconds")
        if self.max_calls is not None and self.spent.calls >= self.max_calls:
            raise BudgetSpent("max_calls")

    def add(self, reply: Reply) -> None:
        self.spent += Cost.of(reply)


class Meter:
    """One deliberation's spending against its limits."""

    def __init__(self, limits: Limits, budget: Budget) -> None:
        self.limits = limits
        self.budget = budget
        self.spent = Cost()
        self._started = time.monotonic()

    def admit(self) -> None:
        """Raise unless one more call may be made."""
        if reached := self.reached:
            raise LimitReached(reached)
        self.budget.check()

    @property
    def reached(self) -> str | None:
        """The hard limit that is spent, if one is."""
        limits = self.limits
        if limits.max_tokens is not None and self.spent.tokens >= limits.max_tokens:
            return "max_tokens"
        if limits.max_usd is not None and _usd_spent(self.spent) >= limits.max_usd:
            return "max_usd"
        if (left := self.seconds_left) is not None and left <= 0:
            return "max_seconds"
        return None

    @property
    def seconds_left(self) -> float | None:
        if self.limits.max_seconds is None:
            return None
        return self.limits.max_seconds - (time.monotonic() - self._started)

    def add(self, reply: Reply, *, replayed: bool) -> None:
        self.spent += Cost.of(reply)
        if not replayed:
            self.budget.add(reply)


def unknown_price(what: str) -> VenireError:
    """The error for a limit in dollars on calls whose price nobody knows: to go on would be to pretend that they are free."""
    return VenireError(
        f"max_usd cannot be kept: the price of {what} is not known",
        remedy="give it with --prices FILE, or limit tokens or time instead",
    )


def _usd_spent(spent: Cost) -> float:
    if spent.usd is None:
        raise unknown_price("a call that was made")
    return spent.usd
