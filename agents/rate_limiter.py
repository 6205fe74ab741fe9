"""Rate limiter and circuit breaker of one provider: its limits, how it backs off and recovers, when it is given up."""

from __future__ import annotations

import math
from collections.abc import Callable

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
        return f"circuit open: {self._name} does not answer: {self._last_failure}"

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
                f"provider {self._name} does not answer: {why}; trying again every {PROBE_EVERY:g} s, "
                "its jurors abstain until it does"
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
