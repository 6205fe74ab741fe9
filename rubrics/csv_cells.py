"""CSV cells that no spreadsheet takes for a formula, ids included."""

from __future__ import annotations

import re
from typing import Any

_FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff0b\uff0d\uff1d\uff20]")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


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
