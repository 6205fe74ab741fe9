"""Retry policy: whether one request is sent again, and after which pause.

A provider that asks to wait is rate-limited, not down: waits and failures are counted apart.
"""

from __future__ import annotations

import random

from .model import TransientFailure

FAILURES = 4
"""How often one request may fail; it is not sent again after the last."""
TIMEOUTS = 2
"""How often one request may time out."""
WAITS = 8
"""How often one request may be told to wait."""
PATIENCE = 120.0
"""Seconds that one request waits at the most, all the times it was told to wait together."""
LONGEST_PAUSE = 30.0
"""Seconds between two failures at the most."""
SENDS = FAILURES + WAITS
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
        least = max(failure.retry_after or 0.0, min(LONGEST_PAUSE, 0.125 * 2**self._waits))
        pause = least * self._rng.uniform(1.0, 1.25)
        self._waited += pause
        return None if self._waits > WAITS or self._waited > PATIENCE else pause

    def _backoff(self, failure: TransientFailure) -> float | None:
        self._failures += 1
        self._timeouts += failure.reason == "timeout"
        if self._failures == FAILURES or self._timeouts == TIMEOUTS:
            return None
        if failure.retry_after is not None:
            return min(failure.retry_after, LONGEST_PAUSE)
        return min(LONGEST_PAUSE, 0.25 * 2**self._failures) * self._rng.uniform(0.5, 1.0)
