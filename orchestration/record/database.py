"""A run's database as the record uses it: where it lies, its tables, and many writes merged into few statements by a thread, so that the event loop never waits for a disk."""

from __future__ import annotations

import asyncio
import queue
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit, urlunsplit

from ...agents.clients.keys import names_secret
from ...rubrics.errors import VenireError

Location = Path | str
"""A directory, or an address that begins with `postgresql://`."""
Row = Sequence[Any]
Values = tuple[Any, ...]
Write = tuple[str, Values]
"""A statement with `?` for its values; safe to be made twice."""
Item = TypeVar("Item")

LAYOUT = 5
"""The version of the tables below."""
CHUNKS = (64, 16, 4, 1)
"""How many rows or queries one statement holds: few sizes, so that each is prepared once."""

_TABLES = """
CREATE TABLE arms (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, fingerprint TEXT NOT NULL, manifest TEXT NOT NULL,
    UNIQUE (name, fingerprint)
);
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE sittings (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, arm INTEGER NOT NULL REFERENCES arms (id),
    cases INTEGER, started_at DOUBLE PRECISION NOT NULL
);
CREATE TABLE cases (id TEXT NOT NULL, fingerprint TEXT NOT NULL, content TEXT NOT NULL, PRIMARY KEY (id, fingerprint));
CREATE TABLE texts (hash TEXT PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE calls (
    key TEXT PRIMARY KEY, request TEXT NOT NULL, text TEXT NOT NULL, finish TEXT NOT NULL, prompt INTEGER NOT NULL,
    completion INTEGER NOT NULL, cached INTEGER NOT NULL, usd DOUBLE PRECISION, seconds DOUBLE PRECISION NOT NULL,
    made_at DOUBLE PRECISION NOT NULL, estimated INTEGER NOT NULL
);
CREATE INDEX calls_by_time ON calls (made_at, prompt, completion, cached, usd, estimated);
CREATE TABLE sealed (key TEXT PRIMARY KEY, words TEXT NOT NULL);
CREATE TABLE transcripts (
    id INTEGER PRIMARY KEY, arm INTEGER NOT NULL REFERENCES arms (id), case_id TEXT NOT NULL,
    case_fingerprint TEXT NOT NULL, position INTEGER NOT NULL, follows INTEGER NOT NULL,
    finished_at DOUBLE PRECISION NOT NULL, content TEXT NOT NULL, UNIQUE (arm, case_id, follows)
);
CREATE INDEX transcripts_of_case ON transcripts (case_id, id);
CREATE INDEX transcripts_in_order ON transcripts (arm, position, id);
CREATE INDEX transcripts_by_time ON transcripts (arm, finished_at);
CREATE TABLE unfinished (
    arm INTEGER NOT NULL REFERENCES arms (id), case_id TEXT NOT NULL, case_fingerprint TEXT NOT NULL,
    changed_at DOUBLE PRECISION NOT NULL, content TEXT NOT NULL, PRIMARY KEY (arm, case_id)
);
"""
_SCHEMES = ("postgresql", "postgres")
_HIDDEN = "***"
_ROW = re.compile(r"VALUES (\([?, ]+\))")


class Database(Protocol):
    """One run's tables. SQL is written once, with `?` for values. Raises `VenireError` for what goes wrong.

    Opened for writing, a run in a directory is locked: one process writes, until it closes. Several may write one that is `distant`.
    """

    name: str
    """The run as it is shown: never with a password."""
    distant: bool
    """Whether a look-up may take so long that the event loop must not wait for it."""

    def writing(self) -> bool:
        """Whether a process is writing the run now."""
        ...

    def lease(self, name: str) -> bool:
        """Whether this process now holds the lease of that name; False while another does. It lapses with the process."""
        ...

    def end_lease(self, name: str) -> None: ...

    def version(self) -> int:
        """The version of its layout; 0 before it has tables."""
        ...

    def create_tables(self, script: str, version: int) -> None:
        """Make the tables of this version, all of them or none."""
        ...

    def rows(self, sql: str, values: Values = ()) -> list[Row]: ...

    def rows_of_each(self, queries: Sequence[tuple[str, Values]]) -> list[list[Row]]:
        """The rows of several queries, made together."""
        ...

    def commit(self, writes: Sequence[Write]) -> None:
        """Make all writes in one transaction. Once this returns they survive the process."""
        ...

    def close(self) -> None: ...


class NoRun(VenireError):
    """There is no run at a place that was named."""


def no_run(
    place: object, *, remedy: str = "give the directory that was named with -o when venire run made the run"
) -> NoRun:
    """The error that names the place."""
    return NoRun(f"{place}: there is no run here", remedy=remedy)


def create_missing_tables(database: Database) -> None:
    """Make the tables of a record that has none yet."""
    if layout_version(database) == 0:
        database.create_tables(_TABLES, LAYOUT)


def layout_version(database: Database) -> int:
    """The version of the record's layout, 0 where it has none; an error where it is not this venire's."""
    version = database.version()
    if version not in (0, LAYOUT):
        raise VenireError(
            f"{database.name}: the run's record has version {version}, but this venire reads version {LAYOUT}",
            remedy="read the run with the version of venire that made it, or run its cases again in a new directory",
        )
    return version


def is_address(location: Location) -> bool:
    """Whether this names a database rather than a directory."""
    return (
        isinstance(location, str) and location.partition("://")[0].lower() in _SCHEMES and "://" in location
    )


def without_password(address: str) -> str:
    """The address as it may be shown and stored: a password in it, or a key in its query, is masked."""
    parts = _url_parts(address)
    if parts is None:
        return _HIDDEN
    before, at, host = parts.netloc.rpartition("@")
    user, colon, _ = before.partition(":")
    if user and parts.scheme.lower() not in _SCHEMES:
        # Whoever names a user alone to a model's server names a token.
        user, colon = _HIDDEN, ""
    query = parse_qsl(parts.query, keep_blank_values=True)
    masked = [(name, _HIDDEN if names_secret(name) else value) for name, value in query]
    return urlunsplit(
        parts._replace(
            netloc=f"{user}{colon and ':' + _HIDDEN}{at}{host}",
            query=urlencode(masked, safe="/*") if masked != query else parts.query,
        )
    )


def _url_parts(address: str) -> SplitResult | None:
    try:
        return urlsplit(address)
    except ValueError:
        return None


def merge_statements(writes: Sequence[Write]) -> list[Write]:
    """The same writes with inserts as multi-row statements, in the order in which each kind first comes.

    Every statement costs a round trip, or a turn at the interpreter. What inserts no row stands alone, after all that
    came before it and before all that comes after.
    """
    merged: list[Write] = []
    inserts: dict[str, list[Values]] = {}
    for statement, values in writes:
        if _ROW.search(statement) is not None:
            inserts.setdefault(statement, []).append(values)
        else:
            merged += [*_merged_inserts(inserts), (statement, values)]
            inserts = {}
    return [*merged, *_merged_inserts(inserts)]


def _merged_inserts(inserts: Mapping[str, Sequence[Values]]) -> list[Write]:
    return [
        (_of_many(statement, len(chunk)), tuple(value for values in chunk for value in values))
        for statement, rows in inserts.items()
        for chunk in chunks(rows)
    ]


def chunks(items: Sequence[Item]) -> list[Sequence[Item]]:
    """The sequence cut into the few sizes that statements are prepared for."""
    parts: list[Sequence[Item]] = []
    at = 0
    while at < len(items):
        size = next(size for size in CHUNKS if size <= len(items) - at)
        parts.append(items[at : at + size])
        at += size
    return parts


@lru_cache(maxsize=256)
def _of_many(statement: str, rows: int) -> str:
    """The statement that inserts so many rows."""
    row = _ROW.search(statement)
    assert row is not None
    return statement[: row.end()] + f", {row.group(1)}" * (rows - 1) + statement[row.end() :]


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
