"""Processes that summarise a run's deliberations for the index, so that a large run is read by every core."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from types import TracebackType
from typing import IO

from ..orchestration.record import Location, Store
from .summaries import Batch, Summariser

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

    def batches(self, after: int, last: int, size: int) -> Iterator[Batch]:
        """The deliberations above `after` and not above `last`, in order.

        Raises:
            OSError: A worker could not be asked.
            EOFError: A worker ended without an answer.
        """
        asked: deque[subprocess.Popen[bytes]] = deque()
        for turn, start in enumerate(range(after, last, size)):
            if len(asked) == _AHEAD * len(self._processes):
                yield _answer(asked.popleft())
            worker = self._processes[turn % len(self._processes)]
            _tell(worker, (start, min(start + size, last)))
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


def _tell(worker: subprocess.Popen[bytes], wanted: Location | tuple[int, int]) -> None:
    assert worker.stdin is not None
    pickle.dump(wanted, worker.stdin)
    worker.stdin.flush()


def _answer(worker: subprocess.Popen[bytes]) -> Batch:
    assert worker.stdout is not None
    found: Batch = pickle.load(worker.stdout)  # noqa: S301 - of our own child
    return found


def work(questions: IO[bytes], answers: IO[bytes]) -> None:
    """Summarise what is asked for until there is no more to ask."""
    store = Store.read(pickle.load(questions))  # noqa: S301 - of our own parent
    summariser = Summariser(store)
    try:
        while True:
            after, last = pickle.load(questions)  # noqa: S301
            pickle.dump(summariser.batch_between(after, last), answers)
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
