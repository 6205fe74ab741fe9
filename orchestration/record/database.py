"""A run's database as the record uses it: where it lies, its tables, and many writes merged into few statements."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeVar
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


def no_run(place: object, *, remedy: str = "name the directory given to venire run -o") -> NoRun:
    """The error that names the place."""
    return NoRun(f"{place}: there is no run", remedy=remedy)


def create_missing_tables(database: Database) -> None:
    """Make the tables of a record that has none yet."""
    if layout_version(database) == 0:
        database.create_tables(_TABLES, LAYOUT)


def layout_version(database: Database) -> int:
    """The version of the record's layout, 0 where it has none; an error where it is not this venire's."""
    version = database.version()
    if version not in (0, LAYOUT):
        raise VenireError(
            f"{database.name}: the record has layout version {version}; this venire reads version {LAYOUT}",
            remedy="read it with the version of venire that made it, or run its cases again in a new directory",
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
