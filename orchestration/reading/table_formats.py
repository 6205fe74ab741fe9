"""Export formats `jsonl` (a case a line), `csv`, `parquet` and `arrow` (an outcome a row)."""

from __future__ import annotations

import csv
import json
from typing import Any, Literal, TextIO

from ...rubrics.errors import VenireError
from ...rubrics.rows import ColumnKind, csv_cell, table_bytes
from .export import ExportedRun, case_json, systems_json

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
_NUMBERS = ("support", "spread")
_ARROW_COLUMNS: dict[str, ColumnKind] = {
    **dict.fromkeys(("case", "arm", "protocol", "attribute", "status", "answer"), "string"),
    **dict.fromkeys(("value", *_NUMBERS), "float64"),
    "votes": "int64",
    **dict.fromkeys(("method", "why", "stop"), "string"),
}  # type: ignore[dict-item]


def jsonl(run: ExportedRun, out: TextIO) -> int:
    """One line a deliberation, in the shape of `show --json`."""
    rubrics = {arm.name: arm.rubric for arm in run.arms()}
    number = 0
    for verdict in run.verdicts():
        out.write(
            json.dumps({**case_json(verdict), **systems_json(run.store, rubrics[verdict.arm], verdict)})
            + "\n"
        )
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


def parquet(run: ExportedRun, out: TextIO) -> int:
    """One Parquet file; `value` holds a number where there is one, `answer` the value as it is written."""
    return _write(run, out, "parquet")


def arrow(run: ExportedRun, out: TextIO) -> int:
    """The same table as one Arrow file, also called Feather."""
    return _write(run, out, "arrow")


def _write(run: ExportedRun, out: TextIO, kind: Literal["parquet", "arrow"]) -> int:
    binary = getattr(out, "buffer", None)
    if binary is None:
        raise VenireError(
            f"the format {kind} is binary and cannot be printed",
            remedy=f"write the table to a file: -o FILE.{kind}",
        )
    rows: list[dict[str, Any]] = []
    number = 0
    for verdict in run.verdicts():
        number += 1
        rows += [_row(row, verdict.transcript.protocol) for row in verdict.rows()]
    binary.write(table_bytes(rows, _ARROW_COLUMNS, kind))
    return number


def _row(row: dict[str, Any], protocol: str) -> dict[str, Any]:
    value = row["value"]
    numeric = isinstance(value, int | float)
    numbers = {name: None if row[name] is None else float(row[name]) for name in _NUMBERS}
    shown = {"answer": None if value is None else str(value), "value": float(value) if numeric else None}
    return {**row, **numbers, **shown, "protocol": protocol}
