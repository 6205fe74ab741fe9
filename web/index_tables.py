"""The index's file: its tables, and how far it has read."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

FILE = "inspector.sqlite"
_FORM = f"6 {version('venire')}"
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
CREATE TABLE sums (
    arm INTEGER NOT NULL, topic TEXT NOT NULL, one TEXT NOT NULL, two TEXT NOT NULL, times INTEGER NOT NULL,
    total REAL NOT NULL, PRIMARY KEY (arm, topic, one, two)
) WITHOUT ROWID;
"""
"""A deliberation's `flags` and `interest` are NULL until its flags have been looked for."""


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
