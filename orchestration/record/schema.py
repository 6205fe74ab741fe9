"""The schema of the record: one script for each version, in words that SQLite and PostgreSQL share."""

from __future__ import annotations

from typing import NamedTuple

from ...rubrics.errors import VenireError
from .database import Database


class Migration(NamedTuple):
    """What takes the record from one version to the next."""

    script: str
    carry: str = ""
    """What brings the rows of an older record along; left out where the record is new."""


MIGRATIONS = [
    Migration(
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
            case_fingerprint TEXT NOT NULL, position INTEGER NOT NULL, content TEXT NOT NULL, UNIQUE (arm, case_id, case_fingerprint)
        );
        CREATE INDEX transcripts_by_case ON transcripts (case_id);
        """
    ),
    # Long rows lie badly in a table that is sorted by a hash; usage becomes countable; a case may be heard again.
    Migration(
        """
        ALTER TABLE texts RENAME TO texts_1;
        ALTER TABLE calls RENAME TO calls_1;
        ALTER TABLE transcripts RENAME TO transcripts_1;
        CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE sittings (
            id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, arm INTEGER NOT NULL REFERENCES arms (id),
            cases INTEGER, started_at DOUBLE PRECISION NOT NULL
        );
        CREATE TABLE texts (hash TEXT PRIMARY KEY, text TEXT NOT NULL);
        CREATE TABLE calls (
            key TEXT PRIMARY KEY, request TEXT NOT NULL, text TEXT NOT NULL, finish TEXT NOT NULL, prompt INTEGER NOT NULL,
            completion INTEGER NOT NULL, cached INTEGER NOT NULL, usd DOUBLE PRECISION, seconds DOUBLE PRECISION NOT NULL,
            made_at DOUBLE PRECISION NOT NULL
        );
        CREATE INDEX calls_by_time ON calls (made_at, prompt, completion, cached, usd);
        CREATE TABLE sealed (key TEXT PRIMARY KEY, words TEXT NOT NULL);
        CREATE TABLE transcripts (
            id INTEGER PRIMARY KEY, arm INTEGER NOT NULL REFERENCES arms (id), case_id TEXT NOT NULL,
            case_fingerprint TEXT NOT NULL, position INTEGER NOT NULL, follows INTEGER NOT NULL,
            finished_at DOUBLE PRECISION NOT NULL, content TEXT NOT NULL, UNIQUE (arm, case_id, follows)
        );
        CREATE INDEX transcripts_of_case ON transcripts (case_id, id);
        CREATE INDEX transcripts_in_order ON transcripts (arm, position, id);
        CREATE INDEX transcripts_by_time ON transcripts (arm, finished_at);
        """,
        carry="""
        INSERT INTO sittings (key, arm, cases, started_at) SELECT 'version 1, arm ' || id, id, NULL, 0 FROM arms ORDER BY id;
        INSERT INTO texts SELECT hash, json_quote(text) FROM texts_1;
        INSERT INTO calls SELECT
            key, request, reply -> '$.text', json_extract(reply, '$.finish'),
            json_extract(reply, '$.usage.prompt'), json_extract(reply, '$.usage.completion'),
            json_extract(reply, '$.usage.cached'), json_extract(reply, '$.usd'), json_extract(reply, '$.seconds'), 0
        FROM calls_1;
        INSERT INTO transcripts SELECT
            id, arm, case_id, case_fingerprint, position,
            coalesce((
                SELECT max(id) FROM transcripts_1 AS before
                WHERE before.arm = one.arm AND before.case_id = one.case_id AND before.id < one.id
            ), 0),
            0, content
        FROM transcripts_1 AS one ORDER BY id;
        """,
    ),
    Migration("DROP TABLE transcripts_1; DROP TABLE calls_1; DROP TABLE texts_1;"),
    # Tokens that a provider did not count, or not credibly, are estimated, and say so.
    Migration(
        """
        ALTER TABLE calls ADD COLUMN estimated INTEGER NOT NULL DEFAULT 0;
        DROP INDEX calls_by_time;
        CREATE INDEX calls_by_time ON calls (made_at, prompt, completion, cached, usd, estimated);
        """
    ),
    # What is being deliberated now, for those who look on: rewritten as it goes and no part of what was found.
    Migration(
        """
        CREATE TABLE unfinished (
            arm INTEGER NOT NULL REFERENCES arms (id), case_id TEXT NOT NULL, case_fingerprint TEXT NOT NULL,
            changed_at DOUBLE PRECISION NOT NULL, content TEXT NOT NULL, PRIMARY KEY (arm, case_id)
        );
        """
    ),
]
"""Only SQLite has records of version 1, so what carries them over may be in its words alone."""

CURRENT = len(MIGRATIONS)
SHOWS_UNFINISHED = 5
"""The version from which on a record says what is in progress."""
READABLE = 4
"""The oldest version that is read as it is, from read-only media too: later ones add only what is in progress."""


def upgrade(database: Database) -> None:
    """Bring the record to the version of this venire; each step is whole or not at all."""
    applied = check_version(database)
    for number, migration in enumerate(MIGRATIONS[applied:], applied + 1):
        carried = migration.carry if applied else ""
        database.apply(f"{migration.script};{carried}", number)


def check_version(database: Database) -> int:
    """The version of the record; an error where it is newer than this venire."""
    applied = database.version()
    if applied > CURRENT:
        raise VenireError(
            f"{database.name}: the record has schema version {applied}; this venire knows {CURRENT}",
            remedy="upgrade venire to the version that made the run",
        )
    return applied
