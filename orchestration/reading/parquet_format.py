"""Export format `parquet`: a row an outcome, as `csv` has it, with numbers and words in columns of their own."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from typing import Any, TextIO

from ...rubrics.errors import MissingExtra, VenireError
from .export_format import ExportedRun

_NUMBERS = ("support", "spread")


def parquet(run: ExportedRun, out: TextIO) -> int:
    """One Parquet file; `value` holds a number where there is one, `answer` the value as it is written."""
    if find_spec("pyarrow") is None:
        raise MissingExtra("Parquet files need pyarrow", remedy="pip install 'venire[parquet]'")
    pa, pq = import_module("pyarrow"), import_module("pyarrow.parquet")
    binary = getattr(out, "buffer", None)
    if binary is None:
        raise VenireError("Parquet is no text", remedy="write it to a file: -o FILE.parquet")
    rows: list[dict[str, Any]] = []
    number = 0
    for verdict in run.verdicts():
        number += 1
        rows += [_row(row, verdict.transcript.protocol) for row in verdict.rows()]
    schema = pa.schema(
        [(name, pa.string()) for name in ("case", "arm", "protocol", "attribute", "status", "answer")]
        + [(name, pa.float64()) for name in ("value", *_NUMBERS)]
        + [("votes", pa.int64())]
        + [(name, pa.string()) for name in ("method", "why", "stop")]
    )
    written = BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), written)
    binary.write(written.getvalue())
    return number


def _row(row: dict[str, Any], protocol: str) -> dict[str, Any]:
    value = row["value"]
    numeric = isinstance(value, int | float)
    numbers = {name: None if row[name] is None else float(row[name]) for name in _NUMBERS}
    shown = {"answer": None if value is None else str(value), "value": float(value) if numeric else None}
    return {**row, **numbers, **shown, "protocol": protocol}
