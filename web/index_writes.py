"""Writing to the index: scores first, then flags and reasons. A batch is written whole or not at all."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..orchestration.reading.analysis import InstantAgreement, Kind, contradictions, interest
from ..orchestration.reading.analysis.movement import distance
from ..orchestration.record import Arm
from ..rubrics.scale import Value
from .flag_groups import FlagGroup, flag_groups, merge_groups
from .index_tables import read_to, start_over
from .summaries import DERIVED, FlagBatch, FlaggedDeliberation, ScoreBatch, Sums, add_sum


def write_score_batch(connection: sqlite3.Connection, batch: ScoreBatch) -> bool:
    """Add scores to the index; False where another inspector had read on, or all has to be counted anew."""
    try:
        with _transaction(connection):
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
    with _transaction(connection):
        if read_to(connection).flagged != batch.after:
            return False
        for summary in batch.summaries:
            _add_flags(connection, summary, arms, batch.sums)
        _add_sums(connection, batch.sums)
        connection.execute("UPDATE about SET flagged_to = ?", (batch.read_to,))
    return True


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
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
