"""Totals of a run, computed by the database: calls, tokens, dollars, and how far each arm has come."""

from __future__ import annotations

from ...agents.cost import Cost
from ...agents.model import Usage
from .database import Database
from .rows import Arm, ArmProgress


def cost_since(database: Database, since: float) -> Cost:
    """The cost of the calls recorded `since` then, without seconds: calls overlap."""
    (row,) = database.rows(
        "SELECT count(*), coalesce(sum(prompt), 0), coalesce(sum(completion), 0), coalesce(sum(cached), 0), "
        "count(usd), coalesce(sum(usd), 0), coalesce(sum(estimated), 0) FROM calls WHERE made_at >= ?",
        (since,),
    )
    calls, prompt, completion, cached, priced, usd, estimated = row
    return Cost(calls, Usage(prompt, completion, cached), priced, usd, estimated=estimated)


def last_call(database: Database) -> float | None:
    """When the last call was recorded, in seconds since the epoch."""
    ((moment,),) = database.rows("SELECT max(made_at) FROM calls")
    return moment


def progress_of(database: Database, arm: Arm, since: float) -> ArmProgress:
    """How many cases the arm has finished; `recent` counts those since `since`."""
    ((done, last),) = database.rows(
        "SELECT count(DISTINCT case_id), max(finished_at) FROM transcripts WHERE arm = ?", (arm.id,)
    )
    ((recent,),) = database.rows(
        "SELECT count(*) FROM transcripts WHERE finished_at >= ? AND arm = ?", (since, arm.id)
    )
    ((cases, started),) = database.rows(
        "SELECT cases, started_at FROM sittings WHERE arm = ? ORDER BY id DESC LIMIT 1", (arm.id,)
    )
    return ArmProgress(arm.name, done, cases, started, last, recent)
