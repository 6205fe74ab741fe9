"""Writing to the index: scores first, then flags and reasons. A batch is written whole or not at all."""

from __future__ import annotations

import gc
import json
import os
import pickle
import sqlite3
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple

from ..orchestration.reading.analysis import InstantAgreement, Kind, contradictions, interest
from ..orchestration.reading.analysis.movement import distance
from ..orchestration.record import Arm, Location, Store
from ..rubrics.scale import Value
from .summaries import (
    DERIVED,
    FlagBatch,
    FlaggedDeliberation,
    FlagGroup,
    ScoreBatch,
    Summariser,
    Sums,
    add_sum,
    flag_groups,
    merge_groups,
)

FILE = "inspector.sqlite"
_FORM = f"12 {version('venire')}"
"""Changes whenever an index made before could not be read, or would say something else."""

SCHEMA = """
CREATE TABLE about (form TEXT NOT NULL, scored_to INTEGER NOT NULL, flagged_to INTEGER NOT NULL);
CREATE TABLE deliberations (
    number INTEGER PRIMARY KEY, arm INTEGER NOT NULL, arm_name TEXT NOT NULL, case_id TEXT NOT NULL, title TEXT NOT NULL,
    about TEXT NOT NULL, stop TEXT NOT NULL, rounds INTEGER NOT NULL, turns INTEGER NOT NULL, tokens INTEGER NOT NULL,
    usd REAL, seconds REAL NOT NULL, spread REAL, hung INTEGER NOT NULL, case_group TEXT NOT NULL, system TEXT NOT NULL,
    cause TEXT NOT NULL, flags INTEGER, interest REAL, UNIQUE (case_id, arm)
);
CREATE INDEX by_interest ON deliberations (interest DESC, case_id);
CREATE INDEX by_system ON deliberations (system);
CREATE INDEX by_group ON deliberations (case_group);
CREATE TABLE outcomes (
    number INTEGER NOT NULL, attribute TEXT NOT NULL, status TEXT NOT NULL, value TEXT, method TEXT NOT NULL, score REAL,
    PRIMARY KEY (number, attribute)
) WITHOUT ROWID;
CREATE TABLE flags (
    number INTEGER NOT NULL, kind TEXT NOT NULL, weight INTEGER NOT NULL, attribute TEXT NOT NULL, text TEXT NOT NULL,
    attributes TEXT NOT NULL, weights TEXT NOT NULL, PRIMARY KEY (number, kind)
) WITHOUT ROWID;
CREATE TABLE agreements (number INTEGER NOT NULL, content TEXT NOT NULL);
CREATE INDEX agreements_of ON agreements (number);
CREATE VIRTUAL TABLE reasons USING fts5 (words, content = '', tokenize = 'unicode61 remove_diacritics 2');
CREATE TABLE figures (
    name TEXT PRIMARY KEY, scored INTEGER NOT NULL, told_of INTEGER NOT NULL DEFAULT 0, content TEXT
) WITHOUT ROWID;
CREATE TABLE differences (
    ratings TEXT NOT NULL, place INTEGER NOT NULL, case_id TEXT NOT NULL, arm_name TEXT NOT NULL, attribute TEXT NOT NULL,
    score REAL NOT NULL, people REAL NOT NULL, PRIMARY KEY (ratings, place)
) WITHOUT ROWID;
CREATE INDEX differences_counted ON differences (ratings, arm_name, people, score, attribute);
CREATE TABLE sums (
    arm INTEGER NOT NULL, topic TEXT NOT NULL, one TEXT NOT NULL, two TEXT NOT NULL, times INTEGER NOT NULL,
    total REAL NOT NULL, PRIMARY KEY (arm, topic, one, two)
) WITHOUT ROWID;
"""
"""A deliberation's `flags` and `interest` are NULL until its flags have been looked for. `differences` and the
figures of them are kept for each set of people's ratings, named by its digest; a difference's `place` is its rank, the largest first."""


class ReadTo(NamedTuple):
    """The number of the last deliberation whose scores are in the index, and of the last whose flags and reasons are."""

    scored: int
    flagged: int


def prepare_index(path: Path) -> None:
    """An index of this form at `path`: the one that is there, or an empty one."""
    form = None
    if path.exists():
        connection = open_index(path)
        with suppress(sqlite3.DatabaseError):
            (form,) = connection.execute("SELECT form FROM about").fetchone() or (None,)
        connection.close()
    if form != _FORM:
        for left in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
            left.unlink(missing_ok=True)
        connection = open_index(path)
        start_over(connection)
        connection.close()
        path.chmod(0o600)


def open_index(path: Path) -> sqlite3.Connection:
    """A connection to the index at `path`, for any thread."""
    connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=30)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = OFF")
    return connection


def start_over(connection: sqlite3.Connection) -> None:
    """Empty the index."""
    tables = [
        row[0]
        for row in connection.execute(
            # The tables behind the full-text one go with it.
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name != 'sqlite_sequence' AND name NOT LIKE 'reasons\\_%' ESCAPE '\\'"
        )
    ]
    dropped = "".join(f'DROP TABLE "{name}";' for name in tables)
    connection.executescript(f"BEGIN IMMEDIATE; {dropped} {SCHEMA} COMMIT;")
    connection.execute("INSERT INTO about VALUES (?, 0, 0)", (_FORM,))


def read_to(connection: sqlite3.Connection) -> ReadTo:
    """How far the index has read."""
    return ReadTo(*connection.execute("SELECT scored_to, flagged_to FROM about").fetchone())


def write_score_batch(connection: sqlite3.Connection, batch: ScoreBatch) -> bool:
    """Add scores to the index; False where another inspector had read on, or all has to be counted anew."""
    try:
        with transaction(connection):
            if read_to(connection).scored != batch.after:
                return False
            connection.executemany(
                "INSERT INTO deliberations VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)",
                [summary.row for summary in batch.summaries],
            )
            connection.executemany(
                "INSERT INTO outcomes VALUES (?, ?, ?, ?, ?, ?)",
                [(summary.row.number, *score) for summary in batch.summaries for score in summary.scores],
            )
            _add_sums(connection, batch.sums)
            connection.execute("UPDATE about SET scored_to = ?", (batch.read_to,))
    except sqlite3.IntegrityError:
        # A case was changed and judged again: sums cannot be taken back, so all is counted anew.
        start_over(connection)
        return False
    return True


def write_flag_batch(connection: sqlite3.Connection, arms: dict[int, Arm], batch: FlagBatch) -> bool:
    """Add flags and reasons to deliberations whose scores are there; False where another inspector had read on."""
    with transaction(connection):
        if read_to(connection).flagged != batch.after:
            return False
        for summary in batch.summaries:
            _add_flags(connection, summary, arms, batch.sums)
        _add_sums(connection, batch.sums)
        connection.execute("UPDATE about SET flagged_to = ?", (batch.read_to,))
    return True


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """What is written within is written whole or not at all."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _add_flags(
    connection: sqlite3.Connection, summary: FlaggedDeliberation, arms: dict[int, Arm], sums: dict[int, Sums]
) -> None:
    number = summary.number
    others = connection.execute(
        "SELECT number, arm FROM deliberations WHERE case_id = ? AND flags IS NOT NULL", (summary.case,)
    ).fetchall()
    own: list[FlagGroup] = []
    for other_number, other in others:
        if other in arms:
            own += _contrast(connection, summary, other_number, arms[other], sums)
    found = merge_groups([*summary.flags, *own])
    for kind in _kinds(found) - _kinds(summary.flags):
        add_sum(sums[summary.arm], ("flagged", kind, ""), 1, 0.0)
    connection.execute("INSERT INTO reasons (rowid, words) VALUES (?, ?)", (number, summary.reasons))
    connection.executemany(
        "INSERT INTO agreements VALUES (?, ?)",
        [(number, json.dumps(agreement._asdict())) for agreement in summary.agreements],
    )
    _keep_flags(connection, number, found)


def _keep_flags(connection: sqlite3.Connection, number: int, found: Sequence[FlagGroup]) -> None:
    connection.executemany(
        "INSERT OR REPLACE INTO flags VALUES (?, ?, ?, ?, ?, ?, ?)", [(number, *group) for group in found]
    )
    weights = [int(digit) for group in found for digit in group.weights]
    connection.execute(
        "UPDATE deliberations SET flags = ?, interest = ? WHERE number = ?",
        (len(weights), interest(weights), number),
    )


def _kinds(found: Sequence[FlagGroup]) -> set[Kind]:
    return {group.kind for group in found}


def _contrast(
    connection: sqlite3.Connection,
    summary: FlaggedDeliberation,
    number: int,
    other: Arm,
    sums: dict[int, Sums],
) -> tuple[FlagGroup, ...]:
    """Where this arm agreed at once and the other did not follow; the other way round is noted on the other's row."""
    mine, found = _values_of(connection, summary.number), _values_of(connection, number)
    shared = mine.keys() & found.keys()
    alike = sum(distance(mine[name], found[name]) < 0.5 for name in shared)
    add_sum(sums[summary.arm], ("alike", other.name, ""), len(shared), alike)
    theirs = [
        InstantAgreement(**json.loads(content))
        for (content,) in connection.execute("SELECT content FROM agreements WHERE number = ?", (number,))
    ]
    noted = flag_groups(contradictions(theirs, summary.arm_name, mine))
    if noted:
        for kind in _note(connection, number, noted):
            add_sum(sums.setdefault(other.id, {}), ("flagged", kind, ""), 1, 0.0)
    return flag_groups(contradictions(summary.agreements, other.name, found))


def _values_of(connection: sqlite3.Connection, number: int) -> dict[str, Value]:
    """What a deliberation reached of each attribute."""
    rows = connection.execute(
        "SELECT attribute, value FROM outcomes WHERE number = ? AND value IS NOT NULL AND method != ?",
        (number, DERIVED),
    )
    return {name: json.loads(value) for name, value in rows}


def _note(connection: sqlite3.Connection, number: int, noted: Sequence[FlagGroup]) -> set[Kind]:
    """Add flags to a deliberation that has some already; the kinds that are new to it."""
    rows = connection.execute(
        "SELECT kind, weight, attribute, text, attributes, weights FROM flags WHERE number = ?", (number,)
    )
    before = [FlagGroup(*row) for row in rows]
    _keep_flags(connection, number, merge_groups([*before, *noted]))
    return _kinds(noted) - _kinds(before)


def _add_sums(connection: sqlite3.Connection, sums: dict[int, Sums]) -> None:
    connection.executemany(
        "INSERT INTO sums VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET times = times + excluded.times, "
        "total = total + excluded.total",
        [(arm, *key, times, total) for arm, mine in sums.items() for key, (times, total) in mine.items()],
    )


Summary = Callable[[Summariser, int, int, int], ScoreBatch | FlagBatch]
"""A method of the summariser, by which a worker is told what to make of deliberations."""
_AHEAD = 2
"""Batches that each worker is asked for before its first is taken."""
NICE = 5
"""How far the workers stand back behind the process that answers the browser."""


class IndexWorkers:
    """Some processes of this module, each told the run and then which deliberations to summarise; they end with their input."""

    def __init__(self, run: Location, number: int) -> None:
        self._processes = [start_worker(__name__) for _ in range(number)]
        for process in self._processes:
            # The address of a database holds its password, which no list of processes may show.
            _tell(process, run)

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


def start_worker(module: str) -> subprocess.Popen[bytes]:
    """A process of one of our modules, to be told by its input what to do."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


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
    os.nice(NICE)
    # What is read here is let go again at once and refers to nothing in circles; looking for them takes an eighth of the time.
    gc.disable()
    work(sys.stdin.buffer, sys.stdout.buffer)
