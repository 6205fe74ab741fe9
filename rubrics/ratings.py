"""People's ratings, as they stand in a file: `case,rater,attribute,value`, long or wide."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import InvalidFile
from .files import near_column
from .rows import cell_number, from_csv_cell, read_rows

_LONG = ("case", "rater", "attribute", "value")
_WIDE = ("case", "rater")


@dataclass(frozen=True, slots=True)
class Rating:
    """What one person said of one attribute of one case. Never within reach of a prompt."""

    case: str
    rater: str
    attribute: str
    value: float | str | None
    """A number where it reads as one, otherwise the word; None where it was left blank."""
    round: int | None = None
    rationale: str | None = None


def read_ratings(path: Path, *, wide: bool = False) -> Iterator[Rating]:
    """Each rating of a .csv or .jsonl file in turn; a rating given twice is an error."""
    columns = _WIDE if wide else _LONG
    line_by_key: dict[tuple[str, str, str, int | None], int] = {}
    rows = 0
    for line, row in read_rows(path, required=columns):
        rows += 1
        for column in columns:
            if column not in row:
                raise InvalidFile(
                    f"{path}:{line}: no column {column!r}",
                    remedy=f"{near_column(column, row)}ratings have case,rater,attribute,value; "
                    "one column an attribute is the wide form",
                )
        if path.suffix.lower() == ".csv" and "rationale" in row:
            row["rationale"] = from_csv_cell(row["rationale"])
        for cells in _cells(path, line, row) if wide else [row]:
            rating = _rating(f"{path}:{line}", cells)
            key = (rating.case, rating.rater, rating.attribute, rating.round)
            if key in line_by_key and rating.value is not None:
                raise InvalidFile(
                    f"{path}:{line}: {rating.rater!r} rated {rating.attribute!r} of {rating.case!r} on line "
                    f"{line_by_key[key]} too",
                    remedy="keep one of the two, or number them in a column 'round'",
                )
            if rating.value is not None:
                line_by_key[key] = line
            yield rating
    if not rows:
        raise InvalidFile(
            f"{path}: no ratings in it", remedy="write one rating a line: case,rater,attribute,value"
        )


def _cells(path: Path, line: int, row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A wide row as long ones."""
    attributes = [name for name in row if name not in (*_WIDE, "round", "rationale")]
    if not attributes:
        raise InvalidFile(
            f"{path}:{line}: no attribute beside case and rater", remedy="give one column per attribute"
        )
    for attribute in attributes:
        yield {**row, "attribute": attribute, "value": row[attribute]}


def _rating(place: str, row: Mapping[str, Any]) -> Rating:
    texts = {column: _text(row[column]) for column in ("case", "rater", "attribute")}
    for column, text in texts.items():
        if not text:
            raise InvalidFile(f"{place}: {column!r} is blank", remedy=f"write the {column} of every rating")
    rationale = row.get("rationale")
    return Rating(
        **texts,
        value=_value(place, row["value"]),
        round=_round(place, row.get("round")),
        rationale=None if _text(rationale) == "" else str(rationale),
    )


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _value(place: str, value: Any) -> float | str | None:
    if value is None or (isinstance(value, str) and value.strip().casefold() in ("", "nan")):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise InvalidFile(f"{place}: {value!r} is not a single value", remedy="give a number or a word")
    number = cell_number(value, place)
    if number is None:
        return str(value).strip()
    if math.isinf(number):
        raise InvalidFile(f"{place}: {value!r} is not a score", remedy="leave a missing value blank")
    return None if math.isnan(number) else number


def _round(place: str, value: Any) -> int | None:
    if _text(value) == "":
        return None
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidFile(f"{place}: round {value!r} is not a number", remedy="write 1, 2, ...") from None
