"""The line before one provider: who comes first is asked first, at the provider's pace."""

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
from .rate_limiter import Pace


class Places(Protocol):
    """Places in flight at one provider: held while an `async with` block runs, with word of what became of the call."""

    async def __aenter__(self) -> None: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    def leave(self, *, unsent: bool = False) -> None: ...

    def answered(self, tokens: int = 0) -> None: ...

    def busy(self, took: float, retry_after: float | None) -> None:
        """The provider asked for less, `took` seconds after the call was begun."""
        ...

    def failed(self, why: str) -> None: ...

    def let_go(self) -> None: ...


class Line:
    """A place in flight while the `async with` block runs.

    While the circuit is open, the first in line is let through now and then to probe; if that fails, all are refused.
    """

    def __init__(self, pace: Pace, clock: Callable[[], float] = time.monotonic) -> None:
        self._pace = pace
        self._clock = clock
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> None:
        pace, now = self._pace, self._clock()
        if not self._waiting and pace.delay(now) == 0:
            pace.begin(now)
            return
        await self._turn()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.leave(unsent=kind is not None and issubclass(kind, BudgetSpent | LimitReached))

    def leave(self, *, unsent: bool = False) -> None:
        """Give the place back, and for a request that stayed `unsent` what it took of the rates too."""
        if unsent:
            self._pace.unsent(self._clock())
        self._pace.end()
        if self._waiting:
            self._call()

    def answered(self, tokens: int = 0) -> None:
        self._pace.answered(self._clock(), tokens)

    def busy(self, took: float, retry_after: float | None) -> None:
        now = self._clock()
        self._pace.busy(now - took, now, retry_after)

    def failed(self, why: str) -> None:
        """No answer: where nothing is to be expected any more, all who wait are refused."""
        self._pace.failed(self._clock(), why)
        if (given_up := self._pace.given_up) is not None:
            self.dismiss(given_up)

    def let_go(self) -> None:
        """Call everyone: nothing will be sent any more, and each is to find that out for itself."""
        while self._waiting:
            called = self._waiting.popleft()
            if not called.done():
                self._pace.begin(self._clock())
                called.set_result(None)

    def dismiss(self, why: str) -> None:
        """Refuse all who wait."""
        while self._waiting:
            called = self._waiting.popleft()
            if not called.done():
                called.set_exception(ModelFailure("unavailable", why))

    async def _turn(self) -> None:
        """Wait to be called. Whoever is called has a place already, and gives it back if cancelled."""
        called = asyncio.get_running_loop().create_future()
        self._waiting.append(called)
        self._call()
        try:
            await called
        except asyncio.CancelledError:
            if called.done() and not called.cancelled() and called.exception() is None:
                self.leave()
            raise

    def _call(self) -> None:
        """Call those whose turn it is; where the next must wait for a time, come back then."""
        pace, waiting = self._pace, self._waiting
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while waiting:
            if waiting[0].done():
                waiting.popleft()
                continue
            now = self._clock()
            delay = pace.delay(now)
            if delay == 0:
                pace.begin(now)
                waiting.popleft().set_result(None)
                continue
            if delay < math.inf:
                self._timer = asyncio.get_running_loop().call_later(delay, self._call)
            return
