"""Pacing: when one request is sent again, how fast one provider may be asked, and who waits for a slot there.

A provider that asks to wait is rate-limited, not down: waits and failures are counted apart.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Protocol

from .budget import BudgetSpent, LimitReached
from .model import ModelFailure, TransientFailure

MOST_FAILURES = 4
"""How often one request may fail; it is not sent again after the last."""
TIMEOUTS = 2
"""How often one request may time out."""
WAITS = 8
"""How often one request may be told to wait."""
PATIENCE = 120.0
"""Seconds that one request waits at the most, all the times it was told to wait together."""
LONGEST_BACKOFF = 30.0
"""Seconds between two failures at the most."""
SENDS = MOST_FAILURES + WAITS
"""How often one request is sent at the most, whatever happens."""


class RetrySchedule:
    """The waits, failures and timeouts of one request so far, and the pause that follows from them."""

    __slots__ = ("_failures", "_rng", "_timeouts", "_waited", "_waits")

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._failures = self._timeouts = self._waits = 0
        self._waited = 0.0

    def pause(self, failure: TransientFailure) -> float | None:
        """Seconds until the request is sent again; None when it is given up."""
        return self._requested_wait(failure) if failure.busy else self._backoff(failure)

    def _requested_wait(self, failure: TransientFailure) -> float | None:
        """At least as long as the provider said, longer each time, and never all at the same moment."""
        self._waits += 1
        least = max(failure.retry_after or 0.0, min(LONGEST_BACKOFF, 0.125 * 2**self._waits))
        pause = least * self._rng.uniform(1.0, 1.25)
        self._waited += pause
        return None if self._waits > WAITS or self._waited > PATIENCE else pause

    def _backoff(self, failure: TransientFailure) -> float | None:
        self._failures += 1
        self._timeouts += failure.reason == "timeout"
        if self._failures == MOST_FAILURES or self._timeouts == TIMEOUTS:
            return None
        if failure.retry_after is not None:
            return min(failure.retry_after, LONGEST_BACKOFF)
        return min(LONGEST_BACKOFF, 0.25 * 2**self._failures) * self._rng.uniform(0.5, 1.0)


GROWTH = 0.5
"""What one answer gives back of the request slots that a busy provider lost."""
LONGEST_PAUSE = 60.0
"""However long a provider asks for, everyone waits at most this many seconds before it is tried again."""
PAUSE = 1.0
"""How long everyone waits for a provider that is busy and does not say for how long."""
FAILURES = 5
"""So many failures in a row, no answer among them ..."""
STREAK = 5.0
"""... over at least so many seconds, open the circuit: a hiccup is shorter."""
PROBE_EVERY = 5.0
"""Seconds between the requests that are let through an open circuit."""
SLACK = 0.1
"""Seconds' worth of a rate that may be made up for: timers are late."""


class RateLimiter:
    """How fast one provider may be asked, and whether at all. It is told the time and never looks at a clock."""

    def __init__(
        self,
        max_in_flight: int,
        *,
        name: str = "",
        rpm: int | None = None,
        tpm: int | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.max_in_flight = max_in_flight
        self.limit = float(max_in_flight)
        """Requests that may be in flight for now: halved when the provider is busy, grown back by its answers."""
        self.active = 0
        self._name = name
        self._say = say
        self._request_rate = _LeakyBucket(rpm) if rpm else None
        self._token_rate = _LeakyBucket(tpm) if tpm else None
        self._buckets = [bucket for bucket in (self._request_rate, self._token_rate) if bucket is not None]
        self._mean_tokens: float | None = None
        """Tokens that a request takes, as far as answers have shown."""
        self._resume_at = 0.0
        self._cut_at = -math.inf
        self._failures = 0
        self._failing_since = 0.0
        self._probe_at: float | None = None
        """When one request is let through to see; None while the circuit is closed."""
        self._last_failure = ""

    @property
    def circuit_open(self) -> str | None:
        """Why nothing is to be expected of the provider; None while the circuit is closed."""
        if self._probe_at is None:
            return None
        return f"circuit open: the provider {self._name} is not asked now, because it did not answer: {self._last_failure}"

    def delay(self, now: float) -> float:
        """Seconds until one more request may start: 0 for now, infinite while every slot is taken."""
        if self.active + 1 > self.limit:
            return math.inf
        if self._token_rate is not None and self._mean_tokens is None and self.active:
            # Until an answer has shown what a request takes, one at a time.
            return math.inf
        ready = self._resume_at if self._probe_at is None else max(self._resume_at, self._probe_at)
        for bucket in self._buckets:
            ready = max(ready, bucket.free_at)
        return max(0.0, ready - now)

    def begin(self, now: float) -> None:
        """A request takes a slot, and its share of the rates."""
        self.active += 1
        if self._probe_at is not None:
            self._probe_at = now + PROBE_EVERY
        if self._request_rate is not None:
            self._request_rate.take(now, 1)
        if self._token_rate is not None:
            self._token_rate.take(now, self._mean_tokens or 0.0)

    def end(self) -> None:
        """A request gives its slot back."""
        self.active -= 1

    def refund(self, now: float) -> None:
        """Give back what a request took of the rates: it was not sent after all."""
        if self._request_rate is not None:
            self._request_rate.take(now, -1)
        if self._token_rate is not None:
            self._token_rate.take(now, -(self._mean_tokens or 0.0))

    def on_answer(self, now: float, tokens: int = 0) -> None:
        """Note an answer, be it a refusal: the provider is alive."""
        self._close_circuit()
        if self.limit < self.max_in_flight:
            self.limit = min(self.max_in_flight, self.limit + GROWTH)
        if self._token_rate is not None and tokens:
            self._token_rate.take(now, tokens - (self._mean_tokens or 0.0))
            self._mean_tokens = (
                tokens if self._mean_tokens is None else 0.8 * self._mean_tokens + 0.2 * tokens
            )

    def on_busy(self, begun: float, now: float, retry_after: float | None) -> None:
        """Note that the provider is rate-limited: everyone waits, then half as many go on.

        Requests that had `begun` before it last asked tell nothing new, and do not halve again.
        """
        self._close_circuit()
        pause = PAUSE if retry_after is None else min(retry_after, LONGEST_PAUSE)
        self._resume_at = max(self._resume_at, now + pause)
        if begun >= self._cut_at:
            self.limit = max(1.0, self.limit / 2)
            self._cut_at = now

    def on_failure(self, now: float, why: str) -> None:
        """Note a request without a usable answer. `why` is shown to people and must hold no key and no case's words."""
        if not self._failures:
            self._failing_since = now
        self._failures += 1
        self._last_failure = why
        if self._probe_at is not None:
            self._probe_at = now + PROBE_EVERY
        elif self._failures >= FAILURES and now - self._failing_since >= STREAK:
            self._probe_at = now + PROBE_EVERY
            self._report(
                f"the provider {self._name} does not answer ({why}); it is tried again every {PROBE_EVERY:g} s, "
                "and its jurors abstain until it answers"
            )

    def _close_circuit(self) -> None:
        self._failures = 0
        if self._probe_at is not None:
            self._probe_at = None
            self._report(f"provider {self._name} answers again")

    def _report(self, line: str) -> None:
        if self._say is not None:
            self._say(line)


class _LeakyBucket:
    """A leaky bucket, kept as the time at which it will have drained."""

    def __init__(self, per_minute: int) -> None:
        self._each = 60.0 / per_minute
        self.free_at = 0.0

    def take(self, now: float, amount: float) -> None:
        self.free_at = max(self.free_at, now - SLACK) + amount * self._each


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
