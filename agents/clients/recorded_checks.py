"""`recorded/checks.csv#JUROR`: one verifier's recorded checks, answered again by case and claim."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from ...rubrics.claim_files import CheckRow, read_check_rows
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ...rubrics.rows import read_rows
from ..model import ModelFailure, Reply, Request
from ..model_client import ModelClient
from ..prices import FREE, Price


class RecordedChecksClient(ModelClient):
    """One verifier of the table. A claim that it never checked, or abstained on, is an abstention again."""

    context_window = None
    votes_only = True

    def __init__(self, juror: str, checks: Mapping[tuple[str, str], CheckRow]) -> None:
        self.juror = juror
        self._checks = checks

    async def complete(self, request: Request) -> Reply:
        subject = request.subject
        if subject is None or subject.kind != "verification":
            raise ModelFailure("refused", f"{self.juror} is a record of checks; it can only check claims")
        found = [self._checks.get((subject.case, claim.id)) for claim in subject.claims]
        given = [row for row in found if row is not None and row.verdict is not None]
        if not given:
            asked = ", ".join(claim.id for claim in subject.claims)
            raise ModelFailure("no_record", f"{self.juror} has no verdict on {asked} of case {subject.case}")
        answer = [
            {"claim": row.claim, "reason": row.reason, "evidence": row.evidence, "verdict": row.verdict}
            for row in given
        ]
        return Reply(text=json.dumps({"checks": answer}), usd=0.0)

    def list_price(self, model: str) -> Price:
        return FREE


def holds_checks(file: Path) -> bool:
    """Whether a table's first row is a check of a claim, and not a judgement of an attribute."""
    first = next(iter(read_rows(file)), None)
    return first is not None and {"claim", "verdict"} <= first[1].keys()


def connect_checks(file: Path, juror: str) -> RecordedChecksClient:
    """The client of one juror of a table of checks."""
    table: dict[str, dict[tuple[str, str], CheckRow]] = {}
    for row in read_check_rows(file):
        table.setdefault(row.juror, {})[row.case, row.claim] = row
    if juror not in table:
        raise VenireError(f"{file}: no juror named {juror!r}", remedy=nearest(juror, table))
    return RecordedChecksClient(juror, table[juror])
