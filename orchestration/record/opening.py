"""Opening a run: which database holds it, and how it is begun."""

from __future__ import annotations

from pathlib import Path

from ...rubrics.errors import VenireError
from .database import Database
from .location import Location, is_address
from .no_run import NoRun
from .sqlite import SqliteDatabase

IS_REDACTED = "SELECT 1 FROM facts WHERE name = 'redacted'"


def open_database(run: Location, *, write: bool) -> Database:
    """The database of the run at `run`: PostgreSQL for an address, SQLite for a directory."""
    if not is_address(run):
        return SqliteDatabase(Path(run), write=write)
    # Imported late: its driver is an extra.
    from .postgres import PostgresDatabase

    return PostgresDatabase(str(run), write=write)


def run_exists(run: Location) -> bool:
    """Whether a record has been begun at `run`. Nothing is made there."""
    try:
        database = open_database(run, write=False)
    except NoRun:
        return False
    try:
        return database.version() > 0
    finally:
        database.close()


def begin_redacted(database: Database) -> None:
    """Mark the run as redacted; an error if words are stored already."""
    if database.rows(IS_REDACTED):
        return
    if database.rows("SELECT 1 FROM sittings LIMIT 1"):
        raise VenireError(
            f"{database.name}: this run was begun without --redact: words are in it already",
            remedy="name a new run for --redact, and delete this one if it must not be kept",
        )
    fact = "INSERT INTO facts (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING"
    database.commit([(fact, ("redacted", "yes"))])
