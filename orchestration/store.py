"""The record of a run: append-only, every answer committed before it is used."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import queue
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from ..agents.model import Reply, Request, Usage, digest
from ..personas.jury import Jury
from ..rubrics.case import Case
from ..rubrics.errors import VenireError
from ..rubrics.rubric import Rubric
from .transcript import Transcript

FILE = "record.sqlite"
_BATCH = 512

MIGRATIONS = [
    """
    CREATE TABLE arms (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL, fingerprint TEXT NOT NULL, manifest TEXT NOT NULL,
        UNIQUE (name, fingerprint)
    );
    CREATE TABLE cases (id TEXT NOT NULL, fingerprint TEXT NOT NULL, content TEXT NOT NULL, PRIMARY KEY (id, fingerprint));
    CREATE TABLE texts (hash TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE calls (key TEXT PRIMARY KEY, request TEXT NOT NULL, reply TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE transcripts (
        id INTEGER PRIMARY KEY, arm INTEGER NOT NULL REFERENCES arms (id), case_id TEXT NOT NULL,
        case_fingerprint TEXT NOT NULL, content TEXT NOT NULL, UNIQUE (arm, case_id, case_fingerprint)
    );
    CREATE INDEX transcripts_by_case ON transcripts (case_id);
    """,
]
"""The schema, one script for each version; the record's `user_version` says how many were applied."""


class Arm(NamedTuple):
    """A jury with everything that decides what it will ask, as it sat in this run."""

    id: int
    name: str
    rubric: Rubric
    jury: Jury
    manifest: dict[str, Any]


class Store:
    """A run directory. One process writes at a time; any number may read."""

    def __init__(self, folder: Path, *, write: bool) -> None:
        self.folder = folder
        self._lock = _locked(folder) if write else None
        self._path = folder / FILE
        self._reading = self._connection()
        self._writer = _Writer(self._connection()) if write else None
        if write:
            _migrate(self._reading)
        self._known_texts: set[str] = set()

    @classmethod
    def create(cls, folder: Path) -> Store:
        """The run at `folder`, made if it does not exist, for writing."""
        if folder.exists() and not folder.is_dir():
            raise VenireError(f"{folder}: is a file", remedy="name a directory for the run")
        if folder.is_dir() and any(folder.iterdir()) and not (folder / FILE).exists():
            raise VenireError(f"{folder}: not empty, and not a run", remedy="name a new directory")
        folder.mkdir(parents=True, exist_ok=True)
        return cls(folder, write=True)

    @classmethod
    def read(cls, folder: Path) -> Store:
        """The run at `folder`, for reading."""
        if not (folder / FILE).exists():
            raise VenireError(f"{folder}: no run there", remedy="name the directory given to venire run -o")
        return cls(folder, write=False)

    async def close(self) -> None:
        if self._writer is not None:
            await asyncio.to_thread(self._writer.stop)
        self.release()

    def release(self) -> None:
        """Let go of a run that was opened for reading."""
        self._reading.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    # Calls

    async def get(self, key: str) -> Reply | None:
        row = self._reading.execute("SELECT reply FROM calls WHERE key = ?", (key,)).fetchone()
        return _reply(row[0]) if row else None

    async def put(self, key: str, request: Request, reply: Reply) -> None:
        writes: list[_Write] = []
        messages: list[dict[str, str]] = []
        for message in request.messages:
            opening = ""
            if message.opening:
                opening = digest(message.opening)
                if opening not in self._known_texts:
                    writes.append(("INSERT OR IGNORE INTO texts VALUES (?, ?)", (opening, message.opening)))
                    self._known_texts.add(opening)
            messages.append({"role": message.role, "opening": opening, "body": message.body})
        asked = {
            "model": request.model,
            "settings": dict(request.settings),
            "repeat": request.repeat,
            "messages": messages,
        }
        writes.append(
            (
                "INSERT OR IGNORE INTO calls VALUES (?, ?, ?)",
                (key, json.dumps(asked), json.dumps(asdict(reply))),
            )
        )
        await self._write(*writes)

    # Arms, cases, transcripts

    async def add_arm(self, name: str, fingerprint: str, manifest: dict[str, Any]) -> int:
        await self._write(
            (
                "INSERT OR IGNORE INTO arms (name, fingerprint, manifest) VALUES (?, ?, ?)",
                (name, fingerprint, json.dumps(manifest)),
            )
        )
        (number,) = self._reading.execute(
            "SELECT id FROM arms WHERE name = ? AND fingerprint = ?", (name, fingerprint)
        ).fetchone()
        return number

    def has(self, arm: int, case: str, case_fingerprint: str) -> bool:
        """Whether `arm` has finished this very case."""
        return (
            self._reading.execute(
                "SELECT 1 FROM transcripts WHERE arm = ? AND case_id = ? AND case_fingerprint = ?",
                (arm, case, case_fingerprint),
            ).fetchone()
            is not None
        )

    async def add(self, arm: int, case: Case, case_fingerprint: str, transcript: Transcript) -> None:
        await self._write(
            (
                "INSERT OR IGNORE INTO cases VALUES (?, ?, ?)",
                (case.id, case_fingerprint, case.model_dump_json()),
            ),
            (
                "INSERT OR IGNORE INTO transcripts (arm, case_id, case_fingerprint, content) VALUES (?, ?, ?, ?)",
                (arm, case.id, case_fingerprint, transcript.model_dump_json()),
            ),
        )

    def arms(self) -> list[Arm]:
        """Every arm by name; of arms with the same name, the one added last."""
        latest: dict[str, Arm] = {}
        for number, name, manifest in self._reading.execute(
            "SELECT id, name, manifest FROM arms ORDER BY id"
        ):
            found = json.loads(manifest)
            rubric, jury = Rubric.model_validate(found["rubric"]), Jury.model_validate(found["jury"])
            latest[name] = Arm(number, name, rubric, jury, found)
        return list(latest.values())

    def transcripts(self, arm: Arm, case: str | None = None) -> Iterator[Transcript]:
        """The arm's transcripts in the order they were finished; the latest where a case was changed and rerun."""
        where, values = ("AND case_id = ?", (arm.id, case)) if case is not None else ("", (arm.id,))
        rows = self._connection().execute(
            f"SELECT content FROM transcripts WHERE id IN (SELECT max(id) FROM transcripts WHERE arm = ? {where} "
            "GROUP BY case_id) ORDER BY id",
            values,
        )
        for (content,) in rows:
            yield Transcript.model_validate_json(content)

    def case_ids(self) -> list[str]:
        return [
            row[0]
            for row in self._reading.execute("SELECT DISTINCT case_id FROM transcripts ORDER BY case_id")
        ]

    def case(self, case: str) -> Case | None:
        """The case as it was last judged."""
        row = self._reading.execute(
            "SELECT content FROM cases WHERE id = ? ORDER BY rowid DESC LIMIT 1", (case,)
        ).fetchone()
        return Case.model_validate_json(row[0]) if row else None

    async def _write(self, *writes: _Write) -> None:
        assert self._writer is not None
        await self._writer.commit(list(writes))

    def _connection(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, check_same_thread=False, isolation_level=None, timeout=30)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection


_Write = tuple[str, tuple[Any, ...]]


class _Writer:
    """One thread that commits what is waiting, many writes in one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._waiting: queue.SimpleQueue[tuple[list[_Write], asyncio.Future[None]] | None] = (
            queue.SimpleQueue()
        )
        self._thread = threading.Thread(target=self._work, name="venire-record", daemon=True)
        self._thread.start()

    async def commit(self, writes: list[_Write]) -> None:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.put((writes, done))
        await done

    def stop(self) -> None:
        self._waiting.put(None)
        self._thread.join()
        self._connection.close()

    def _work(self) -> None:
        stopping = False
        while not stopping:
            batch = [self._waiting.get()]
            while len(batch) < _BATCH and not self._waiting.empty():
                batch.append(self._waiting.get())
            stopping = None in batch
            jobs = [job for job in batch if job is not None]
            if not jobs:
                continue
            problem: VenireError | None = None
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                for writes, _ in jobs:
                    for statement, values in writes:
                        self._connection.execute(statement, values)
                self._connection.execute("COMMIT")
            except sqlite3.Error as error:
                problem = VenireError(
                    f"the record cannot be written: {error}",
                    remedy="make room or mend the disk, and run again: everything before is kept",
                )
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
            loop = jobs[0][1].get_loop()
            loop.call_soon_threadsafe(_settle, [done for _, done in jobs], problem)


def _settle(futures: list[asyncio.Future[None]], problem: VenireError | None) -> None:
    for future in futures:
        if future.done():
            continue
        if problem is None:
            future.set_result(None)
        else:
            future.set_exception(problem)


def _locked(folder: Path) -> int:
    handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise VenireError(
            f"{folder}: another process is writing this run",
            remedy="wait for it to end, or name another directory",
        ) from None
    return handle


def _migrate(connection: sqlite3.Connection) -> None:
    (applied,) = connection.execute("PRAGMA user_version").fetchone()
    if applied > len(MIGRATIONS):
        raise VenireError(
            f"the record has schema version {applied}; this venire knows {len(MIGRATIONS)}",
            remedy="upgrade venire to the version that made the run",
        )
    for number, script in enumerate(MIGRATIONS[applied:], applied + 1):
        connection.executescript(f"BEGIN; {script}; PRAGMA user_version = {number}; COMMIT;")


def _reply(text: str) -> Reply:
    fields = json.loads(text)
    return Reply(**{**fields, "usage": Usage(**fields["usage"])})
