"""Export formats of lines: `jsonl`, a case a line; `csv`, an outcome a row."""

from __future__ import annotations

import csv
import json
from typing import Any, TextIO

from ...rubrics.csv_cells import csv_cell
from .export import case_json
from .export_format import ExportedRun

_COLUMNS = (
    "case",
    "arm",
    "protocol",
    "attribute",
    "status",
    "value",
    "support",
    "spread",
    "votes",
    "method",
    "stop",
)


def jsonl(run: ExportedRun, out: TextIO) -> int:
    """One line a deliberation, in the shape of `show --json`."""
    number = 0
    for verdict in run.verdicts():
        out.write(json.dumps(case_json(verdict)) + "\n")
        number += 1
    return number


def csv_table(run: ExportedRun, out: TextIO) -> int:
    """One row an attribute of a deliberation, and one a derived score."""
    writer = csv.writer(out)
    writer.writerow(_COLUMNS)
    number = 0
    for verdict in run.verdicts():
        number += 1
        start = [verdict.case, verdict.arm, verdict.transcript.protocol]
        for name, o in verdict.outcomes.items():
            shares = [_cell(o.value), _cell(o.support), _cell(o.spread)]
            row = [*start, name, o.status, *shares, o.votes, o.method, verdict.stop.reason]
            writer.writerow(map(csv_cell, row))
        for name, value in verdict.derived.items():
            row = [*start, name, "derived", value, "", "", "", "derived", verdict.stop.reason]
            writer.writerow(map(csv_cell, row))
    return number


def _cell(value: Any) -> Any:
    return "" if value is None else value
