"""Human ratings from a file, long or wide, as one long table."""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from ..rubrics.errors import InvalidFile

REQUIRED = ("case", "rater", "attribute", "value")
OPTIONAL = ("round", "rationale")
DROPPED = "blank"
"""The key of `DataFrame.attrs` under which blank values are counted."""


class Row(NamedTuple):
    """One row of a file and where it stood."""

    line: int
    cells: dict[str, object]


def load_ratings(path: str | Path, *, wide: bool = False) -> pd.DataFrame:
    """The ratings in `path`: columns `case`, `rater`, `attribute`, `value` and, where given, `round`, `rationale`.

    `value` holds numbers for an attribute whose every value is one, otherwise text. Rows without a value are
    left out and counted in `attrs["blank"]`. Case and rater are text.

    Args:
        path: CSV, or JSONL when the name ends in `.jsonl` or `.ndjson`.
        wide: A CSV or JSONL with `case`, `rater` (and perhaps `round`, `rationale`) and one column per attribute.

    Raises:
        InvalidFile: Whatever is wrong with the file, with the line where it is wrong.
    """
    path = Path(path)
    rows = list(_rows(path, REQUIRED[:2] if wide else REQUIRED))
    if wide:
        rows = list(_long(path, rows))
    _check(path, rows)
    kept = [row for row in rows if not _blank(row.cells["value"])]
    table = pd.DataFrame(
        {name: [row.cells.get(name) for row in kept] for name in REQUIRED},
        columns=list(REQUIRED),
        dtype=object,
    )
    for name in ("case", "rater", "attribute"):
        table[name] = table[name].map(_text)
    table["value"] = _typed(table)
    for name in OPTIONAL:
        if any(name in row.cells for row in rows):
            given = pd.Series([row.cells.get(name) for row in kept], dtype=object)
            table[name] = given.where(~given.map(_blank), None)
    _refuse_duplicates(path, kept)
    table.attrs[DROPPED] = len(rows) - len(kept)
    return table


def _rows(path: Path, required: Iterable[str]) -> Iterator[Row]:
    text = _read(path)
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        rows = list(_json_rows(path, text))
    else:
        rows = list(_csv_rows(path, text, required))
    if not rows:
        raise InvalidFile(f"{path}: the file holds no ratings", remedy="give a row for each rating")
    for row in rows:
        _require(f"{path}:{row.line}", required, row.cells)
        yield row


def _read(path: Path) -> str:
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise InvalidFile(f"{path}: there is no such file", remedy="check the path") from None
    except OSError as error:
        raise InvalidFile(
            f"{path}: cannot be read ({error.strerror})", remedy="give a file you may read"
        ) from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise InvalidFile(f"{path}:{line}: not UTF-8", remedy="save the file as UTF-8") from None
    if not text.strip():
        raise InvalidFile(f"{path}: the file is empty", remedy=f"give the columns {', '.join(REQUIRED)}")
    return text


def _json_rows(path: Path, text: str) -> Iterator[Row]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            cells = json.loads(line)
        except json.JSONDecodeError as error:
            raise InvalidFile(
                f"{path}:{number}: not JSON ({error.msg})", remedy="give one JSON object on each line"
            ) from None
        if not isinstance(cells, dict):
            raise InvalidFile(
                f"{path}:{number}: not a JSON object", remedy='write {"case": ..., "value": ...}'
            )
        yield Row(number, cells)


def _csv_rows(path: Path, text: str, required: Iterable[str]) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [name.strip() for name in next(reader)]
        _require(f"{path}:1", required, header)
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(header):
                raise InvalidFile(
                    f"{path}:{reader.line_num}: {len(cells)} cells under {len(header)} columns",
                    remedy="quote cells that hold commas, and give every row a cell for each column",
                )
            yield Row(reader.line_num, dict(zip(header, cells, strict=True)))
    except csv.Error as error:
        raise InvalidFile(f"{path}:{reader.line_num}: not CSV ({error})", remedy="check the quotes") from None


def _require(where: str, required: Iterable[str], names: Iterable[str]) -> None:
    names = list(names)
    for column in required:
        if column not in names:
            near = get_close_matches(column, names, n=1)
            hint = f"; did you mean to call {near[0]!r} that?" if near else ""
            raise InvalidFile(
                f"{where}: no column {column!r}{hint}",
                remedy=f"give the columns {', '.join(required)}, or use the wide form with one column per attribute",
            )


def _long(path: Path, rows: list[Row]) -> Iterator[Row]:
    """Each cell of a wide row as a row of its own."""
    fixed = ("case", "rater", *OPTIONAL)
    for row in rows:
        attributes = [name for name in row.cells if name not in fixed]
        if not attributes:
            raise InvalidFile(
                f"{path}:{row.line}: no attribute beside case and rater",
                remedy="give one column per attribute",
            )
        shared = {name: row.cells[name] for name in fixed if name in row.cells}
        for name in attributes:
            yield Row(row.line, {**shared, "attribute": name, "value": row.cells[name]})


def _check(path: Path, rows: list[Row]) -> None:
    for row in rows:
        for name in ("case", "rater", "attribute"):
            if _blank(row.cells[name]):
                raise InvalidFile(
                    f"{path}:{row.line}: {name!r} is blank", remedy="name every case, rater and attribute"
                )
        if isinstance(row.cells["value"], dict | list):
            raise InvalidFile(
                f"{path}:{row.line}: 'value' is not a single value", remedy="give a number or a word"
            )


def _refuse_duplicates(path: Path, rows: list[Row]) -> None:
    seen: dict[tuple[str, ...], int] = {}
    for row in rows:
        key = tuple(_text(row.cells.get(name, "")) for name in ("case", "rater", "attribute", "round"))
        if key in seen:
            raise InvalidFile(
                f"{path}:{row.line}: {key[1]} rates {key[2]!r} of case {key[0]!r} again, first on line {seen[key]}",
                remedy="keep one of them, or tell them apart by a `round` column",
            )
        seen[key] = row.line


def _typed(table: pd.DataFrame) -> "pd.Series":
    """Numbers where every value of an attribute is one, otherwise text."""
    typed = pd.Series(index=table.index, dtype=object)
    for _, values in table.groupby("attribute", sort=False)["value"]:
        numbers = values.map(_number)
        typed[values.index] = values.map(_text) if numbers.isna().any() else numbers
    return typed if typed.map(lambda value: isinstance(value, str)).any() else typed.astype(float)


def _number(value: object) -> float | None:
    if not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None


def _blank(value: object) -> bool:
    return (
        value is None
        or value != value
        or (isinstance(value, str) and value.strip().casefold() in ("", "nan"))
    )


def _text(value: object) -> str:
    return str(value).strip()
