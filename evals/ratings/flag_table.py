"""What a reader of a run should know of each deliberation, beside its scores, as one table."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from ...orchestration.reading.analysis import (
    Flag,
    InstantAgreement,
    contradictions,
    flags,
    instant_agreements,
)
from ...orchestration.record import Arm
from ...orchestration.verdict import Verdict
from ...rubrics.scale import Value

KINDS = (
    *("hung", "overruled", "unsupported-evidence", "contradicted", "premature-consensus"),
    *("instruction", "abstention"),
)
"""The flags that bear on whether a person should look."""
COLUMNS = ["arm", "case", "kind", "attribute", "text"]


class _Read(NamedTuple):
    """What one deliberation shows by itself, and the agreements that other arms may contradict."""

    arm: str
    case: str
    flags: tuple[Flag, ...]
    agreements: tuple[InstantAgreement, ...]


class ArmMoments:
    """One row for each flag of each deliberation: `arm`, `case`, `kind`, `attribute`, `text`."""

    def __init__(self) -> None:
        self._read: list[_Read] = []
        self._reached: dict[str, dict[str, dict[str, Value]]] = {}
        """By case and arm, what each attribute was given."""

    def add(self, arm: Arm, verdict: Verdict) -> None:
        self._reached.setdefault(verdict.case, {})[arm.name] = {
            name: outcome.value
            for name, outcome in verdict.outcomes.items()
            if outcome.status == "reached" and outcome.value is not None
        }
        found = tuple(flag for flag in flags(verdict, arm.rubric) if flag.kind in KINDS)
        agreements = instant_agreements(verdict.transcript, arm.rubric)
        self._read.append(_Read(arm.name, verdict.case, found, agreements))

    def table(self) -> pd.DataFrame:
        rows = [
            (read.arm, read.case, flag.kind, flag.attribute, flag.text)
            for read in self._read
            for flag in (*read.flags, *self._contradictions(read))
        ]
        return pd.DataFrame(rows, columns=COLUMNS)

    def _contradictions(self, read: _Read) -> list[Flag]:
        return [
            flag
            for other, values in self._reached[read.case].items()
            if other != read.arm
            for flag in contradictions(read.agreements, other, values)
        ]
