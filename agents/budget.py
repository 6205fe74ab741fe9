"""Budgets: what has been spent, by one deliberation and by the whole run, and whether more may be."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from ..personas.limits import Limits
from ..rubrics.errors import ModelUnreachable, VenireError
from .cost import Cost
from .model import Reply, Request
from .prices import Price
from .reservations import LONG_ANSWER, CallEstimate, CallEstimator, Reservations


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
    ends_at_refusal: bool = True
    """Whether access refused to a model that has not answered yet ends the run: a mistake in its settings, told at once."""
    unreachable: ModelUnreachable | None = None
    """Why no call can be made; until one is needed, the run goes on over the calls in its record."""
    estimator: CallEstimator = field(default_factory=CallEstimator)
    reservations: Reservations = field(init=False)
    _refused: str | None = None
    """The limit that a call did not fit into, with no other in flight: what is left of it is too little."""

    def __post_init__(self) -> None:
        self.reservations = Reservations(
            lambda: self.spent,
            self._refusal,
            max_tokens=self.max_tokens,
            max_usd=self.max_usd,
            max_calls=self.max_calls,
        )

    def check(self) -> None:
        """Raise `BudgetSpent` if nothing more may be spent."""
        if self.interrupted:
            raise BudgetSpent("interrupt")
        if self._refused is not None:
            raise BudgetSpent(self._refused)
        if self.max_tokens is not None and self.spent.tokens >= self.max_tokens:
            raise BudgetSpent("max_tokens")
        if self.max_usd is not None and _usd_spent(self.spent) >= self.max_usd:
            raise BudgetSpent("max_usd")
        if self.max_seconds is not None and time.monotonic() - self.started >= self.max_seconds:
            raise BudgetSpent("max_seconds")
        if self.max_calls is not None and self.spent.calls >= self.max_calls:
            raise BudgetSpent("max_calls")

    def add(self, cost: Cost) -> None:
        self.spent += cost

    def _refusal(self, limit: str) -> Exception:
        self._refused = limit
        return BudgetSpent("interrupt" if self.interrupted else limit)


class Reservation(NamedTuple):
    """What is held for one call, of its deliberation's limits and of the run's."""

    deliberation: CallEstimate
    run: CallEstimate


class Meter:
    """One deliberation's spending against its limits, and against the run's budget."""

    def __init__(self, limits: Limits, budget: Budget) -> None:
        self.limits = limits
        self.budget = budget
        self.spent = Cost()
        self._started = time.monotonic()
        self._refused: str | None = None
        self._reservations = Reservations(
            lambda: self.spent, self._refusal, max_tokens=limits.max_tokens, max_usd=limits.max_usd
        )

    def admit(self) -> None:
        """Raise unless one more call may be made."""
        if self.budget.unreachable is not None:
            raise self.budget.unreachable
        if reached := self.reached:
            raise LimitReached(reached)
        self.budget.check()

    async def reserve(self, request: Request, price: Price | None) -> Reservation | None:
        """Hold what a call may cost at the most, before it is sent; None where nothing limits that.

        Where it does not fit beside the calls in flight, it waits for those to end.

        Raises:
            LimitReached, BudgetSpent: It does not fit even alone.
        """
        mine, runs = self._reservations, self.budget.reservations
        if not (mine.needed or runs.needed):
            return None
        estimate = partial(self.budget.estimator.estimate, request, price)
        held = await mine.reserve(estimate)
        try:
            # In a run hundreds of calls may be in flight: if all of their answers were long, they must still fit.
            return Reservation(held, await runs.reserve(partial(estimate, least_answer=LONG_ANSWER)))
        except BaseException:
            mine.release(held)
            raise

    def release(self, request: Request, reserved: Reservation, reply: Reply | None) -> None:
        """The call has ended, and what its reply cost has been added."""
        if reply is not None:
            self.budget.estimator.learn(request, reply)
        self.budget.reservations.release(reserved.run)
        self._reservations.release(reserved.deliberation)

    @property
    def reached(self) -> str | None:
        """The hard limit that is spent, if one is, or too far spent for another call."""
        limits = self.limits
        if self._refused is not None:
            return self._refused
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
        cost = Cost.of(reply)
        self.spent += cost
        if not replayed:
            self.budget.add(cost)

    def _refusal(self, limit: str) -> Exception:
        self._refused = limit
        return LimitReached(limit)


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
