"""Batches: one thread that does all that is waiting in one go, so that the event loop never waits for a disk."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

MOST = 512
"""Jobs in one batch at the most."""
BUSY = 300.0
"""Jobs a second above which it pays to wait for more of them."""
LOOK = 0.05
"""Seconds over which jobs are counted to tell that."""
GATHER = 0.01
"""Seconds between two batches while it is busy: every batch costs a disk's answer and two changes of thread."""

Job = TypeVar("Job")
Result = TypeVar("Result")


class Batches(Generic[Job, Result]):
    """Jobs that come in one by one on one event loop and are done together.

    The first waits for nobody, the rest for those before; where many come, all of them for a moment.
    """

    def __init__(self, work: Callable[[list[Job]], Sequence[Result]], *, name: str) -> None:
        self._work = work
        self._waiting: deque[tuple[Job, asyncio.Future[Result]]] = deque()
        self._called: queue.SimpleQueue[bool] = queue.SimpleQueue()
        """True for each batch, False for the end."""
        self._under_way = False
        self._counted, self._since, self._busy = 0, time.monotonic(), False
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    async def done(self, job: Job) -> Result:
        """The result of `job`, or what went wrong with its batch."""
        loop = asyncio.get_running_loop()
        result: asyncio.Future[Result] = loop.create_future()
        self._waiting.append((job, result))
        self._counted += 1
        if not self._under_way:
            self._under_way = True
            self._call(loop)
        return await result

    def stop(self) -> None:
        """Do what is waiting, and end."""
        self._called.put(False)
        self._thread.join()

    def _call(self, loop: asyncio.AbstractEventLoop) -> None:
        """Have the thread do what is waiting, after those who are about to ask have done so."""
        now = time.monotonic()
        if now - self._since > LOOK:
            self._busy = self._counted > BUSY * (now - self._since)
            self._counted, self._since = 0, now
        if self._busy:
            loop.call_later(GATHER, self._called.put, True)
        else:
            loop.call_soon(self._called.put, True)

    def _serve(self) -> None:
        while self._called.get():
            self._do(self._next())
        while rest := self._next():
            self._do(rest)

    def _next(self) -> list[tuple[Job, asyncio.Future[Result]]]:
        waiting = self._waiting
        return [waiting.popleft() for _ in range(min(len(waiting), MOST))]

    def _do(self, batch: list[tuple[Job, asyncio.Future[Result]]]) -> None:
        results: Sequence[Result] = ()
        problem: Exception | None = None
        try:
            results = self._work([job for job, _ in batch])
        except Exception as error:
            # Whatever it is belongs to those who wait: a thread that died of it would leave them waiting for ever.
            problem = error
        # A loop that was closed has nobody left in it to be told.
        with suppress(RuntimeError):
            loop = batch[0][1].get_loop()
            loop.call_soon_threadsafe(self._settle, loop, [f for _, f in batch], results, problem)

    def _settle(
        self,
        loop: asyncio.AbstractEventLoop,
        futures: list[asyncio.Future[Result]],
        results: Sequence[Result],
        problem: Exception | None,
    ) -> None:
        for number, future in enumerate(futures):
            if future.done():
                continue
            if problem is None:
                future.set_result(results[number])
            else:
                future.set_exception(problem)
        self._under_way = bool(self._waiting)
        if self._waiting:
            self._call(loop)
