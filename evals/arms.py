"""A run as a ratings table: what each arm gave each attribute of each case, and what that cost."""

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
    rows: dict[str, dict[str, float]] = {}
    for arm, verdict in verdicts(store):
        transcript = verdict.transcript
        row = rows.setdefault(
            arm.name,
            {"cases": 0, "calls": 0, "tokens": 0, "usd": 0.0, "seconds": 0.0, "abstentions": 0, "hung": 0},
        )
        row["cases"] += 1
        row["calls"] += transcript.calls
        row["tokens"] += transcript.usage.total
        row["usd"] += float("nan") if transcript.usd is None else transcript.usd
        row["seconds"] += transcript.seconds
        row["abstentions"] += len(transcript.abstentions)
        row["hung"] += sum(outcome.status == "hung" for outcome in verdict.outcomes.values())
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("arm").reset_index()
