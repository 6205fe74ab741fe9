"""Cells of a table: texts that no spreadsheet takes for a formula, ids included, and numbers as spreadsheets write them."""

from __future__ import annotations

import re
from typing import Any

from .errors import InvalidFile

_FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff0b\uff0d\uff1d\uff20]")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
_AMBIGUOUS = re.compile(r"[+-]?(?!0)\d{1,3},\d{3}")
"""The comma may stand between thousands as well as before a fraction."""
_GROUPED = re.compile(r"\s*[+-]?(?!0)\d{1,3}(?:,\d{3})+(?:\.\d+)?(?:[eE][+-]?\d+)?\s*")
_MINUS = "\N{MINUS SIGN}"


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
            f"{where}: {text!r} may have a decimal comma or one between thousands",
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
