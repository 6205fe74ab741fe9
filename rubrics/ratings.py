"""People's ratings, as they stand in a file: `case,rater,attribute,value`, long or wide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import InvalidFile
from .files import near_column, read_rows

_LONG = ("case", "rater", "attribute", "value")


@dataclass(frozen=True, slots=True)
class Rating:
    """What one person said of one attribute of one case. Never within reach of a prompt."""

    case: str
    rater: str
    attribute: str
    value: float | str
    """A number where it reads as one, otherwise the word."""
    round: int = 1
    rationale: str = ""


def read_ratings(path: Path, *, wide: bool = False) -> Iterator[Rating]:
    """Each rating of a .csv or .jsonl file; blank values are left out, a rating given twice is an error."""
    seen: dict[tuple[str, str, str, int], int] = {}
    rows = 0
    for line, row in read_rows(path):
        rows += 1
        for rating in _wide(path, line, row) if wide else _long(path, line, row):
            key = (rating.case, rating.rater, rating.attribute, rating.round)
            if key in seen:
                raise InvalidFile(
                    f"{path}:{line}: {rating.rater!r} rated {rating.attribute!r} of {rating.case!r} on line {seen[key]} too",
                    remedy="keep one of the two, or number them in a column 'round'",
                )
            seen[key] = line
            yield rating
    if not rows:
        raise InvalidFile(
            f"{path}: no ratings in it", remedy="write one rating a line: case,rater,attribute,value"
        )


def _long(path: Path, line: int, row: Mapping[str, Any]) -> Iterator[Rating]:
    for column in _LONG:
        if column not in row:
            raise InvalidFile(
                f"{path}:{line}: no column {column!r}",
                remedy=f"{near_column(column, row)}ratings have case,rater,attribute,value (one column an attribute: --wide)",
            )
    if row["value"] in (None, ""):
        return
    yield Rating(
        case=_required(path, line, row, "case"),
        rater=_required(path, line, row, "rater"),
        attribute=_required(path, line, row, "attribute"),
        value=_value(path, line, row["value"]),
        round=_round(path, line, row.get("round")),
        rationale=str(row.get("rationale") or ""),
    )


def _wide(path: Path, line: int, row: Mapping[str, Any]) -> Iterator[Rating]:
    for column in ("case", "rater"):
        if column not in row:
            raise InvalidFile(
                f"{path}:{line}: no column {column!r}", remedy="wide ratings start with case,rater"
            )
    for attribute, value in row.items():
        if attribute in ("case", "rater", "round", "rationale") or value in (None, ""):
            continue
        yield Rating(
            case=_required(path, line, row, "case"),
            rater=_required(path, line, row, "rater"),
            attribute=attribute,
            value=_value(path, line, value),
            round=_round(path, line, row.get("round")),
        )


def _required(path: Path, line: int, row: Mapping[str, Any], column: str) -> str:
    text = str(row[column] if row[column] is not None else "").strip()
    if not text:
        raise InvalidFile(f"{path}:{line}: {column!r} is blank", remedy=f"write the {column} of every rating")
    return text


def _value(path: Path, line: int, value: Any) -> float | str:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise InvalidFile(
            f"{path}:{line}: value {value!r} is not a number or a word", remedy="write the score"
        )
    try:
        number = float(value)
    except ValueError:
        return str(value).strip()
    if number != number or number in (float("inf"), float("-inf")):
        raise InvalidFile(
            f"{path}:{line}: value {value!r} is not a score", remedy="leave a missing value blank"
        )
    return number


def _round(path: Path, line: int, value: Any) -> int:
    if value in (None, ""):
        return 1
    try:
        return int(value)
    except ValueError:
        raise InvalidFile(
            f"{path}:{line}: round {value!r} is not a number", remedy="write 1, 2, ..."
        ) from None
