"""Claims and checks written to files that can be read back: `claims.jsonl` and `checks.csv`."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ...orchestration.record.private_files import FOLDER_MODE, open_private
from ...orchestration.verdict import Verdict
from ...rubrics.claim import Claim
from ...rubrics.claim_files import CHECK_COLUMNS, CLAIM_COLUMNS, CheckRow
from ...rubrics.csv_cells import csv_cell

CLAIMS_FILE = "claims.jsonl"
CHECKS_FILE = "checks.csv"


class ClaimRow(NamedTuple):
    """A claim and the case it belongs to."""

    case: str
    claim: Claim


def write_claims(folder: Path, claims: Iterable[ClaimRow], checks: Iterable[CheckRow]) -> tuple[int, int]:
    """Write both files into `folder`, which is made if need be; how many claims and checks there were."""
    folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    claim_count = check_count = 0
    with open_private(folder / CLAIMS_FILE) as handle:
        for row in claims:
            fields = {"case": row.case, **row.claim.model_dump()}
            handle.write(
                json.dumps({name: fields[name] for name in CLAIM_COLUMNS}, ensure_ascii=False) + "\n"
            )
            claim_count += 1
    with open_private(folder / CHECKS_FILE) as handle:
        writer = csv.writer(handle)
        writer.writerow(CHECK_COLUMNS)
        for check in checks:
            writer.writerow(csv_cell(value or "") for value in check)
            check_count += 1
    return claim_count, check_count


def claim_rows(verdicts: Iterable[Verdict]) -> list[ClaimRow]:
    """The claims of each case."""
    return [ClaimRow(verdict.case, outcome.claim) for verdict in verdicts for outcome in verdict.claims]


def check_rows(verdicts: Iterable[Verdict]) -> list[CheckRow]:
    """Each verifier's check of each claim; an abstention has no verdict, and its reason is why."""
    return [
        CheckRow(
            verdict.case,
            check.claim,
            juror,
            check.verdict,
            " ".join(quote.text for quote in check.evidence),
            check.rationale or check.detail,
        )
        for verdict in verdicts
        for outcome in verdict.claims
        for juror, check in outcome.checks.items()
    ]
