"""Batches: one thread that does all that is waiting in one go, so that the event loop never waits for a disk."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

MOST = 512
"""Jobs in one batch at the most."""

Job = TypeVar("Job")
Result = TypeVar("Result")


class Batches(Generic[Job, Result]):
    """Jobs that come in one by one and are done together: the first waits for nobody, the rest for those before."""

    def __init__(self, work: Callable[[list[Job]], Sequence[Result]], *, name: str) -> None:
        self._work = work
        self._waiting: queue.SimpleQueue[tuple[Job, asyncio.Future[Result]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    async def done(self, job: Job) -> Result:
        """The result of `job`, or what went wrong with its batch."""
        result: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.put((job, result))
        return await result

    def stop(self) -> None:
        """Do what is waiting, and end."""
        self._waiting.put(None)
        self._thread.join()

    def _serve(self) -> None:
        stopping = False
        while not stopping:
            batch = [self._waiting.get()]
            while len(batch) < MOST and not self._waiting.empty():
                batch.append(self._waiting.get())
            stopping = None in batch
            jobs = [one for one in batch if one is not None]
            if jobs:
                self._do(jobs)

    def _do(self, jobs: list[tuple[Job, asyncio.Future[Result]]]) -> None:
        results: Sequence[Result] = ()
        problem: Exception | None = None
        try:
            results = self._work([job for job, _ in jobs])
        except Exception as error:
            # Whatever it is belongs to those who wait: a thread that died of it would leave them waiting for ever.
            problem = error
        # A loop that was closed has nobody left in it to be told.
        with suppress(RuntimeError):
            jobs[0][1].get_loop().call_soon_threadsafe(_settle, [f for _, f in jobs], results, problem)


def _settle(
    futures: list[asyncio.Future[Result]], results: Sequence[Result], problem: Exception | None
) -> None:
    for number, future in enumerate(futures):
        if future.done():
            continue
        if problem is None:
            future.set_result(results[number])
        else:
            future.set_exception(problem)
