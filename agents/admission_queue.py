"""The admission queue before one provider: first come, first served, as fast as its rate limiter allows."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Protocol

from .budget import BudgetSpent, LimitReached
from .model import ModelFailure
from .rate_limiter import RateLimiter


class Slots(Protocol):
    """Request slots at one provider: `async with` holds one, and the `on_` methods report how the request went."""

    async def __aenter__(self) -> None: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    def release(self, *, unsent: bool = False) -> None:
        """Give a slot back; for a request that stayed `unsent`, refund what it took of the rates."""
        ...

    def on_answer(self, tokens: int = 0) -> None: ...

    def on_busy(self, took: float, retry_after: float | None) -> None:
        """The provider asked for fewer requests, `took` seconds after this one was sent."""
        ...

    def on_failure(self, why: str) -> None: ...

    def admit_all(self) -> None:
        """Give everyone who waits a slot, because nothing will be sent any more and each must find that out."""
        ...


class AdmissionQueue:
    """The `Slots` of a provider that only this process asks.

    While the circuit is open, the first in the queue is let through now and then to probe; if that fails, all are refused.
    """

    def __init__(self, limiter: RateLimiter, clock: Callable[[], float] = time.monotonic) -> None:
        self._limiter = limiter
        self._clock = clock
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> None:
        limiter, now = self._limiter, self._clock()
        if not self._waiting and limiter.delay(now) == 0:
            limiter.begin(now)
            return
        await self._wait()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release(unsent=kind is not None and issubclass(kind, BudgetSpent | LimitReached))

    def release(self, *, unsent: bool = False) -> None:
        if unsent:
            self._limiter.refund(self._clock())
        self._limiter.end()
        if self._waiting:
            self._admit_next()

    def on_answer(self, tokens: int = 0) -> None:
        self._limiter.on_answer(self._clock(), tokens)

    def on_busy(self, took: float, retry_after: float | None) -> None:
        now = self._clock()
        self._limiter.on_busy(now - took, now, retry_after)

    def on_failure(self, why: str) -> None:
        """Report a request without an answer; where that leaves the circuit open, everyone who waits is refused."""
        self._limiter.on_failure(self._clock(), why)
        if (circuit_open := self._limiter.circuit_open) is not None:
            self._refuse_all(circuit_open)

    def admit_all(self) -> None:
        while self._waiting:
            admitted = self._waiting.popleft()
            if not admitted.done():
                self._limiter.begin(self._clock())
                admitted.set_result(None)

    def _refuse_all(self, why: str) -> None:
        while self._waiting:
            admitted = self._waiting.popleft()
            if not admitted.done():
                admitted.set_exception(ModelFailure("unavailable", why))

    async def _wait(self) -> None:
        """Wait for a slot. Whoever is admitted has one already, and gives it back if cancelled."""
        admitted = asyncio.get_running_loop().create_future()
        self._waiting.append(admitted)
        self._admit_next()
        try:
            await admitted
        except asyncio.CancelledError:
            if admitted.done() and not admitted.cancelled() and admitted.exception() is None:
                self.release()
            raise

    def _admit_next(self) -> None:
        """Admit as many as the limiter allows now; where the next must wait for a time, come back then."""
        limiter, waiting = self._limiter, self._waiting
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while waiting:
            if waiting[0].done():
                waiting.popleft()
                continue
            now = self._clock()
            delay = limiter.delay(now)
            if delay == 0:
                limiter.begin(now)
                waiting.popleft().set_result(None)
                continue
            if delay < math.inf:
                self._timer = asyncio.get_running_loop().call_later(delay, self._admit_next)
            return
