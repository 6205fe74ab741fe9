"""A run's verdicts as one table: what was found, how sure the deliberation looks, and how it went."""

from __future__ import annotations

from typing import Literal, get_args

import pandas as pd

from ...orchestration.acceptance import WEIGHTS, confidence
from ...orchestration.record import Arm
from ...orchestration.stopping import settled
from ...orchestration.transcript import Transcript
from ...orchestration.verdict import Outcome, Verdict, outcome_signals
from ...rubrics.scale import NOT_APPLICABLE

Way = Literal["unanimous at once", "converged", "split", "hung", "not applicable"]
WAYS: tuple[Way, ...] = get_args(Way)
"""How a deliberation on an attribute went: the strata that labels can be drawn by."""
SIGNALS = tuple(WEIGHTS)
COLUMNS = ["arm", "case", "attribute", "status", "value", "way", *SIGNALS, "confidence"]


class VerdictTable:
    """One row for each attribute of each verdict, hung ones among them: `COLUMNS`. What is hung has no value."""

    def __init__(self) -> None:
        self._rows: list[dict[str, object]] = []

    def add(self, arm: Arm, verdict: Verdict) -> None:
        for name, outcome in verdict.outcomes.items():
            scale = arm.rubric.scale_of(name)
            shown = outcome_signals(outcome, verdict.transcript, name, scale, arm.jury)
            reached = outcome.status == "reached"
            self._rows.append(
                {
                    "arm": arm.name,
                    "case": verdict.case,
                    "attribute": name,
                    "status": outcome.status,
                    "value": outcome.value if reached else None,
                    "way": deliberation_way(verdict.transcript, name, outcome, arm.jury.tolerance),
                    **shown,
                    "confidence": confidence(shown) if reached else None,
                }
            )

    def table(self) -> pd.DataFrame:
        found = pd.DataFrame(self._rows, columns=COLUMNS)
        return found.astype(dict.fromkeys([*SIGNALS, "confidence"], float))


def deliberation_way(transcript: Transcript, attribute: str, outcome: Outcome, tolerance: float) -> Way:
    """How the deliberation on an attribute went: whether jurors agreed at once, in the end, or not at all."""
    if outcome.status == "hung":
        return "hung"
    if outcome.status == "not_applicable":
        return "not applicable"
    standing = transcript.standing().get(attribute, {})
    last = [held.vote.value for held in standing.values() if held.vote.value != NOT_APPLICABLE]
    if not settled(last, tolerance):
        return "split"
    first: dict[str, object] = {}
    for entry in transcript.ballots:
        for vote in entry.ballot.votes:
            if vote.attribute == attribute and vote.value != NOT_APPLICABLE:
                first.setdefault(entry.speaker, vote.value)
    blind = [value for juror, value in first.items() if juror in standing]
    return "unanimous at once" if settled(blind, tolerance) else "converged"  # type: ignore[arg-type]
