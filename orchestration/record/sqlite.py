"""A run in a directory: SQLite, with a lock file beside it."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ...rubrics.errors import VenireError, files_remedy
from .database import Row, Values, Write, merge_statements, no_run
from .private_files import FILE_MODE, FOLDER_MODE

FILE = "record.sqlite"
_LOCK = ".lock"
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_PATIENCE = 0.5
"""Seconds to wait for the lock: `venire status` may be looking at it."""


class SqliteDatabase:
    """The file `record.sqlite` in the run's directory."""

    distant = False

    def __init__(self, folder: Path, *, write: bool) -> None:
        self.name = str(folder)
        self._folder = folder
        self._lock: int | None = None
        self._writing: sqlite3.Connection | None = None
        if write:
            _prepare(folder)
            self.lock()
        elif not _has_content(folder / FILE):
            raise no_run(folder)
        try:
            self._reading = self._connection() if write else self._reader()
            if write:
                self._writing = self._connection()
                # A commit that is lost in a power cut is a call that would be paid twice.
                self._writing.execute("PRAGMA journal_mode = WAL")
                self._writing.execute("PRAGMA synchronous = FULL")
                # Keys are hashes, so a write may touch any page: 16 MB of them stay at hand.
                self._writing.execute("PRAGMA cache_size = -16384")
                # And are written to their places together, as many batches share the same ones.
                self._writing.execute("PRAGMA wal_autocheckpoint = 4000")
        except sqlite3.Error as error:
            problem = self._problem("opened", error)
            self.close()
            raise problem from None

    def lock(self) -> None:
        """Hold the lock file. It is let go when the process ends, however it ends."""
        try:
            handle = os.open(self._folder / _LOCK, os.O_RDWR | os.O_CREAT, FILE_MODE)
        except OSError as error:
            raise VenireError(
                f"{self.name}: the record cannot be locked: {_reason(error)}",
                remedy=files_remedy(
                    "copy the run to a directory that can be written, and name the copy", error
                ),
            ) from None
        until = time.monotonic() + _PATIENCE
        while not _locked(handle, fcntl.LOCK_EX):
            if time.monotonic() > until:
                os.close(handle)
                raise VenireError(
                    f"{self.name}: another process is writing this run",
                    remedy="wait for it to end, or name another directory",
                )
            time.sleep(0.05)
        self._lock = handle

    def lease(self, name: str) -> bool:
        # The one process that writes holds them all.
        return True

    def end_lease(self, name: str) -> None:
        return None

    def writing(self) -> bool:
        try:
            handle = os.open(self._folder / _LOCK, os.O_RDONLY)
        except OSError:
            return False
        try:
            return not _locked(handle, fcntl.LOCK_SH)
        finally:
            os.close(handle)

    def version(self) -> int:
        ((number,),) = self.rows("PRAGMA user_version")
        return int(number)

    def create_tables(self, script: str, version: int) -> None:
        connection = self._writing or self._reading
        try:
            connection.executescript(f"BEGIN IMMEDIATE; {script}; PRAGMA user_version = {version}; COMMIT;")
        except sqlite3.Error as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise self._problem("begun", error) from None

    def rows(self, sql: str, values: Values = ()) -> list[Row]:
        try:
            return self._reading.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise self._problem("read", error) from None

    def rows_of_each(self, asked: Sequence[tuple[str, Values]]) -> list[list[Row]]:
        return [self.rows(sql, values) for sql, values in asked]

    def commit(self, writes: Sequence[Write]) -> None:
        assert self._writing is not None, "opened for reading"
        connection = self._writing
        try:
            connection.execute("BEGIN IMMEDIATE")
            for statement, values in merge_statements(writes):
                connection.execute(statement, values)
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            if connection.in_transaction:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
            raise self._problem("written", error) from None

    def close(self) -> None:
        for connection in (self._writing, getattr(self, "_reading", None)):
            if connection is not None:
                connection.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _connection(self, options: str = "") -> sqlite3.Connection:
        address = f"{(self._folder / FILE).absolute().as_uri()}{options}"
        return sqlite3.connect(address, uri=True, check_same_thread=False, isolation_level=None, timeout=30)

    def _reader(self) -> sqlite3.Connection:
        """A connection for reading; on media that cannot be written, one that leaves no file beside the record."""
        connection = self._connection()
        try:
            connection.execute("PRAGMA user_version").fetchall()
            return connection
        except sqlite3.OperationalError:
            connection.close()
            if os.access(self._folder, os.W_OK):
                raise
        if _has_content(self._folder / f"{FILE}-wal"):
            raise VenireError(
                f"{self.name}: the run was not closed, and its last part cannot be read because the directory is read-only",
                remedy="copy the whole directory to a place that can be written, and name the copy",
            )
        return self._connection("?mode=ro&immutable=1")

    def _problem(self, done: str, error: sqlite3.Error) -> VenireError:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
            return VenireError(
                f"{self.name}: the record is damaged: {error}",
                remedy=f"restore the run from a copy; without a copy, `sqlite3 {FILE} .recover` may save a part",
            )
        return VenireError(
            f"{self.name}: the record cannot be {done}: {_reason(error)}",
            remedy=files_remedy(
                "free some space or repair the disk, and run again: everything that was saved before is kept"
            ),
        )


def remove_record(folder: Path) -> None:
    """Remove the files of a run, and its directory where nothing else is in it."""
    for name in (FILE, f"{FILE}-wal", f"{FILE}-shm", _LOCK):
        (folder / name).unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def _prepare(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise VenireError(f"{folder}: this is a file, not a directory", remedy="name a directory for the run")
    if folder.is_dir() and not (folder / FILE).exists() and any(p.name != _LOCK for p in folder.iterdir()):
        raise VenireError(
            f"{folder}: the directory is not empty, and holds no run", remedy="name a new directory"
        )
    try:
        if not (folder / FILE).exists():
            folder.mkdir(parents=True, exist_ok=True)
            # Once, as it becomes a run: whoever opens it to others later means it.
            folder.chmod(FOLDER_MODE)
        os.close(os.open(folder / FILE, os.O_RDWR | os.O_CREAT, FILE_MODE))
    except OSError as error:
        raise VenireError(
            f"{folder}: the directory cannot be created: {_reason(error)}",
            remedy=files_remedy("choose a directory that can be written", error),
        ) from None


def _locked(handle: int, kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _has_content(file: Path) -> bool:
    return file.is_file() and file.stat().st_size > 0


def _reason(error: sqlite3.Error | OSError) -> str:
    return (error.strerror or type(error).__name__) if isinstance(error, OSError) else str(error)
