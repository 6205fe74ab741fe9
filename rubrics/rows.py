"""Rows of the tables users write, one at a time with their line: CSV, JSONL, Excel, Parquet, Arrow."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any

from .errors import InvalidFile
from .files import broken_utf8, json_value, near_column, open_file
from .tables import Table, arrow_table, parquet_table, workbook_table

LARGEST_ROW = 4 * 2**20
"""Bytes of one row: a million tokens, more than a jury's models read."""
MOST_COLUMNS = 10_000
_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab"}
"""The first is taken where a header does not tell."""


def read_rows(
    path: Path, *, required: tuple[str, ...] = (), otherwise: str = ""
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each row of a .csv, .jsonl, .xlsx, .parquet or .arrow file with its line number, one at a time.

    `otherwise` is what else to do where a required column is not there.
    """
    match path.suffix.lower():
        case ".csv" | ".tsv":
            return _csv_rows(path, required, otherwise)
        case ".xlsx" | ".xlsm":
            return _table_rows(path, workbook_table(path), required, otherwise)
        case ".parquet":
            return _table_rows(path, parquet_table(path), required, otherwise)
        case ".arrow" | ".feather":
            return _table_rows(path, arrow_table(path), required, otherwise)
        case ".xls":
            raise InvalidFile(f"{path}: an old Excel file", remedy="save it in Excel as .xlsx, or as .csv")
    return _json_rows(path)


def _table_rows(
    path: Path, table: Table, required: tuple[str, ...], otherwise: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    _check_header(f"{path}:{table.line}" if table.line else str(path), table.columns, required, otherwise)
    return table.rows


def _check_header(where: str, header: Sequence[str], required: tuple[str, ...], otherwise: str) -> None:
    """An error that names the first column in `required` that a table does not have, and the nearest one that it has."""
    for column in required:
        if column not in header:
            raise InvalidFile(
                f"{where}: no column {column!r}",
                remedy=f"{near_column(column, header)}the columns {', '.join(required)} are required{otherwise}",
            )


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with open_file(path, "name a .jsonl or .csv file in it") as handle:
        for number in count(1):
            raw = handle.readline(LARGEST_ROW + 1)
            if not raw:
                return
            if len(raw) > LARGEST_ROW:
                raise _too_long(path, number)
            try:
                yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise broken_utf8(path, number) from None


def _too_long(path: Path, line: int) -> InvalidFile:
    return InvalidFile(
        f"{path}:{line}: a row of more than {LARGEST_ROW:,} bytes",
        remedy="write one row a line, and shorter texts",
    )


def _json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in _lines(path):
        if not line.strip():
            continue
        row = json_value(line, f"{path}:{number}", "write one JSON object a line")
        if not isinstance(row, dict):
            raise InvalidFile(
                f"{path}:{number}: expected an object, found {type(row).__name__}",
                remedy="write one JSON object a line",
            )
        yield number, row


def _csv_rows(path: Path, required: tuple[str, ...], otherwise: str) -> Iterator[tuple[int, dict[str, Any]]]:
    csv.field_size_limit(LARGEST_ROW)
    taken = 0
    """Characters since the last row: a quoted cell may go on for many lines."""

    def lines() -> Iterator[str]:
        nonlocal taken
        for number, line in _lines(path):
            taken += len(line)
            if taken > LARGEST_ROW:
                raise _too_long(path, number)
            yield line

    text = lines()
    first = next(text, "")
    reader = csv.DictReader(chain([first], text), strict=True, delimiter=_delimiter(first))
    try:
        header = list(reader.fieldnames or [])
        if len(header) > MOST_COLUMNS:
            raise InvalidFile(
                f"{path}:1: {len(header):,} columns, more than {MOST_COLUMNS:,}",
                remedy="write one row a line",
            )
        if header:
            _check_header(f"{path}:1", header, required, otherwise)
        for row in reader:
            taken = 0
            cells = len(header) + len(row.pop(None, [])) - sum(cell is None for cell in row.values())
            if cells != len(header):
                raise InvalidFile(
                    f"{path}:{reader.line_num}: {cells} cells under {len(header)} columns",
                    remedy=f"quote cells that contain a {_DELIMITERS[reader.reader.dialect.delimiter]}, and give every row a cell for each column",
                )
            yield reader.line_num, dict(row)
    except csv.Error as error:
        raise InvalidFile(
            f"{path}:{reader.line_num}: not valid CSV: {error}", remedy="check the quotes near that line"
        ) from None


def _delimiter(header: str) -> str:
    """What stands between a header's columns: a comma, or what the Excel of many countries writes in its place."""
    return max(
        _DELIMITERS, key=lambda each: sum(1 for row in csv.reader([header], delimiter=each) for _ in row)
    )
