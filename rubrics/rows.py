"""Tables: the rows users write, one at a time with their line (CSV, JSONL, workbooks, Parquet, Arrow), and what may stand in a cell."""

from __future__ import annotations

import csv
import json
import re
import sys
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO, TextIOWrapper
from itertools import chain, count, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from .errors import InvalidFile, MissingExtra
from .files import broken_utf8, is_workbook, json_value, near_column, open_file, split_sheet

LARGEST_ROW = 4 * 2**20
"""Bytes of one row: a million tokens, more than a jury's models read."""
MOST_COLUMNS = 10_000
DELIMITED = (".csv", ".tsv", ".txt")
_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
"""The first is taken where a header does not tell."""
ColumnKind = Literal["string", "int64", "float64"]
_FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff0b\uff0d\uff1d\uff20]")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
_AMBIGUOUS = re.compile(r"[+-]?(?!0)\d{1,3},\d{3}")
"""The comma may stand between thousands as well as before a fraction."""
_GROUPED = re.compile(r"\s*[+-]?(?!0)\d{1,3}(?:,\d{3})+(?:\.\d+)?(?:[eE][+-]?\d+)?\s*")
_MINUS = "\N{MINUS SIGN}"


class Table(NamedTuple):
    """A table's columns, the line they stand on, and its rows with their lines."""

    line: int
    columns: tuple[str, ...]
    rows: Iterator[tuple[int, dict[str, Any]]]


def read_rows(
    path: Path, *, required: tuple[str, ...] = (), otherwise: str = ""
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each row of a .csv, .jsonl, .parquet or .arrow file or a workbook's sheet with its line number, one at a time.

    `FILE.xlsx#SHEET` names a sheet; without a name the first that is not hidden is read. `otherwise` is what else to do
    where a required column is not there.
    """
    file, _ = split_sheet(path)
    if is_workbook(file):
        return _workbook_rows(path, required, otherwise)
    match file.suffix.lower():
        case ".csv" | ".tsv" | ".txt":
            return _csv_rows(path, required, otherwise)
        case ".parquet":
            return _table_rows(path, parquet_table(path), required, otherwise)
        case ".arrow" | ".feather":
            return _table_rows(path, arrow_table(path), required, otherwise)
    return _json_rows(path)


def read_grid(path: Path) -> list[tuple[int, list[str]]]:
    """Every row of a CSV file or a workbook's sheet that is not empty, as texts, with its line; what is the header is not yet known."""
    file, _ = split_sheet(path)
    if is_workbook(file):
        from .workbook import open_sheet

        with open_sheet(path) as sheet:
            return [(number, [_text(cell).strip() for cell in cells]) for number, cells in sheet.rows]
    csv.field_size_limit(LARGEST_ROW)
    lines = (part for _, line in _csv_lines(path) for part in filter(None, _BARE_RETURN.split(line)))
    top = list(islice(lines, 50))
    reader = csv.reader(
        chain(top, lines), strict=True, delimiter=_usual_delimiter([line[:10_000] for line in top])
    )
    rows = []
    try:
        for row in reader:
            if len(row) > MOST_COLUMNS or sum(map(len, row)) > LARGEST_ROW:
                raise (
                    _too_long(path, reader.line_num) if len(row) <= MOST_COLUMNS else too_wide(path, len(row))
                )
            rows.append((reader.line_num, [cell.strip() for cell in row]))
    except csv.Error as error:
        raise InvalidFile(
            f"{path}:{reader.line_num}: this is not valid CSV: {error}",
            remedy="check the quotation marks near that line",
        ) from None
    return [(number, row) for number, row in rows if any(row)]


def first_columns(path: Path) -> list[str]:
    """The cells of a file's first row, which may or may not be its header; nothing where there is none."""
    file, _ = split_sheet(path)
    if is_workbook(file):
        from .workbook import open_sheet

        with open_sheet(path) as sheet:
            return [_text(cell).strip() for cell in next(sheet.rows, (0, []))[1]]
    if file.suffix.lower() not in DELIMITED:
        return list(next(iter(read_rows(path)), (0, {}))[1])
    with open_file(path, "give the name of a .jsonl or .csv file in this folder") as handle:
        # Without the zeros between the letters of UTF-16.
        line = (
            handle.readline(LARGEST_ROW).replace(b"\0", b"").decode("utf-8-sig", "replace").lstrip("\ufffd")
        )
    try:
        return [cell.strip() for row in csv.reader([line], delimiter=_delimiter(line)) for cell in row]
    except csv.Error:
        return []


def _usual_delimiter(lines: Sequence[str]) -> str:
    """What parts the largest share of rows into the same number of cells, where a title may stand above the table, and a cell may have several lines."""

    def usual_width(mark: str) -> tuple[float, int]:
        widths = Counter(map(len, csv.reader(lines, delimiter=mark)))
        width, times = max(widths.items(), key=lambda each: (each[0] > 1, each[1], each[0]), default=(1, 0))
        return (times / widths.total(), width) if width > 1 else (0, 0)

    return max(_DELIMITERS, key=usual_width)


def csv_cell(value: Any) -> Any:
    """The value as it may stand in a CSV file: a text that a spreadsheet would run is written after an apostrophe.

    Numbers stay numbers, negative ones too. `from_csv_cell` gives the text back.
    """
    if not isinstance(value, str) or not _FORMULA.match(value) or _NUMBER.fullmatch(value):
        return value
    return f"'{value}"


def from_csv_cell(cell: Any) -> Any:
    """The value that `csv_cell` wrote."""
    return cell[1:] if isinstance(cell, str) and cell.startswith("'") and _FORMULA.match(cell) else cell


def cell_number(cell: Any, where: str) -> float | None:
    """The number that a cell holds, with a decimal point or comma; None for a word, and for several numbers such as `1,2,3`.

    `where` is the file and line.

    Raises:
        InvalidFile: `1,250`, which is 1.25 to some spreadsheets and 1250 to others.
    """
    text = str(cell).strip().replace(_MINUS, "-")
    if _AMBIGUOUS.fullmatch(text):
        raise InvalidFile(
            f"{where}: {text!r} is ambiguous: its comma could be a decimal comma or a thousands separator",
            remedy=f"write {text.replace(',', '.')} or {text.replace(',', '')}",
        )
    if _DECIMAL_COMMA.fullmatch(text):
        text = text.replace(",", ".")
    try:
        # An underscore is Python's: codes such as `1_2` are no number.
        return None if "_" in text else float(text)
    except ValueError:
        return None


def without_thousands(text: str) -> str:
    """A number such as `1,250.5` without its commas, where they can stand only between thousands; any other text as it is."""
    return text.replace(",", "") if _GROUPED.fullmatch(text) else text


def table_bytes(
    rows: Sequence[Mapping[str, Any]],
    columns: Mapping[str, ColumnKind],
    kind: Literal["parquet", "arrow"],
) -> bytes:
    """The rows as a Parquet or an Arrow file; needs pyarrow."""
    need_pyarrow(f"{kind.title()} files")
    pyarrow, parquet, ipc = map(import_module, ("pyarrow", "pyarrow.parquet", "pyarrow.ipc"))
    schema = pyarrow.schema([(name, getattr(pyarrow, type_name)()) for name, type_name in columns.items()])
    table = pyarrow.Table.from_pylist([_typed_row(row, columns) for row in rows], schema=schema)
    buffer = BytesIO()
    if kind == "parquet":
        parquet.write_table(table, buffer)
    else:
        with ipc.new_file(buffer, schema) as writer:
            writer.write_table(table)
    return buffer.getvalue()


def need_pyarrow(what: str) -> None:
    """An error that names the extra, where pyarrow is not installed."""
    if find_spec("pyarrow") is None:
        raise MissingExtra(f"{what} need pyarrow", remedy="pip install 'venire[parquet]'")


def _table_rows(
    path: Path, table: Table, required: tuple[str, ...], otherwise: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    _check_header(f"{path}:{table.line}" if table.line else str(path), table.columns, required, otherwise)
    return table.rows


def _check_header(place: str, header: Sequence[str], required: tuple[str, ...], otherwise: str) -> None:
    """An error that names the first column in `required` that a table does not have, and the nearest one that it has.

    `this|that` is a column in whose place another may stand.
    """
    for names in required:
        column, *instead = names.split("|")
        if column not in header and not any(name in header for name in instead):
            columns = ", ".join(each.partition("|")[0] for each in required)
            raise InvalidFile(
                f"{place}: the column {column!r} is missing",
                remedy=f"{near_column(column, header)}give the table the columns {columns}{otherwise}",
            )


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with open_file(path, "give the name of a .jsonl or .csv file in this folder") as handle:
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


def _csv_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a CSV file in UTF-8, or in what spreadsheets write in its place: UTF-16, Windows-1252. That is said on stderr."""
    with open_file(path, "give the name of a .jsonl or .csv file in this folder") as handle:
        start = handle.read(4)
    if start[:2] in (b"\xff\xfe", b"\xfe\xff") or 0 in start[:2]:
        encoding = (
            "utf-16"
            if start[:2] in (b"\xff\xfe", b"\xfe\xff")
            else ("utf-16-be" if start[0] == 0 else "utf-16-le")
        )
        print(f"{path}: read as UTF-16", file=sys.stderr)
        yield from _decoded_lines(path, encoding)
        return
    beyond_ascii = False
    """Whether a line before had other characters in valid UTF-8: then bytes that are not are broken, and no other encoding."""
    with open_file(path, "give the name of a .jsonl or .csv file in this folder") as handle:
        for number in count(1):
            raw = handle.readline(LARGEST_ROW + 1)
            if not raw:
                return
            if len(raw) > LARGEST_ROW:
                raise _too_long(path, number)
            try:
                yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                if beyond_ascii or b"\0" in raw:
                    raise broken_utf8(path, number) from None
                break
            beyond_ascii = beyond_ascii or not raw.removeprefix(BOM_UTF8).isascii()
    print(
        f"{path}: the file is read as Windows-1252, because line {number} is not valid UTF-8", file=sys.stderr
    )
    yield from ((at, line) for at, line in _decoded_lines(path, "cp1252") if at >= number)


def _decoded_lines(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    with (
        open_file(path, "give the name of a .jsonl or .csv file in this folder") as handle,
        TextIOWrapper(
            handle, encoding, errors="strict" if encoding.startswith("utf") else "replace", newline=""
        ) as text,
    ):
        try:
            for number in count(1):
                line = text.readline(LARGEST_ROW + 1)
                if not line:
                    return
                if len(line) > LARGEST_ROW:
                    raise _too_long(path, number)
                yield number, line
        except UnicodeDecodeError:
            raise InvalidFile(
                f"{path}:{number}: the text is not valid {encoding.upper()}", remedy="save the file as UTF-8"
            ) from None


_BARE_RETURN = re.compile(r"(?<=\r)(?!\n)")
"""Where a line ends as old spreadsheets and Macs end it."""


def _too_long(path: Path, line: int) -> InvalidFile:
    return InvalidFile(
        f"{path}:{line}: the row has more than {LARGEST_ROW:,} bytes",
        remedy="write one row per line, and shorter texts",
    )


def too_wide(path: Path, columns: int) -> InvalidFile:
    return InvalidFile(
        f"{path}:1: the table has {columns:,} columns, more than the limit of {MOST_COLUMNS:,}",
        remedy="check that each row is on a line of its own",
    )


def _json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in _lines(path):
        if not line.strip():
            continue
        row = json_value(line, f"{path}:{number}", "write one JSON object per line")
        if not isinstance(row, dict):
            raise InvalidFile(
                f"{path}:{number}: each line must be a JSON object, not {type(row).__name__}",
                remedy="write one JSON object per line",
            )
        yield number, row


def _csv_rows(path: Path, required: tuple[str, ...], otherwise: str) -> Iterator[tuple[int, dict[str, Any]]]:
    csv.field_size_limit(LARGEST_ROW)
    row_size = 0
    """Characters since the last row: a quoted cell may go on for many lines."""

    def lines() -> Iterator[str]:
        nonlocal row_size
        for number, line in _csv_lines(path):
            row_size += len(line)
            if row_size > LARGEST_ROW:
                raise _too_long(path, number)
            yield from filter(None, _BARE_RETURN.split(line))

    text = lines()
    header_line = next(text, "")
    line_number = 1
    try:
        reader = csv.DictReader(chain([header_line], text), strict=True, delimiter=_delimiter(header_line))
        header = list(reader.fieldnames or [])
        for name, times in Counter(filter(None, header)).items():
            if times > 1:
                raise InvalidFile(
                    f"{path}:1: two columns are named {name!r}", remedy="give each column its own name"
                )
        if len(header) > MOST_COLUMNS:
            raise too_wide(path, len(header))
        if header:
            _check_header(f"{path}:1", header, required, otherwise)
        for row in reader:
            row_size, line_number = 0, reader.line_num
            cells = len(header) + len(row.pop(None, [])) - sum(cell is None for cell in row.values())
            if cells != len(header):
                raise InvalidFile(
                    f"{path}:{reader.line_num}: {cells} cells, but the table has {len(header)} columns",
                    remedy=f"quote cells that contain a {_DELIMITERS[reader.reader.dialect.delimiter]}, and give every row a cell for each column",
                )
            yield reader.line_num, dict(row)
    except csv.Error as error:
        raise InvalidFile(
            f"{path}:{line_number}: this is not valid CSV: {error}",
            remedy="check the quotation marks near that line",
        ) from None


def _delimiter(header: str) -> str:
    """What stands between a header's columns: a comma, or what the Excel of many countries writes in its place."""
    return max(
        _DELIMITERS, key=lambda mark: sum(1 for row in csv.reader([header], delimiter=mark) for _ in row)
    )


def _workbook_rows(
    path: Path, required: tuple[str, ...], otherwise: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a sheet, whose first row that is not empty names the columns; cells are texts, as a CSV file would have them."""
    from .workbook import open_sheet

    with open_sheet(path) as sheet:
        line, header = next(sheet.rows, (1, []))
        columns = [_text(name).strip() for name in header]
        name, times = Counter(filter(None, columns)).most_common(1)[0] if any(columns) else ("", 0)
        if times > 1:
            raise InvalidFile(
                f"{path}:{line}: two columns are named {name!r}", remedy="give each column its own name"
            )
        _check_header(f"{path}:{line}", columns, required, otherwise)
        for number, cells in sheet.rows:
            row = {name: _text(cell) for name, cell in zip(columns, cells, strict=True) if name}
            if any(row.values()):
                yield number, row


def _text(cell: str | float | int | bool | None) -> str:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return f"{cell:.15g}"
    return "" if cell is None else str(cell)


def parquet_table(path: Path) -> Table:
    """A Parquet file; needs pyarrow."""
    need_pyarrow(f"{path}: Parquet files")
    pyarrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    try:
        file = parquet.ParquetFile(path)
    except (pyarrow.ArrowInvalid, OSError) as error:
        reason = (
            error.strerror if isinstance(error, OSError) and error.strerror else "this is not a Parquet file"
        )
        raise InvalidFile(f"{path}: {reason}", remedy="check the path, or save the table as .csv") from None
    return Table(0, tuple(file.schema_arrow.names), _batch_rows(file.iter_batches()))


def arrow_table(path: Path) -> Table:
    """An Arrow file, also called Feather, or a stream of the same; needs pyarrow."""
    need_pyarrow(f"{path}: Arrow files")
    pyarrow, ipc = import_module("pyarrow"), import_module("pyarrow.ipc")
    try:
        content = path.read_bytes()
        open_table = ipc.open_file if content.startswith(b"ARROW1") else ipc.open_stream
        table = open_table(pyarrow.py_buffer(content)).read_all()
    except (pyarrow.ArrowInvalid, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not an Arrow file"
        raise InvalidFile(f"{path}: {reason}", remedy="check the path, or save the table as .csv") from None
    return Table(0, tuple(table.schema.names), _batch_rows(table.to_batches()))


def _batch_rows(batches: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    line = 0
    for batch in batches:
        for row in batch.to_pylist():
            line += 1
            yield line, {name: _plain(value) for name, value in row.items()}


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


def _typed_row(row: Mapping[str, Any], columns: Mapping[str, ColumnKind]) -> dict[str, Any]:
    """The row with text in columns of text, whatever was in them."""
    return {
        name: str(value) if columns[name] == "string" and value is not None else value
        for name, value in row.items()
        if name in columns
    }
