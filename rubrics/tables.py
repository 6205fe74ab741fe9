"""Tables that are not text: an Excel sheet, a Parquet and an Arrow file, as a header and rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, NamedTuple

from .errors import InvalidFile, MissingExtra
from .workbook import Cell, sheet_rows

ColumnKind = Literal["string", "int64", "float64"]


class Table(NamedTuple):
    """A table's columns, the line they stand on, and its rows with their lines."""

    line: int
    columns: tuple[str, ...]
    rows: Iterator[tuple[int, dict[str, Any]]]


def workbook_table(path: Path) -> Table:
    """The first sheet of an Excel workbook; its first row that is not empty names the columns."""
    found = sheet_rows(path)
    line, header = next(found, (1, []))
    columns = tuple(_text(name) for name in header)
    while columns and not columns[-1]:
        columns = columns[:-1]
    for name in columns:
        if name and columns.count(name) > 1:
            raise InvalidFile(
                f"{path}:{line}: two columns are named {name!r}", remedy="give each its own name"
            )
    return Table(line, columns, _workbook_rows(columns, found))


def parquet_table(path: Path) -> Table:
    """A Parquet file; needs pyarrow."""
    need_pyarrow(f"{path}: Parquet files")
    pyarrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    try:
        file = parquet.ParquetFile(path)
    except (pyarrow.ArrowInvalid, OSError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "not a Parquet file"
        raise InvalidFile(f"{path}: {why}", remedy="check the path, or save the table as .csv") from None
    return Table(0, tuple(file.schema_arrow.names), _batch_rows(file.iter_batches()))


def arrow_table(path: Path) -> Table:
    """An Arrow file, also called Feather, or a stream of the same; needs pyarrow."""
    need_pyarrow(f"{path}: Arrow files")
    pyarrow, ipc = import_module("pyarrow"), import_module("pyarrow.ipc")
    try:
        content = path.read_bytes()
        opened = ipc.open_file if content.startswith(b"ARROW1") else ipc.open_stream
        table = opened(pyarrow.py_buffer(content)).read_all()
    except (pyarrow.ArrowInvalid, OSError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "not an Arrow file"
        raise InvalidFile(f"{path}: {why}", remedy="check the path, or save the table as .csv") from None
    return Table(0, tuple(table.schema.names), _batch_rows(table.to_batches()))


def table_bytes(
    rows: Sequence[Mapping[str, Any]],
    columns: Mapping[str, ColumnKind],
    kind: Literal["parquet", "arrow"],
) -> bytes:
    """The rows as a Parquet or an Arrow file; needs pyarrow."""
    need_pyarrow(f"{kind.title()} files")
    pyarrow, parquet, ipc = map(import_module, ("pyarrow", "pyarrow.parquet", "pyarrow.ipc"))
    schema = pyarrow.schema([(name, getattr(pyarrow, each)()) for name, each in columns.items()])
    table = pyarrow.Table.from_pylist([_typed_row(row, columns) for row in rows], schema=schema)
    written = BytesIO()
    if kind == "parquet":
        parquet.write_table(table, written)
    else:
        with ipc.new_file(written, schema) as writer:
            writer.write_table(table)
    return written.getvalue()


def need_pyarrow(what: str) -> None:
    """An error that names the extra, where pyarrow is not installed."""
    if find_spec("pyarrow") is None:
        raise MissingExtra(f"{what} need pyarrow", remedy="pip install 'venire[parquet]'")


def _typed_row(row: Mapping[str, Any], columns: Mapping[str, ColumnKind]) -> dict[str, Any]:
    """The row with text in columns of text, whatever was in them."""
    return {
        name: str(value) if columns[name] == "string" and value is not None else value
        for name, value in row.items()
        if name in columns
    }


def _workbook_rows(
    columns: tuple[str, ...], rows: Iterator[tuple[int, list[Cell]]]
) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, cells in rows:
        padded = [*cells, *[None] * (len(columns) - len(cells))]
        row = {name: cell for name, cell in zip(columns, padded, strict=False) if name}
        if any(value not in (None, "") for value in row.values()):
            # As a CSV file would have them: a number is the text that it is written as.
            yield line, {name: cell if isinstance(cell, str) else _text(cell) for name, cell in row.items()}


def _batch_rows(batches: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    line = 0
    for batch in batches:
        for row in batch.to_pylist():
            line += 1
            yield line, {name: _plain(value) for name, value in row.items()}


def _text(cell: Cell) -> str:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return f"{cell:.15g}"
    return "" if cell is None else str(cell).strip()


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return str(value)
    return value
