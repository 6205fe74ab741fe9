"""Runs of one study that were made apart, merged into one: what they hold is copied, and no model is asked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...rubrics.errors import VenireError
from .database import Database, Location, Values, create_missing_tables, layout_version, no_run
from .manifest import manifest_changes
from .store import open_database, run_exists

_PAGE = 500
_COPIED = {
    "texts": ("hash", "text"),
    "calls": (
        *("key", "request", "text", "finish", "prompt", "completion", "cached", "usd", "seconds", "made_at"),
        "estimated",
    ),
    "sealed": ("key", "words"),
    "cases": ("id", "fingerprint", "content"),
}
"""Tables whose rows are copied as they are, the key first (of cases, two columns): equal ones are stored once."""
_LATEST = (
    "SELECT id, case_id, case_fingerprint, position, finished_at, content FROM transcripts AS one WHERE arm = ? AND id > ? AND NOT EXISTS "
    "(SELECT 1 FROM transcripts AS later WHERE later.arm = one.arm AND later.case_id = one.case_id AND later.follows = one.id) "
    f"ORDER BY id LIMIT {_PAGE}"
)


class MergedRun(NamedTuple):
    """What a merged run holds, and what was left out of it."""

    deliberations: int
    calls: int
    doubled: int
    """Deliberations of an arm on a case that an earlier run had heard as well: the earlier run's is kept."""


def merge_runs(runs: Sequence[Location], output: Location) -> MergedRun:
    """Copy the runs into a new one at `output`: calls, texts, cases, and each arm's last deliberation on each case.

    Cases stand in the order of the runs. Raises VenireError where two arms of one name were not made alike; it says what differs.
    """
    if run_exists(output):
        raise VenireError(f"{output}: there is already a run here", remedy="name a new directory with -o")
    sources: list[Database] = []
    try:
        for run in runs:
            sources.append(open_database(run, write=False))
            if layout_version(sources[-1]) == 0:
                raise no_run(sources[-1].name)
        facts = _shared_facts(sources)
        target = open_database(output, write=True)
        sources.append(target)
        create_missing_tables(target)
        # A merged run of redacted ones is redacted before it holds anything.
        target.commit(
            [
                ("INSERT INTO facts (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING", fact)
                for fact in facts.items()
            ]
        )
        return _copy(sources[:-1], target)
    finally:
        for database in sources:
            database.close()


def _shared_facts(sources: Sequence[Database]) -> dict[str, str]:
    """What all runs say of themselves alike: how they are redacted, or nothing.

    Raises:
        VenireError: Some are redacted and some not, one is a replay, or arms of one name were not made alike.
    """
    sql = "SELECT name, value FROM facts WHERE name <> 'trace_salt' AND name NOT LIKE 'batch %'"
    facts = [{str(name): str(value) for name, value in source.rows(sql)} for source in sources]
    for source, said in zip(sources, facts, strict=True):
        if said != facts[0] or set(said) - {"redacted"}:
            raise VenireError(
                f"{source.name} cannot be merged with {sources[0].name}, because they are of different kinds ({source.name}: {', '.join(said) or 'not redacted'})",
                remedy="merge runs that are all redacted or all not redacted, and leave out replays",
            )
    manifests: dict[str, tuple[str, dict[str, object], str]] = {}
    for source in sources:
        for name, fingerprint, manifest in source.rows("SELECT name, fingerprint, manifest FROM arms"):
            parts = json.loads(manifest)
            known, before, where = manifests.setdefault(name, (fingerprint, parts, source.name))
            if known != fingerprint:
                changes = "; ".join(manifest_changes(before, parts)) or "its manifest"
                raise VenireError(
                    f"the jury {name} was not the same in {where} and {source.name}: {changes}",
                    remedy="merge only runs with the same rubric, jury and seed; or give the jury of one run another name, and repeat that run",
                )
    return facts[0]


def _copy(sources: Sequence[Database], target: Database) -> MergedRun:
    offset = doubled = 0
    sql = (
        "INSERT INTO transcripts (arm, case_id, case_fingerprint, position, follows, finished_at, content) "
        "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
    )
    for source in sources:
        for table, columns in _COPIED.items():
            into = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))}) ON CONFLICT DO NOTHING"
            for page in _pages(source, table, columns):
                target.commit([(into, row) for row in page])
        for arm, name, fingerprint, manifest in source.rows(
            "SELECT id, name, fingerprint, manifest FROM arms"
        ):
            number = _add_arm(target, name, fingerprint, manifest, source, arm)
            last = 0
            while rows := source.rows(_LATEST, (arm, last)):
                last = rows[-1][0]
                before = _count(target, number)
                target.commit(
                    [
                        (sql, (number, case, mark, offset + position, 0, finished_at, content))
                        for _, case, mark, position, finished_at, content in rows
                    ]
                )
                doubled += len(rows) - (_count(target, number) - before)
        ((highest,),) = source.rows("SELECT coalesce(max(position), -1) FROM transcripts")
        offset += highest + 1
    ((heard,),) = target.rows("SELECT count(*) FROM transcripts")
    ((calls,),) = target.rows("SELECT count(*) FROM calls")
    for (arm,) in target.rows("SELECT id FROM arms"):
        target.commit([("UPDATE sittings SET cases = ? WHERE arm = ?", (_count(target, arm), arm))])
    return MergedRun(heard, calls, doubled)


def _add_arm(target: Database, name: str, fingerprint: str, manifest: str, source: Database, arm: int) -> int:
    """The arm's number in `target`, with the sittings that it had in `source`."""
    into = "INSERT INTO arms (name, fingerprint, manifest) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
    target.commit([(into, (name, fingerprint, manifest))])
    ((number,),) = target.rows("SELECT id FROM arms WHERE name = ? AND fingerprint = ?", (name, fingerprint))
    sat = source.rows("SELECT key, cases, started_at FROM sittings WHERE arm = ? ORDER BY id", (arm,))
    into = "INSERT INTO sittings (key, arm, cases, started_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
    target.commit([(into, (key, number, cases, started_at)) for key, cases, started_at in sat])
    return int(number)


def _count(database: Database, arm: int) -> int:
    ((number,),) = database.rows("SELECT count(*) FROM transcripts WHERE arm = ?", (arm,))
    return int(number)


def _pages(source: Database, table: str, columns: Sequence[str]) -> Iterator[list[Values]]:
    width = 2 if table == "cases" else 1
    key, marks = ", ".join(columns[:width]), ", ".join("?" * width)
    last: Values = ("",) * width
    while rows := source.rows(
        f"SELECT {', '.join(columns)} FROM {table} WHERE ({key}) > ({marks}) ORDER BY {key} LIMIT {_PAGE}",
        last,
    ):
        last = tuple(rows[-1][:width])
        yield [tuple(row) for row in rows]
