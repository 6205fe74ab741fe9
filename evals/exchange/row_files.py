"""Cases and ratings written as files: JSONL or CSV, and Parquet or Arrow where pyarrow is there."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...orchestration.record.atomic_write import write_atomically
from ...orchestration.record.private_files import open_private
from ...rubrics.case import Case
from ...rubrics.csv_cells import csv_cell
from ...rubrics.errors import InvalidFile
from ...rubrics.ratings import Rating
from ...rubrics.tables import ColumnKind, need_pyarrow, table_bytes

_TABLES = (".parquet", ".arrow", ".feather")
_ENDINGS = (".jsonl", ".csv", *_TABLES)


def write_cases_file(cases: Sequence[Case], path: Path) -> None:
    """The cases as `venire run` reads them; in a table, metadata has a column for each key."""
    check_target(path)
    if not cases:
        raise InvalidFile(f"no case to write into {path}", remedy="leave out -o: only ratings were found")
    rows = [case.model_dump(mode="json", exclude_defaults=True) for case in cases]
    if path.suffix.lower() == ".jsonl":
        write_atomically(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        return
    flat = [_flat_case(row) for row in rows]
    _write_rows(flat, path)


def write_ratings_file(ratings: Sequence[Rating], path: Path) -> None:
    """The ratings in long form, as every command that takes `--human` reads them."""
    check_target(path)
    if not ratings:
        raise InvalidFile(
            f"no rating to write into {path}", remedy="leave out --ratings: only cases were found"
        )
    optional = [
        name for name in ("round", "rationale") if any(getattr(each, name) is not None for each in ratings)
    ]
    rows = [
        {name: getattr(each, name) for name in ("case", "rater", "attribute", "value", *optional)} for each in ratings
    ]  # fmt: skip
    if path.suffix.lower() == ".jsonl":
        write_atomically(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        return
    for row in rows:
        row["value"] = _cell(row["value"])
        if path.suffix.lower() == ".csv" and row.get("rationale") is not None:
            row["rationale"] = csv_cell(row["rationale"])
    _write_rows(rows, path)


def check_target(path: Path) -> None:
    """An error, before anything is read, where a file cannot be written: no such kind, no such folder, no pyarrow."""
    if path.suffix.lower() not in _ENDINGS:
        raise InvalidFile(
            f"{path}: no kind of file that venire writes", remedy=f"end its name with {', '.join(_ENDINGS)}"
        )
    if not path.absolute().parent.is_dir():
        raise InvalidFile(f"{path}: no such folder", remedy="make it first, or name another")
    if path.suffix.lower() in _TABLES:
        need_pyarrow(f"{path}: Parquet and Arrow files")


def _flat_case(row: dict[str, Any]) -> dict[str, Any]:
    """A case as one row of cells; several notes are paragraphs of one."""
    metadata = row.pop("metadata", {})
    source = row.pop("source", None)
    cells = {**row, **({"source": "\n\n".join(source)} if source else {})}
    return cells | {
        name if name not in Case.model_fields else f"tool_{name}": value
        if isinstance(value, str | int | float)
        else json.dumps(value, ensure_ascii=False)
        for name, value in metadata.items()
    }


def _write_rows(rows: list[dict[str, Any]], path: Path) -> None:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    if path.suffix.lower() in _TABLES:
        kinds = {name: _column_kind([row.get(name) for row in rows]) for name in columns}
        content = table_bytes(rows, kinds, "parquet" if path.suffix.lower() == ".parquet" else "arrow")
        with open_private(path) as handle:
            handle.buffer.write(content)
        return
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(path, text.getvalue())


def _column_kind(cells: Sequence[Any]) -> ColumnKind:
    given = [cell for cell in cells if cell is not None]
    if given and all(isinstance(cell, int) and not isinstance(cell, bool) for cell in given):
        return "int64"
    return "float64" if given and all(isinstance(cell, float) for cell in given) else "string"


def _cell(value: Any) -> Any:
    """A number as it is written by hand, with all its digits."""
    if not isinstance(value, float):
        return value
    return str(int(value)) if value.is_integer() else repr(value)
