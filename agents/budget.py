"""Budgets: what has been spent, by one deliberation and by the whole run, and whether more may be.

The most that a call in flight may cost is reserved, against limits on tokens, dollars and calls, until its true cost is known.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from ..personas.options import Limits
from ..rubrics.errors import ModelUnreachable, VenireError
from .cost import Cost, Price
from .model import Reply, Request
from .tokens import estimated_prompt, estimated_tokens

_UNHEARD_ANSWER = 2_000
"""Tokens that an answer is taken to have at the most where the seat states no `max_tokens` and its model has not answered yet."""
_MARGIN = 2
"""How many times the longest answer so far the next may be, where the seat states no `max_tokens`."""
LONG_ANSWER = 16_000
"""Tokens that any answer may turn out to have, however short those before it were, where the seat states no `max_tokens`."""


class CallEstimate(NamedTuple):
    """What one call may cost, known before it is sent."""

    tokens: int
    """The most it may take."""
    usd: float
    likely_tokens: float
    """What it should take, if it takes as much of its estimate as any call to the same model so far."""
    likely_usd: float


@dataclass(slots=True)
class _Answers:
    """What the calls to one model have taken so far."""

    longest: int = 0
    most_of_estimate: float = 0.0
    """The largest part that a call has taken of what was estimated for it."""
    taken: float = 0.0
    usd: float = 0.0


class CallEstimator:
    """Estimates the cost of calls, and learns from each how long a model's answers are and what its tokens cost."""

    def __init__(self) -> None:
        self._models: dict[str, _Answers] = {}

    def estimate(self, request: Request, price: Price | None, *, least_answer: int = 0) -> CallEstimate:
        """The most that a call may cost. Without a price it is infinite until an answer has shown one.

        `least_answer` are tokens that every answer is taken to have at the most, unless the seat states `max_tokens`.
        """
        prompt, expected = self._sizes(request)
        usual = prompt + expected
        answer = expected if "max_tokens" in request.settings else max(expected, least_answer)
        tokens = prompt + answer
        seen = self._models.get(request.model)
        likely = usual * seen.most_of_estimate if seen else estimated_prompt(request)
        if price is not None:
            likely_usd = price.most_usd(prompt, expected) * likely / usual
            return CallEstimate(tokens, price.most_usd(prompt, answer), likely, likely_usd)
        if seen is not None and seen.taken:
            each = seen.usd / seen.taken
            return CallEstimate(tokens, tokens * each, likely, likely * each)
        return CallEstimate(tokens, float("inf"), likely, 0.0)

    def learn(self, request: Request, reply: Reply) -> None:
        """Take the true cost of a call into account."""
        seen = self._models.setdefault(request.model, _Answers())
        seen.most_of_estimate = max(seen.most_of_estimate, reply.usage.total / sum(self._sizes(request)))
        seen.longest = max(seen.longest, reply.usage.completion)
        seen.taken += reply.usage.total
        seen.usd += reply.usd or 0.0

    def _sizes(self, request: Request) -> tuple[int, int]:
        """Tokens of the prompt, and of the longest answer that is to be expected."""
        # Some providers count the form of the answer as well.
        form = 0 if request.schema is None else estimated_tokens(request.schema.text)
        seen = self._models.get(request.model)
        heard = seen.longest if seen else 0
        # A server need not heed the limit that it is sent.
        expected = max(heard, request.settings.get("max_tokens") or (_MARGIN * heard or _UNHEARD_ANSWER))
        return estimated_prompt(request) + form, expected


class Reservations:
    """What calls in flight may still cost, beside what is spent. A call that does not fit waits until others have ended."""

    def __init__(
        self,
        spent: Callable[[], Cost],
        refusal: Callable[[str], Exception],
        *,
        max_tokens: int | None = None,
        max_usd: float | None = None,
        max_calls: int | None = None,
    ) -> None:
        """`refusal` makes the exception for a call that does not fit even alone, from the name of the limit."""
        self._spent = spent
        self._refusal = refusal
        self._max_tokens = max_tokens
        self._max_usd = max_usd
        self._max_calls = max_calls
        self.needed = any(limit is not None for limit in (max_tokens, max_usd, max_calls))
        """Whether there is a limit at all."""
        self._calls = 0
        self._tokens = 0
        self._usd = 0.0
        self._waiting: deque[tuple[Callable[[], CallEstimate], asyncio.Future[CallEstimate]]] = deque()

    async def reserve(self, estimate: Callable[[], CallEstimate]) -> CallEstimate:
        """Hold an estimate, once it fits, and give it back; raises where it does not although no other call is in flight.

        While the call waits, others end and are learned from: it is estimated anew.
        """
        admitted = asyncio.get_running_loop().create_future()
        self._waiting.append((estimate, admitted))
        self._admit_waiting()
        try:
            return await admitted
        except asyncio.CancelledError:
            if admitted.done() and not admitted.cancelled() and admitted.exception() is None:
                self.release(admitted.result())
            raise

    def release(self, estimate: CallEstimate) -> None:
        """Let go of an estimate: the call has ended, and its true cost, if any, is part of what is spent."""
        self._calls -= 1
        self._tokens -= estimate.tokens
        self._usd = self._usd - self._dollars_held(estimate) if self._calls else 0.0
        self._admit_waiting()

    def _admit_waiting(self) -> None:
        """Admit calls in their order, as far as they fit; refuse those that do not fit even alone."""
        while self._waiting:
            make_estimate, admitted = self._waiting[0]
            if not admitted.done():
                estimate = make_estimate()
                limit = self._limit_passed_by(estimate)
                if limit is None:
                    self._calls += 1
                    self._tokens += estimate.tokens
                    self._usd += self._dollars_held(estimate)
                    admitted.set_result(estimate)
                elif self._calls:
                    return
                else:
                    admitted.set_exception(self._refusal(limit))
            self._waiting.popleft()

    def _limit_passed_by(self, estimate: CallEstimate) -> str | None:
        """The limit that the call might pass. Alone, it is held to what such calls have taken so far: a budget that is
        enough is used to its end."""
        limit = self._limit_at(estimate.tokens, self._dollars_held(estimate))
        return (
            limit
            if limit is None or self._calls
            else self._limit_at(estimate.likely_tokens, estimate.likely_usd)
        )

    def _limit_at(self, tokens: float, usd: float) -> str | None:
        """The limit that is passed with so many tokens and dollars more than are spent and held."""
        spent = self._spent()
        if self._max_tokens is not None and spent.tokens + self._tokens + tokens > self._max_tokens:
            return "max_tokens"
        if self._max_usd is not None and spent.known_usd + self._usd + usd > self._max_usd:
            return "max_usd"
        if self._max_calls is not None and spent.calls + self._calls >= self._max_calls:
            return "max_calls"
        return None

    def _dollars_held(self, estimate: CallEstimate) -> float:
        """For a call of unknown price all there are, so that it is sent alone."""
        if self._max_usd is None:
            return 0.0
        return self._max_usd if estimate.usd == float("inf") else estimate.usd


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
    interrupted: str | None = None
    """What ended the run before its time: the name of a signal, or `failure`."""
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
        if self.interrupted is not None:
            raise BudgetSpent(self.interrupted)
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
        return BudgetSpent(self.interrupted or limit)


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
        f"max_usd cannot be applied: the price of {what} is not known",
        remedy="give the price with --prices FILE, or limit tokens or time instead",
    )


def _usd_spent(spent: Cost) -> float:
    if spent.usd is None:
        raise unknown_price("a call that was made")
    return spent.usd
