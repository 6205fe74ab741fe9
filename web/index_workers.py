"""Processes that summarise a run's deliberations for the index, so that a large run is read by every core."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import IO, Any

from ..orchestration.record import Location, Store
from .summaries import FlagBatch, ScoreBatch, Summariser

Summary = Callable[[Summariser, int, int, int], ScoreBatch | FlagBatch]
"""A method of the summariser, by which a worker is told what to make of deliberations."""
_AHEAD = 2
"""Batches that each worker is asked for before its first is taken."""
_NICE = 5
"""How far the workers stand back behind the process that answers the browser."""


class IndexWorkers:
    """Some processes of this module, each told the run and then which deliberations to summarise; they end with their input."""

    def __init__(self, run: Location, number: int) -> None:
        self._processes = [_start(run) for _ in range(number)]

    def __enter__(self) -> IndexWorkers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes:
            process.kill()
            process.communicate()

    def scores(self, after: int, last: int, size: int) -> Iterator[ScoreBatch]:
        """The scores of the deliberations above `after` and not above `last`, in order.

        Raises:
            OSError: A worker could not be asked.
            EOFError: A worker ended without an answer.
        """
        yield from self._answers(Summariser.scores, after, last, size)

    def flags(self, after: int, last: int, size: int) -> Iterator[FlagBatch]:
        """The flags and reasons of those deliberations; raises as `scores` does."""
        yield from self._answers(Summariser.flags, after, last, size)

    def _answers(self, summary: Summary, after: int, last: int, size: int) -> Iterator[Any]:
        asked: deque[subprocess.Popen[bytes]] = deque()
        for turn, start in enumerate(range(after, last, size)):
            if len(asked) == _AHEAD * len(self._processes):
                yield _answer(asked.popleft())
            worker = self._processes[turn % len(self._processes)]
            _tell(worker, (summary, start, min(start + size, last), size))
            asked.append(worker)
        for worker in asked:
            yield _answer(worker)


def _start(run: Location) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    # The address of a database holds its password, which no list of processes may show.
    _tell(process, run)
    return process


def _tell(worker: subprocess.Popen[bytes], wanted: Location | tuple[Summary, int, int, int]) -> None:
    assert worker.stdin is not None
    pickle.dump(wanted, worker.stdin)
    worker.stdin.flush()


def _answer(worker: subprocess.Popen[bytes]) -> Any:
    assert worker.stdout is not None
    return pickle.load(worker.stdout)  # noqa: S301 - of our own child


def work(questions: IO[bytes], answers: IO[bytes]) -> None:
    """Summarise what is asked for until there is no more to ask."""
    store = Store.read(pickle.load(questions))  # noqa: S301 - of our own parent
    summariser = Summariser(store)
    try:
        while True:
            summary, after, last, most = pickle.load(questions)  # noqa: S301
            pickle.dump(summary(summariser, after, last, most), answers)
            answers.flush()
    except EOFError:
        return
    finally:
        store.release()


if __name__ == "__main__":
    os.nice(_NICE)
    # What is read here is let go again at once and refers to nothing in circles; looking for them takes an eighth of the time.
    gc.disable()
    work(sys.stdin.buffer, sys.stdout.buffer)
