"""Prints the rows of one sheet of a workbook as JSON lines. Started by `workbook`, in a process of its own and within limits: it reads a stranger's file.

The first line is `{"sheet": NAME, "sheets": [VISIBLE], "width": COLUMNS}` or `{"failure": KIND, "sheets": [VISIBLE]}`; each line after it is a row.
"""

import json
import sys
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from typing import Any

MEGABYTE = 2**20


def main(path: str, unpacked: int, name: str | None = None) -> None:
    """The sheet of this name, or the first where the name is empty; without one, only the names of the sheets."""
    _limit_resources(unpacked)
    import python_calamine as calamine

    try:
        with calamine.load_workbook(path) as book:
            sheets = _visible_sheets(calamine, book)
            if name is None:
                _print_line({"sheet": "", "sheets": sheets, "width": 0})
                return
            if name and name not in book.sheet_names:
                _print_line({"failure": "sheet", "sheets": sheets})
                return
            sheet = book.get_sheet_by_name(name or sheets[0])
            _print_line({"sheet": sheet.name, "sheets": sheets, "width": sheet.width})
            for cells in _filled_rows(sheet):
                _print_line([_plain(cell) for cell in cells])
    except calamine.PasswordError:
        _print_line({"failure": "password", "sheets": []})
    except (calamine.CalamineError, ValueError, IndexError, OSError):
        _print_line({"failure": "unreadable", "sheets": []})


def _limit_resources(unpacked: int) -> None:
    """Memory and processor time in proportion to what the file unpacks to: a few bytes may name a million cells."""
    if sys.platform == "win32":
        return
    import resource

    memory, seconds = 160 * MEGABYTE + 10 * unpacked, 2 + unpacked // (4 * MEGABYTE)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _visible_sheets(calamine: Any, book: Any) -> list[str]:
    """The names of the sheets of cells that are not hidden; of all, where every one is."""
    sheets = [sheet for sheet in book.sheets_metadata if sheet.typ == calamine.SheetTypeEnum.WorkSheet]
    visible = [sheet for sheet in sheets if sheet.visible == calamine.SheetVisibleEnum.Visible]
    return [sheet.name for sheet in visible or sheets or book.sheets_metadata]


def _filled_rows(sheet: Any) -> Iterator[list[Any]]:
    """The rows, with the value of a cell that is merged downwards in each of them, and of two or more that are merged sideways, as in a header, in each column.

    Of a cell that is merged downwards beside one merged sideways, the value stays in one.
    """
    ranges = sheet.merged_cell_ranges or []
    # The rows begin with the sheet's first, the columns with the first that is not empty.
    empty = (sheet.start or (0, 0))[1]
    sideways = [(top, bottom) for (top, left), (bottom, right) in ranges if left < right]
    last_rows = {
        (top, left - empty): bottom
        for (top, left), (bottom, right) in ranges
        if empty <= left == right and not any(first <= bottom and top <= last for first, last in sideways)
    }
    columns = {column for _, column in last_rows}
    wide: dict[int, list[tuple[int, int]]] = {}
    for (top, left), (bottom, right) in ranges:
        if empty <= left < right and top == bottom:
            wide.setdefault(top, []).append((left - empty, right - empty))
    merged: dict[int, tuple[int, Any]] = {}
    for row, cells in enumerate(sheet.iter_rows()):
        for column in columns:
            if (row, column) in last_rows:
                merged[column] = (last_rows[row, column], cells[column])
            elif column in merged and row <= merged[column][0]:
                cells[column] = merged[column][1]
        for left, right in wide.get(row, ()) if len(wide.get(row, ())) > 1 else ():
            cells[left : right + 1] = [cells[left]] * (right + 1 - left)
        yield cells


def _plain(cell: Any) -> Any:
    """A cell as JSON has it: a whole number without a point, a date or a time as ISO 8601."""
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    if isinstance(cell, datetime):
        return cell.isoformat(timespec="seconds")
    if isinstance(cell, date | time):
        return cell.isoformat()
    return str(cell) if isinstance(cell, timedelta) else cell


def _print_line(value: Any) -> None:
    sys.stdout.write(json.dumps(value) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
