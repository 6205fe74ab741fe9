"""A run as tables: what each arm gave each attribute of each case, what that cost, and why it stopped."""

from __future__ import annotations

import pandas as pd

from ..orchestration.export import verdicts
from ..orchestration.store import Store
from ..personas.jury import CountingRule
from ..rubrics.scale import NOT_APPLICABLE

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


def juror_ratings(store: Store) -> pd.DataFrame:
    """One row for each vote that stands when an arm is counted: a judge's repeats are jurors of their own.

    Columns: `arm`, `case`, `juror`, `seat` (whose vote or repeat it is), `model`, `attribute`, `value`.
    """
    rows = []
    for arm in store.arms():
        models = {seat.name: seat.model or "" for seat in arm.jury.seats}
        for transcript in store.transcripts(arm):
            for attribute, votes in transcript.standing().items():
                for juror, held in votes.items():
                    if held.vote.value == NOT_APPLICABLE:
                        continue
                    seat = juror if juror in models else juror.rsplit("#", 1)[0]
                    rows.append(
                        (
                            arm.name,
                            transcript.case,
                            juror,
                            seat,
                            models.get(seat, ""),
                            attribute,
                            held.vote.value,
                        )
                    )
    return pd.DataFrame(rows, columns=["arm", "case", "juror", "seat", "model", "attribute", "value"])


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
