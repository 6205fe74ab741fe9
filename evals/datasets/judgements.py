"""Any long table of judgements: `case,juror,attribute,value` in a .csv or .jsonl file."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

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
    rows, seen = [], dict[tuple[str, ...], int]()
    for line, row in read_rows(file, required=REQUIRED):
        for column in REQUIRED:
            if column not in row:
                raise InvalidFile(
                    f"{file}:{line}: no column {column!r}",
                    remedy=f"{near_column(column, row)}a table of judgements has {','.join(REQUIRED)}",
                )
        number = _number(row.get("repeat") or 0, file, line, "repeat")
        key = (str(row["case"]), str(row["juror"]), str(row["attribute"]), f"{number:g}")
        if key in seen:
            raise InvalidFile(
                f"{file}:{line}: {key[1]} judged {key[2]} of {key[0]} already on line {seen[key]}",
                remedy="number the second one in a column 'repeat'",
            )
        seen[key] = line
        spent = {
            name: _number(row[name], file, line, name) for name in NUMBERS if row.get(name) not in (None, "")
        }
        value = row["value"]
        # Left a truth value, it would be read as the number 1 or 0, which no juror gave.
        given = str(value).lower() if isinstance(value, bool) else value
        rows.append({**row, **spent, "value": given, "repeat": int(number)})
    if not rows:
        raise InvalidFile(f"{file}: no judgement in it", remedy="write one row for each judgement")
    table = pd.DataFrame(rows).astype(dict.fromkeys(REQUIRED[:3], str))
    for name in NUMBERS:
        if name in table:
            table[name] = pd.to_numeric(table[name], errors="coerce")
    if "group" in table:
        table["group"] = table["group"].replace("", None)
    table["value"] = table["value"].replace("", None).astype(object)
    for _, part in table.groupby("attribute"):
        numbers = pd.to_numeric(part["value"], errors="coerce")
        if (numbers.notna() == part["value"].notna()).all():
            table.loc[part.index, "value"] = numbers.astype(object)
    return table


def _number(value: object, file: Path, line: int, column: str) -> float:
    try:
        return float(str(value))
    except ValueError:
        raise InvalidFile(
            f"{file}:{line}: {column} is {value!r}", remedy="write a number, or leave the cell blank"
        ) from None
