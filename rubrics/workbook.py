"""The first sheet of an Excel workbook (.xlsx), row by row: a zip of XML, read without any package."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from zipfile import BadZipFile, ZipFile

from .errors import InvalidFile

Cell = str | float | int | bool | None

LARGEST_PART = 256 * 2**20
"""Bytes of one part of a workbook, unpacked; a small file can unpack to any size."""
MOST_COLUMNS = 10_000
_LINK = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_STRICT_LINK = "{http://purl.oclc.org/ooxml/officeDocument/relationships}id"
_OLD_OR_LOCKED = b"\xd0\xcf\x11\xe0"
"""How an .xls file begins, and any file that Excel has encrypted."""
_DATES = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})
"""Excel's own number formats that show a date or a time."""
_EPOCH = datetime(1899, 12, 30)


def sheet_rows(path: Path) -> Iterator[tuple[int, list[Cell]]]:
    """Each row of the first sheet that is not empty, with its number as Excel shows it."""
    try:
        with ZipFile(path) as book:
            yield from _rows(path, book)
    except BadZipFile:
        with path.open("rb") as file:
            locked = file.read(4) == _OLD_OR_LOCKED
        raise InvalidFile(
            f"{path}: {'an old .xls file, or one with a password' if locked else 'not an Excel workbook'}",
            remedy="save it in Excel as .xlsx without a password, or as .csv",
        ) from None
    except (ElementTree.ParseError, KeyError, ValueError, IndexError, RuntimeError, NotImplementedError):
        raise InvalidFile(
            f"{path}: the workbook cannot be read",
            remedy="open it in Excel and save it again, or save it as .csv",
        ) from None
    except OSError as error:
        raise InvalidFile(f"{path}: {error.strerror or error}", remedy="check the path") from None


def _rows(path: Path, book: ZipFile) -> Iterator[tuple[int, list[Cell]]]:
    name = _first_sheet(path, book)
    words, dates = _shared_words(path, book), _date_styles(path, book)
    with book.open(_safe_part_name(path, book, name)) as part:
        number = 0
        for _, row in ElementTree.iterparse(part):  # noqa: S314 - without a DTD there is nothing to expand
            if _local(row.tag) != "row":
                continue
            number = int(row.get("r") or number + 1)
            cells: list[Cell] = []
            for cell in row:
                if _local(cell.tag) != "c":
                    continue
                place = cell.get("r")
                column = _column(place) if place else len(cells)
                if column >= MOST_COLUMNS:
                    raise InvalidFile(
                        f"{path}:{number}: more than {MOST_COLUMNS:,} columns",
                        remedy="remove the empty columns",
                    )
                cells += [None] * (column - len(cells))
                cells.append(_value(cell, words, dates))
            if any(value not in (None, "") for value in cells):
                yield number, cells
            row.clear()


def _safe_part_name(path: Path, book: ZipFile, name: str) -> str:
    if book.getinfo(name).file_size > LARGEST_PART:
        raise InvalidFile(
            f"{path}: {name} unpacks to more than {LARGEST_PART // 2**20} MB", remedy="save the sheet as .csv"
        )
    with book.open(name) as part:
        before = b""
        while chunk := part.read(2**20):
            if b"<!DOCTYPE" in before + chunk:
                raise ValueError("a workbook has no DTD")
            before = chunk[-16:]
    return name


def _part(path: Path, book: ZipFile, name: str) -> ElementTree.Element:
    return ElementTree.fromstring(book.read(_safe_part_name(path, book, name)))  # noqa: S314 - without a DTD there is nothing to expand


def _first_sheet(path: Path, book: ZipFile) -> str:
    """The name of the part that holds the first sheet that is not hidden."""
    workbook = _part(path, book, "xl/workbook.xml")
    links = _part(path, book, "xl/_rels/workbook.xml.rels")
    targets = {link.get("Id"): link.get("Target", "") for link in links}
    sheets = [node for node in workbook.iter() if _local(node.tag) == "sheet"]
    shown = [node for node in sheets if node.get("state", "visible") == "visible"] or sheets
    target = targets[shown[0].get(_LINK) or shown[0].get(_STRICT_LINK)]
    return target.lstrip("/") if target.startswith("/") else f"xl/{target}"


def _shared_words(path: Path, book: ZipFile) -> list[str]:
    """The texts that cells refer to by number."""
    if "xl/sharedStrings.xml" not in book.namelist():
        return []
    return [_words(item) for item in _part(path, book, "xl/sharedStrings.xml")]


def _date_styles(path: Path, book: ZipFile) -> frozenset[int]:
    """The numbers of the cell styles that show a number as a date."""
    if "xl/styles.xml" not in book.namelist():
        return frozenset()
    styles = _part(path, book, "xl/styles.xml")
    own = {
        int(node.get("numFmtId", 0))
        for node in styles.iter()
        if _local(node.tag) == "numFmt"
        if re.search(r"[ymdhs]", re.sub(r'"[^"]*"|\[[^\]]*\]|\\.', "", node.get("formatCode", "")).lower())
    }
    used = next((node for node in styles if _local(node.tag) == "cellXfs"), ())
    return frozenset(
        place for place, style in enumerate(used) if int(style.get("numFmtId", 0)) in _DATES | own
    )


def _value(cell: ElementTree.Element, words: list[str], dates: frozenset[int]) -> Cell:
    kind = cell.get("t", "n")
    if kind == "inlineStr":
        return _words(cell)
    text = next((node.text for node in cell if _local(node.tag) == "v"), None)
    if text is None or kind == "e":
        return None
    if kind == "s":
        return words[int(text)]
    if kind == "b":
        return text == "1"
    if kind in ("str", "d"):
        return text
    number = float(text)
    if int(cell.get("s", 0)) in dates:
        moment = _EPOCH + timedelta(days=number)
        return moment.date().isoformat() if number == int(number) else moment.isoformat(timespec="seconds")
    return int(number) if number == int(number) else number


def _words(item: ElementTree.Element) -> str:
    """The text of a cell, whose runs may be set in different types; not what is read out beside it."""
    found = []
    for node in item:
        name = _local(node.tag)
        if name == "t":
            found.append(node.text or "")
        elif name in ("r", "is"):
            found.append(_words(node))
    return re.sub(r"_x([0-9A-Fa-f]{4})_", lambda code: chr(int(code[1], 16)), "".join(found))


def _column(reference: str) -> int:
    """The place of a column from a cell's name: A1 is 0, AA7 is 26."""
    letters = re.match(r"[A-Z]+", reference)
    if letters is None:
        raise ValueError(f"{reference!r} names no cell")
    number = 0
    for letter in letters[0]:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1


def _local(tag: Any) -> str:
    return str(tag).rpartition("}")[2]
