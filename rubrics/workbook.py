"""Sheets of workbooks (.xlsx, .xlsm, .xlsb, .xls, .ods), row by row.

python-calamine reads them, in a process of its own: what a stranger's file makes it do ends with that process, and its memory
and time are limited by what the file unpacks to, which is checked first.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile, ZipFile, is_zipfile

from .errors import InvalidFile, VenireError
from .files import modified_at, open_file, split_sheet
from .sheet_columns import column_named
from .sheet_marks import is_graded
from .sheet_people import is_name
from .sheet_scores import plain_name, score_of
from .sheet_texts import OUTPUT_NAMES, are_texts, text_kind

Cell = str | float | int | bool | None

LARGEST = 256 * 2**20
"""Bytes of a workbook, unpacked; a small file can unpack to any size."""
MOST_COLUMNS = 10_000
_LISTED = 30
"""Sheets that an error names."""
_CHUNK = 2**20
_COMPOUND = b"\xd0\xcf\x11\xe0"
"""How an .xls file begins, and any file that Excel has encrypted."""
_PROCESS = Path(__file__).with_name("workbook_process.py")


class WorkbookSheet(NamedTuple):
    """A sheet's name, the names of all that are not hidden, and its rows."""

    name: str
    visible: tuple[str, ...]
    rows: Iterator[tuple[int, list[Cell]]]
    """Those that are not empty, with their numbers as Excel shows them."""


def visible_sheets(path: Path) -> tuple[str, ...]:
    """The names of a workbook's sheets that are not hidden, in order. A file that has not changed is read once."""
    file, _ = split_sheet(path)
    return _visible_sheets(file, modified_at(file))


@lru_cache(maxsize=8)
def _visible_sheets(file: Path, written: int) -> tuple[str, ...]:
    with _reader_process(file) as (header, _):
        return tuple(header["sheets"])


def data_sheet(path: Path) -> tuple[Path, str]:
    """`FILE#SHEET` of the sheet with the data, and which others there are; the path itself where there is but one, or one for each rater.

    Raises:
        VenireError: Several have the same columns.
    """
    sheets = visible_sheets(path)
    if len(sheets) < 2:
        return path, ""
    taken = first_table(path, sheets)
    if len(alike := twin_sheets(path, taken, sheets, share=0.6)) > 1:
        if rater_sheets(path):
            return path, ""
        raise VenireError(
            f"{path}: the sheets {', '.join(map(repr, alike))} have the same columns",
            remedy=f"name one: --sheet {taken!r}; to use them together, copy them into one sheet with a column that says which is whose",
        )
    rest = ", ".join(sheet for sheet in sheets if sheet != taken)
    note = f"{path}: reading the sheet {taken!r}; to read another sheet, give its name with --sheet: {rest}"
    return Path(f"{path}#{taken}"), note


def first_table(path: Path, sheets: Sequence[str]) -> str:
    """The first sheet with a table that has texts, and scores behind its first column; without one the first with scores there, with a table, and else the first.

    A cover is none: it names no column of ids or texts and has fewer than three.
    """
    tops: dict[str, list[list[Cell]]] = {}
    for name in sheets:
        with open_sheet(Path(f"{path}#{name}")) as sheet:
            tops[name] = [cells for _, cells in islice(sheet.rows, 10)]

    def is_table(name: str) -> bool:
        rows = [[str(cell) for cell in cells if cell is not None] for cells in tops[name]]
        return any(
            len(cells) > 2
            or column_named("id", cells)
            or any(plain_name(cell) in OUTPUT_NAMES for cell in cells)
            for cells in rows
        )

    tables = [name for name in sheets if is_table(name)]
    with_scores = [
        name for name in tables if any(_is_score(cell) for cells in tops[name] for cell in cells[1:])
    ]
    with_texts = [name for name in with_scores if sum(any(isinstance(cell, str) and len(cell) > 40 for cell in cells) for cells in tops[name]) > 1]  # fmt: skip
    return next(iter((*with_texts, *with_scores, *tables, *sheets)))


def _is_score(cell: Cell) -> bool:
    """Whether a cell is a number, or a word that people give as a score."""
    if isinstance(cell, str):
        return score_of(cell) is not None or is_graded([cell])
    return cell is not None


def twin_sheets(path: Path, sheet: str, sheets: Sequence[str], share: float = 1.0) -> tuple[str, ...]:
    """The sheets whose first row is that of `sheet`, or with less than a whole `share` has so many of its cells; itself among them, empty where it has but one cell."""

    def first_row(name: str) -> list[Cell]:
        with open_sheet(Path(f"{path}#{name}")) as opened:
            return next((cells for _, cells in opened.rows), [])

    header = first_row(sheet)
    if sum(cell is not None for cell in header) < 2:
        return ()
    cells = set(filter(None, header))
    return tuple(
        name
        for name in sheets
        if (row := first_row(name)) == header
        or (share < 1 and len(cells.intersection(row)) >= max(3, share * len(cells)))
    )


def rater_sheets(path: Path) -> tuple[str, ...]:
    """The sheets that are named by people and hold the same texts under the same columns, none of which says who rated; empty where there are none."""
    sheets = visible_sheets(path)
    names = twin_sheets(path, first_table(path, sheets), sheets) if len(sheets) > 1 else ()
    if len(names) < 2 or not all(map(is_name, names)):
        return ()
    texts = set()
    for name in names:
        with open_sheet(Path(f"{path}#{name}")) as sheet:
            header, *rows = [[str(cell or "") for cell in cells] for _, cells in sheet.rows]
        if column_named("rater", header):
            return ()
        columns = zip(header, zip_longest(*rows, fillvalue=""), strict=False)
        texts.add(tuple(frozenset(cells) for title, cells in columns if are_texts(cells) and text_kind(title) != "comment"))  # fmt: skip
    return names if len(texts) == 1 and any(texts) else ()


@contextmanager
def open_sheet(path: Path) -> Iterator[WorkbookSheet]:
    """The sheet that `FILE#SHEET` names; without a name the first that is not hidden.

    Raises:
        InvalidFile: There is no such sheet, or the workbook is too large, locked or broken.
    """
    file, name = split_sheet(path)
    with _reader_process(file, name) as (header, rows):
        yield WorkbookSheet(header["sheet"], tuple(header["sheets"]), rows)


@contextmanager
def _reader_process(
    file: Path, *name: str
) -> Iterator[tuple[dict[str, Any], Iterator[tuple[int, list[Cell]]]]]:
    """What the process that reads says of the workbook, and the rows of the sheet of this name; without a name no sheet is read."""
    command = [sys.executable, "-P", str(_PROCESS), str(file), str(_unpacked_size(file)), *name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        try:
            lines = map(json.loads, process.stdout)
            header = next(lines, None)
            if header is None:
                raise _too_large(file)
            _check_opened(file, "".join(name), header)
            yield header, _rows(file, lines, process)
        finally:
            process.kill()


def _rows(
    file: Path, lines: Iterator[Any], process: subprocess.Popen[bytes]
) -> Iterator[tuple[int, list[Cell]]]:
    for number, cells in enumerate(lines, 1):
        if any(cell != "" for cell in cells):
            yield number, [None if cell == "" else cell for cell in cells]
    if process.wait():
        raise _too_large(file)


def _unpacked_size(file: Path) -> int:
    """The bytes of a workbook's parts, each unpacked once: what an archive says of its sizes may be wrong."""
    with open_file(file, "name a workbook in it") as handle:
        compound = handle.read(len(_COMPOUND)) == _COMPOUND
    if compound and file.suffix.lower() == ".xls":
        size = file.stat().st_size
    elif compound or not is_zipfile(file):
        raise InvalidFile(
            f"{file}: {'this is an old .xls file, or has a password' if compound else 'this is not an Excel workbook'}",
            remedy="save it in Excel as .xlsx without a password, or as .csv",
        )
    else:
        size = _archive_size(file)
    if size > LARGEST:
        raise InvalidFile(
            f"{file}: the workbook unpacks to more than {LARGEST // 2**20} MB",
            remedy="save the sheet as .csv",
        )
    return size


def _archive_size(file: Path) -> int:
    """The sum of the sizes of an archive's members; no more is unpacked than may be."""
    try:
        with ZipFile(file) as archive:
            size = sum(member.file_size for member in archive.infolist())
            for member in archive.infolist() if size <= LARGEST else ():
                # Reads as many bytes as the member is said to have, and checks their sum.
                with archive.open(member) as part:
                    while part.read(_CHUNK):
                        pass
            return size
    except (BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError, OSError, zlib.error):
        raise _unreadable(file) from None


def _check_opened(file: Path, name: str, header: dict[str, Any]) -> None:
    match header.get("failure"):
        case None:
            if header["width"] > MOST_COLUMNS:
                raise InvalidFile(
                    f"{file}: the sheet has more than {MOST_COLUMNS:,} columns",
                    remedy="remove the empty columns",
                )
        case "sheet":
            raise InvalidFile(
                f"{file}: no sheet named {name!r}",
                remedy=f"name one of its sheets: {', '.join(header['sheets'][:_LISTED])}",
            )
        case "password":
            raise InvalidFile(
                f"{file}: the workbook has a password",
                remedy="save the workbook without a password, or as .csv",
            )
        case _:
            raise _unreadable(file)


def _unreadable(file: Path) -> InvalidFile:
    return InvalidFile(
        f"{file}: the workbook cannot be read",
        remedy="open it in Excel and save it again, or save it as .csv",
    )


def _too_large(file: Path) -> InvalidFile:
    """The error where the process that reads came to an end of its own: its cells do not fit into the memory that its size allows."""
    return InvalidFile(
        f"{file}: the workbook takes more memory or time to read than one of its size should",
        remedy="remove stray cells far from the data, or save the sheet as .csv",
    )
