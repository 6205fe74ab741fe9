"""A run as tables: what each arm gave each attribute of each case, what that cost, and why it stopped."""

from __future__ import annotations

import pandas as pd

from ..orchestration.export import verdicts
from ..orchestration.store import Store
from ..personas.jury import CountingRule

VALUES = ("case", "rater", "attribute", "value")


def arm_ratings(store: Store, *, count: CountingRule | None = None) -> pd.DataFrame:
    """One row for each outcome that was reached, the arm's name as the rater. What is hung has no row."""
    rows = [
        (verdict.case, arm.name, name, outcome.value)
        for arm, verdict in verdicts(store, count=count)
        for name, outcome in verdict.outcomes.items()
        if outcome.status == "reached"
    ]
    return pd.DataFrame(rows, columns=list(VALUES))


def arm_costs(store: Store) -> pd.DataFrame:
    """One row for each arm: cases, calls, tokens, dollars (NaN where a price is unknown), seconds, failures."""
    names = ("cases", "calls", "tokens", "usd", "seconds", "abstentions", "hung", "not_applicable")
    rows: dict[str, dict[str, float]] = {}
    for arm, verdict in verdicts(store):
        transcript = verdict.transcript
        row = rows.setdefault(arm.name, dict.fromkeys(names, 0))
        row["cases"] += 1
        row["calls"] += transcript.calls
        row["tokens"] += transcript.usage.total
        row["usd"] += float("nan") if transcript.usd is None else transcript.usd
        row["seconds"] += transcript.seconds
        row["abstentions"] += len(transcript.abstentions)
        for outcome in verdict.outcomes.values():
            if outcome.status != "reached":
                row[outcome.status] += 1
    table = pd.DataFrame([{"arm": arm, **row} for arm, row in rows.items()], columns=["arm", *names])
    return table.assign(
        usd_per_case=table["usd"] / table["cases"], seconds_per_case=table["seconds"] / table["cases"]
    )


def arm_stops(store: Store) -> pd.DataFrame:
    """How often each arm stopped for which reason: `arm`, `reason`, `limit`, `cases`."""
    rows = [(arm.name, verdict.stop.reason, verdict.stop.limit or "") for arm, verdict in verdicts(store)]
    found = pd.DataFrame(rows, columns=["arm", "reason", "limit"])
    return found.groupby(["arm", "reason", "limit"], sort=False).size().rename("cases").reset_index()
