"""Any long table of judgements: `case,juror,attribute,value` in a .csv or .jsonl file."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ...rubrics.csv_cells import cell_number
from ...rubrics.errors import InvalidFile
from ...rubrics.files import near_column
from ...rubrics.rows import read_rows

REQUIRED = ("case", "juror", "attribute", "value")
NUMBERS = ("cost", "seconds")


def load_judgements(path: str | Path) -> pd.DataFrame:
    """The judgements in `path`; a blank value stays, as an abstention.

    `value` holds numbers for an attribute whose every value is one, otherwise text. The optional columns `repeat`,
    `cost` and `seconds` are numbers; `order`, `group` (blank for a case without one) and `rationale` are kept as they are.

    Raises:
        InvalidFile: Whatever is wrong with the file, with the line where it is wrong.
    """
    file = Path(path)
    rows, numbers, seen = [], list[float | None](), dict[tuple[str, ...], int]()
    for line, row in read_rows(file, required=REQUIRED):
        for column in REQUIRED:
            if column not in row:
                raise InvalidFile(
                    f"{file}:{line}: no column {column!r}",
                    remedy=f"{near_column(column, row)}a table of judgements has {','.join(REQUIRED)}",
                )
        where = f"{file}:{line}"
        repeat = _number(row.get("repeat") or 0, where, "repeat")
        key = (str(row["case"]), str(row["juror"]), str(row["attribute"]), f"{repeat:g}")
        if key in seen:
            raise InvalidFile(
                f"{file}:{line}: {key[1]} judged {key[2]} of {key[0]} already on line {seen[key]}",
                remedy="number the second one in a column 'repeat'",
            )
        seen[key] = line
        spent = {name: _number(row[name], where, name) for name in NUMBERS if row.get(name) not in (None, "")}
        value = row["value"]
        # Left a truth value, it would be read as the number 1 or 0, which no juror gave.
        given = str(value).lower() if isinstance(value, bool) else value
        rows.append({**row, **spent, "value": given, "repeat": int(repeat)})
        numbers.append(cell_number(given, where))
    if not rows:
        raise InvalidFile(f"{file}: no judgement in it", remedy="write one row for each judgement")
    table = pd.DataFrame(rows).astype(dict.fromkeys(REQUIRED[:3], str))
    for name in NUMBERS:
        if name in table:
            table[name] = pd.to_numeric(table[name], errors="coerce")
    if "group" in table:
        table["group"] = table["group"].replace("", None)
    table["value"] = table["value"].replace("", None).astype(object)
    read = pd.Series(numbers, table.index, dtype=float)
    for _, part in table.groupby("attribute"):
        values = pd.to_numeric(read[part.index], downcast="integer")
        if (values.notna() == part["value"].notna()).all():
            table.loc[part.index, "value"] = values.astype(object)
    return table


def _number(value: object, where: str, column: str) -> float:
    number = cell_number(value, where)
    if number is None:
        raise InvalidFile(f"{where}: {column} is {value!r}", remedy="write a number, or leave the cell blank")
    return number
