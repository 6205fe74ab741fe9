"""Batches: a thread that does all waiting jobs in one go, so that the event loop never waits for a disk."""

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
"""Most jobs in one batch."""
BUSY = 300.0
"""Jobs a second above which a batch waits for more of them."""
LOOK = 0.05
"""Seconds over which the rate of jobs is measured."""
GATHER = 0.01
"""Seconds between two batches while it is busy: every batch costs a disk's answer and two changes of thread."""

Job = TypeVar("Job")
Result = TypeVar("Result")


class Batches(Generic[Job, Result]):
    """Batches jobs that are submitted one by one on one event loop, and runs each batch on a thread.

    The first job starts at once; those submitted meanwhile form the next batch; under load, a batch waits `GATHER`.
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

    async def submit(self, job: Job) -> Result:
        """The result of `job`; raises whatever its batch raised."""
        loop = asyncio.get_running_loop()
        result: asyncio.Future[Result] = loop.create_future()
        self._waiting.append((job, result))
        self._counted += 1
        if not self._under_way:
            self._under_way = True
            self._call(loop)
        return await result

    def stop(self) -> None:
        """Finish the waiting jobs, and end the thread."""
        self._called.put(False)
        self._thread.join()

    def _call(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wake the thread, after the jobs that are about to be submitted in this turn of the loop."""
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
