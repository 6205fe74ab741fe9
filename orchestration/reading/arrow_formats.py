"""Export formats `parquet` and `arrow`: a row an outcome, as `csv` has it, with numbers and words in columns of their own."""

from __future__ import annotations

from typing import Any, Literal, TextIO

from ...rubrics.errors import VenireError
from ...rubrics.tables import ColumnKind, table_bytes
from .export_format import ExportedRun

_NUMBERS = ("support", "spread")
_COLUMNS: dict[str, ColumnKind] = {
    **dict.fromkeys(("case", "arm", "protocol", "attribute", "status", "answer"), "string"),
    **dict.fromkeys(("value", *_NUMBERS), "float64"),
    "votes": "int64",
    **dict.fromkeys(("method", "why", "stop"), "string"),
}  # type: ignore[dict-item]


def parquet(run: ExportedRun, out: TextIO) -> int:
    """One Parquet file; `value` holds a number where there is one, `answer` the value as it is written."""
    return _write(run, out, "parquet")


def arrow(run: ExportedRun, out: TextIO) -> int:
    """The same table as one Arrow file, also called Feather."""
    return _write(run, out, "arrow")


def _write(run: ExportedRun, out: TextIO, kind: Literal["parquet", "arrow"]) -> int:
    binary = getattr(out, "buffer", None)
    if binary is None:
        raise VenireError(f"{kind.title()} is no text", remedy=f"write it to a file: -o FILE.{kind}")
    rows: list[dict[str, Any]] = []
    number = 0
    for verdict in run.verdicts():
        number += 1
        rows += [_row(row, verdict.transcript.protocol) for row in verdict.rows()]
    binary.write(table_bytes(rows, _COLUMNS, kind))
    return number


def _row(row: dict[str, Any], protocol: str) -> dict[str, Any]:
    value = row["value"]
    numeric = isinstance(value, int | float)
    numbers = {name: None if row[name] is None else float(row[name]) for name in _NUMBERS}
    shown = {"answer": None if value is None else str(value), "value": float(value) if numeric else None}
    return {**row, **numbers, **shown, "protocol": protocol}
