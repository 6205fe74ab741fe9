"""People's ratings, as they stand in a file: one a row, one column an attribute, or one column an attribute and person."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from .errors import InvalidFile
from .files import near_column
from .rows import cell_number, from_csv_cell, read_rows
from .sheet_columns import column_named, scores_by_person

_LONG = ("case", "rater", "attribute", "value")
_BESIDE = ("round", "rationale")
_Row = Mapping[str, Any]


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


def read_ratings(path: Path) -> Iterator[Rating]:
    """Each rating of a table in turn, in whichever form it has; a rating given twice is an error."""
    line_by_key: dict[tuple[str, str, str, int | None], int] = {}
    rows = read_rows(path)
    first = next(rows, None)
    if first is None:
        raise InvalidFile(
            f"{path}: no ratings in it", remedy="write one rating per line: case,rater,attribute,value"
        )
    header_line = 1 if path.suffix.lower() in (".csv", ".tsv") else first[0]
    unfold = _form(f"{path}:{header_line}", list(first[1]), first[1])
    for line, row in chain([first], rows):
        if path.suffix.lower() == ".csv" and "rationale" in row:
            row["rationale"] = from_csv_cell(row["rationale"])
        for cells in unfold(f"{path}:{line}", row):
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


def _form(place: str, columns: list[str], row: _Row) -> Callable[[str, _Row], Iterator[_Row]]:
    """What makes rows of one rating each out of the rows of a table with these columns; `row` is its first.

    Raises:
        InvalidFile: A column is missing or misspelt, or the table may be read in two ways.
    """
    if any(name in columns or difflib.get_close_matches(name, columns, 1, 0.8) for name in _LONG[2:]):
        for name in _LONG:
            if name not in columns:
                raise _missing(place, name, columns)
        if cell_number(row["attribute"], place) is not None:
            raise InvalidFile(
                f"{place}: 'attribute' and 'value' could be two attributes, or the name and the score of one",
                remedy="rename these columns, or write the name of an attribute under 'attribute'",
            )
        return _long_rows
    case, rater = column_named("id", columns), column_named("rater", columns)
    if case is None:
        raise _missing(place, "case", columns)
    scores = [name for name in columns if name not in (case, rater, *_BESIDE)]
    by_person = scores_by_person(scores) if rater is None else {}
    if rater is None and not by_person:
        raise _missing(place, "rater", columns)
    if not scores:
        raise InvalidFile(
            f"{place}: no column besides case and rater", remedy="give one column per attribute"
        )
    whose: dict[str, tuple[str | None, str]] = {**by_person} or {name: (None, name) for name in scores}

    def unfold(place: str, row: _Row) -> Iterator[_Row]:
        for column, (person, attribute) in whose.items():
            for name in (case, rater, column):
                if name is not None and name not in row:
                    raise _missing(place, name, row)
            name = row[str(rater)] if person is None else person
            yield {**row, "case": row[case], "rater": name, "attribute": attribute, "value": row[column]}

    return unfold


def _long_rows(place: str, row: _Row) -> Iterator[_Row]:
    for column in _LONG:
        if column not in row:
            raise _missing(place, column, row)
    yield row


def _missing(place: str, column: str, columns: Iterable[str]) -> InvalidFile:
    return InvalidFile(
        f"{place}: no column {column!r}",
        remedy=f"{near_column(column, columns)}ratings have case,rater,attribute,value, or case,rater and one column per attribute",
    )


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
