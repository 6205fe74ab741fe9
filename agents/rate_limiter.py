"""The pace at which one provider is asked: its limits, how it backs off and recovers, and when it is given up."""

from __future__ import annotations

import math
from collections.abc import Callable

GROWTH = 0.5
"""What one answer gives back of the places in flight that a busy provider lost."""
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


class Pace:
    """How fast one provider may be asked, and whether at all. It is told the time and never looks at a clock."""

    def __init__(
        self,
        most: int,
        *,
        name: str = "",
        rpm: int | None = None,
        tpm: int | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.most = most
        self.limit = float(most)
        """Requests that may be in flight for now: halved when the provider is busy, grown back by its answers."""
        self.active = 0
        self._name = name
        self._say = say
        self._requests = _Drip(rpm) if rpm else None
        self._tokens = _Drip(tpm) if tpm else None
        self._drips = [drip for drip in (self._requests, self._tokens) if drip is not None]
        self._mean: float | None = None
        """Tokens that a request takes, as far as answers have shown."""
        self._resume_at = 0.0
        self._cut_at = -math.inf
        self._failures = 0
        self._failing_since = 0.0
        self._probe_at: float | None = None
        """When one request is let through to see; None while the circuit is closed."""
        self._why = ""

    @property
    def given_up(self) -> str | None:
        """Why nothing is to be expected of the provider; None while the circuit is closed."""
        if self._probe_at is None:
            return None
        return f"circuit open: {self._name} does not answer: {self._why}"

    def delay(self, now: float) -> float:
        """Seconds until one more request may start: 0 for now, infinite while every place is taken."""
        if self.active + 1 > self.limit:
            return math.inf
        if self._tokens is not None and self._mean is None and self.active:
            # Until an answer has shown what a request takes, one at a time.
            return math.inf
        ready = self._resume_at if self._probe_at is None else max(self._resume_at, self._probe_at)
        for drip in self._drips:
            ready = max(ready, drip.free_at)
        return max(0.0, ready - now)

    def begin(self, now: float) -> None:
        """A request takes a place."""
        self.active += 1
        if self._probe_at is not None:
            self._probe_at = now + PROBE_EVERY
        if self._requests is not None:
            self._requests.take(now, 1)
        if self._tokens is not None:
            self._tokens.take(now, self._mean or 0.0)

    def end(self) -> None:
        """It gives its place back."""
        self.active -= 1

    def unsent(self, now: float) -> None:
        """It was not sent after all: what it took of the rates is there for the next."""
        if self._requests is not None:
            self._requests.take(now, -1)
        if self._tokens is not None:
            self._tokens.take(now, -(self._mean or 0.0))

    def answered(self, now: float, tokens: int = 0) -> None:
        """The provider answered, be it with a refusal: it is alive."""
        self._alive()
        if self.limit < self.most:
            self.limit = min(self.most, self.limit + GROWTH)
        if self._tokens is not None and tokens:
            self._tokens.take(now, tokens - (self._mean or 0.0))
            self._mean = tokens if self._mean is None else 0.8 * self._mean + 0.2 * tokens

    def busy(self, begun: float, now: float, retry_after: float | None) -> None:
        """The provider asked for less: everyone waits, then half as many go on.

        Requests that had `begun` before it last asked tell nothing new, and do not halve again.
        """
        self._alive()
        pause = PAUSE if retry_after is None else min(retry_after, LONGEST_PAUSE)
        self._resume_at = max(self._resume_at, now + pause)
        if begun >= self._cut_at:
            self.limit = max(1.0, self.limit / 2)
            self._cut_at = now

    def failed(self, now: float, why: str) -> None:
        """No answer, or none that is one. `why` is shown to people and must hold no key and no case's words."""
        if not self._failures:
            self._failing_since = now
        self._failures += 1
        self._why = why
        if self._probe_at is not None:
            self._probe_at = now + PROBE_EVERY
        elif self._failures >= FAILURES and now - self._failing_since >= STREAK:
            self._probe_at = now + PROBE_EVERY
            self._tell(
                f"provider {self._name} does not answer: {why}; trying again every {PROBE_EVERY:g} s, "
                "its jurors abstain until it does"
            )

    def _alive(self) -> None:
        self._failures = 0
        if self._probe_at is not None:
            self._probe_at = None
            self._tell(f"provider {self._name} answers again")

    def _tell(self, line: str) -> None:
        if self._say is not None:
            self._say(line)


class _Drip:
    """A rate, kept as the time at which what was taken will have been earned."""

    def __init__(self, per_minute: int) -> None:
        self._each = 60.0 / per_minute
        self.free_at = 0.0

    def take(self, now: float, amount: float) -> None:
        self.free_at = max(self.free_at, now - SLACK) + amount * self._each
