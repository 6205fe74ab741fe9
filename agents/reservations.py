"""Reservations: the worst cost of calls in flight, held against limits on tokens and dollars until the true cost is known."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from .context import estimated_tokens
from .cost import Cost
from .model import Reply, Request
from .prices import Price
from .usage import estimated_prompt

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
    """What it should take, going by the calls to the same model so far."""
    likely_usd: float


@dataclass(slots=True)
class _Answers:
    """What the calls to one model have taken so far."""

    longest: int = 0
    reserved: float = 0.0
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
        likely = usual * seen.taken / seen.reserved if seen else estimated_prompt(request)
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
        seen.reserved += sum(self._sizes(request))
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
        return 0.0 if self._max_usd is None else min(estimate.usd, self._max_usd)
