"""How far a run has come and what it took, counted by the database."""

from __future__ import annotations

from .database import Database
from .rows import Advance, Arm, Toll


def toll(database: Database, since: float) -> Toll:
    """What the calls recorded `since` took."""
    (row,) = database.rows(
        "SELECT count(*), coalesce(sum(prompt), 0), coalesce(sum(completion), 0), coalesce(sum(cached), 0), "
        "coalesce(sum(usd), 0), count(usd), max(made_at) FROM calls WHERE made_at >= ?",
        (since,),
    )
    return Toll(*row)


def advance(database: Database, arm: Arm, since: float) -> Advance:
    """How far the arm has come; `recent` counts what it finished `since`."""
    ((done, last),) = database.rows(
        "SELECT count(DISTINCT case_id), max(finished_at) FROM transcripts WHERE arm = ?", (arm.id,)
    )
    ((recent,),) = database.rows(
        "SELECT count(*) FROM transcripts WHERE finished_at >= ? AND arm = ?", (since, arm.id)
    )
    ((cases, started),) = database.rows(
        "SELECT cases, started_at FROM sittings WHERE arm = ? ORDER BY id DESC LIMIT 1", (arm.id,)
    )
    return Advance(arm.name, done, cases, started, last, recent)
