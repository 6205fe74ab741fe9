"""Figures that take long to compute: a process of this module computes them and keeps them in the index, where pages read them."""

from __future__ import annotations

import json
import os
import pickle
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

from ..orchestration.record import Location, Store
from .deliberation_reader import last_shown
from .index_writer import NICE, open_index, read_to, start_worker

SYSTEMS = "systems"
"""The name of the figures on the systems that a run compares."""

Keep = Callable[[Location, sqlite3.Connection], None]
"""Computes figures of a run and writes them into its index."""


class KeptFigure(NamedTuple):
    """What the index has under a name."""

    scored: int
    """The last deliberation that the rows beside it are of; 0 where there are none."""
    told_of: int
    """The last deliberation that `content` is of; 0 while it is computed for the first time."""
    content: dict[str, Any] | None


def kept_figure(connection: sqlite3.Connection, name: str) -> KeptFigure:
    found = connection.execute("SELECT scored, told_of, content FROM figures WHERE name = ?", (name,))
    scored, told_of, text = found.fetchone() or (0, 0, None)
    return KeptFigure(scored, told_of, json.loads(text) if text else None)


def keep_systems(run: Location, connection: sqlite3.Connection) -> None:
    """Compare the systems of a run of pairs, as `venire winrate` does."""
    from ..evals.audits.pair_bias import compared_systems, pair_section, system_matrix
    from ..evals.report.section import records, section_json

    scored = read_to(connection).scored
    reports, hung = compared_systems(run)
    content = {
        "sections": [
            {**section_json(pair_section(report)), "matrix": records(system_matrix(report))}
            for report in reports
        ],
        "hung": [arm._asdict() for arm in hung],
    }
    connection.execute(
        "INSERT OR REPLACE INTO figures VALUES (?, ?, ?, ?)", (SYSTEMS, scored, scored, json.dumps(content))
    )


class FiguresWorker:
    """A process that keeps figures, given by name, up with the index, apart from the one that answers the browser."""

    def __init__(self, run: Location, index: Path, figures: Mapping[str, Keep]) -> None:
        self._process = start_worker(__name__)
        task = pickle.dumps((run, index, figures))
        # The process reads only once it has started.
        threading.Thread(target=self._tell, args=(task,), daemon=True).start()

    def _tell(self, task: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(task)
        self._process.stdin.flush()

    @property
    def failed(self) -> bool:
        return self._process.poll() is not None

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


_REST = 10.0
"""How many times as long as a computation took is waited before the next, while a run goes on."""


def keep_up(questions: IO[bytes]) -> None:
    """Compute again whenever all scores of the record are in the index and some are new; ends with its input."""
    run, index, figures = pickle.load(questions)  # noqa: S301 - of our own parent
    threading.Thread(target=_end_with, args=(questions,), daemon=True).start()
    store, connection, pause = Store.read(run), open_index(index), 1.0
    while True:
        scored, start = read_to(connection).scored, time.monotonic()
        for name, keep in figures.items() if scored == last_shown(store) else ():
            if kept_figure(connection, name).told_of < scored:
                keep(run, connection)
                pause = max(1.0, _REST * (time.monotonic() - start))
        time.sleep(pause)


def _end_with(questions: IO[bytes]) -> None:
    questions.read()
    os._exit(0)


if __name__ == "__main__":
    os.nice(NICE)
    keep_up(sys.stdin.buffer)
