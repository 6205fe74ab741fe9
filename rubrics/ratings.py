"""People's ratings, as they stand in a file: one a row, one column an attribute, or a sheet as people have them."""

from __future__ import annotations

import difflib
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from .errors import InvalidFile, VenireError, without_controls
from .files import is_workbook, near_column, split_sheet
from .rows import cell_number, first_columns, from_csv_cell, read_rows
from .sheet_texts import are_texts, text_kind

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
    """Each rating of a table in turn, in whichever form it has; a rating given twice is an error.

    A table that does not name its columns `case` and `rater`, or has texts beside, is read as `venire new` reads a sheet; what was left out is
    said on stderr.
    """
    if is_workbook(path):
        from .workbook import data_sheet

        path, note = data_sheet(path)
        _say(note)
    columns = first_columns(path)
    if columns and not {"case", "rater"}.issubset(columns) and len(set(_LONG) & set(columns)) < 3:
        yield from _sheet_ratings(path)
        return
    line_by_key: dict[tuple[str, str, str, int], int] = {}
    # A workbook is parsed as a whole to read one row of it: not again for none.
    rows = read_rows(path) if columns or not is_workbook(split_sheet(path)[0]) else iter(())
    first = next(rows, None)
    if first is None:
        raise InvalidFile(
            f"{path}: no ratings were found", remedy="write one rating per line: case,rater,attribute,value"
        )
    # A sheet has no rounds, and its reader takes numbers alone: a comment beside ratings in words does not make one of them.
    if "round" not in first[1] and any(
        text_kind(name) != "comment"
        and ((text_kind(name) and not _is_number(cell)) or are_texts([_text(cell)]))
        for name, cell in first[1].items()
        if name not in (*_LONG, *_BESIDE)
    ):
        yield from _sheet_ratings(path)
        return
    header_line = 1 if path.suffix.lower() in (".csv", ".tsv") else first[0]
    unfold = _form(f"{path}:{header_line}", list(first[1]), first[1])
    for line, row in chain([first], rows):
        if path.suffix.lower() == ".csv" and "rationale" in row:
            row["rationale"] = from_csv_cell(row["rationale"])
        for cells in unfold(f"{path}:{line}", row):
            rating = _rating(f"{path}:{line}", cells)
            # Whoever reads ratings takes a blank round for round 0.
            key = (rating.case, rating.rater, rating.attribute, rating.round or 0)
            if key in line_by_key and rating.value is not None:
                raise InvalidFile(
                    f"{path}:{line}: {rating.rater!r} rated {rating.attribute!r} of case {rating.case!r} on line "
                    f"{line_by_key[key]} too",
                    remedy="keep one of the two ratings, or number them in a column 'round'",
                )
            if rating.value is not None:
                line_by_key[key] = line
            yield rating


def _sheet_ratings(path: Path) -> Iterator[Rating]:
    """The ratings in a person's own sheet."""
    from .sheet import read_sheet, sheet_ratings

    try:
        rows, columns = read_sheet(path, say=_say, ratings_only=True)
        text = columns.one("output")
        if columns.one("id") is None and text is None:
            raise _missing(str(path), "case", columns.roles)
        ratings = sheet_ratings(rows, columns, ratings_only=True)
        is_one_rater = len({row["rater"] for row in ratings}) == 1 and are_texts([row.get(text or "", "") for row in rows])  # fmt: skip
        if columns.one("rater") is None and (not is_one_rater or near_column("rater", columns.roles)):
            raise _missing(str(path), "rater", columns.roles)
    except VenireError as error:
        if not any(option in error.remedy for option in ("--column", "--scale", "--rater")):
            raise
        raise InvalidFile(
            error.problem,
            remedy=f"make a file of ratings from it with `venire new FOLDER --from {path}`; there, {error.remedy}",
        ) from None
    if not ratings:
        raise InvalidFile(
            f"{path}: no column was read as people's scores",
            remedy="give the columns case,rater,attribute,value, or case,rater and one column for each attribute",
        )
    attributes = [name for name in ratings[0] if name not in ("case", "rater")]
    people = dict.fromkeys(row["rater"] for row in ratings)
    unused = [*columns.of("kept"), *columns.of("left out")]
    _say(
        f"{path}: read as ratings of {', '.join(attributes)} by {', '.join(people)}"
        + (f"; not read as ratings: {', '.join(unused)}" if unused else "")
    )
    for row in ratings:
        for name in attributes:
            yield Rating(row["case"], row["rater"], name, float(row[name]) if row[name] else None)


def _is_number(cell: Any) -> bool:
    return re.fullmatch(r"-?\d+(?:\.\d+)?", _text(cell)) is not None


def _say(note: str) -> None:
    if note:
        print(without_controls(note), file=sys.stderr)


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
                f"{place}: it is not clear whether 'attribute' and 'value' are two attributes, or one attribute's name and its score",
                remedy="rename these columns, or write the name of an attribute under 'attribute'",
            )
        return _long_rows
    scores = [name for name in columns if name not in ("case", "rater", *_BESIDE)]
    if not scores:
        raise InvalidFile(
            f"{place}: the table has no column of scores, only case and rater",
            remedy="add one column of scores for each attribute",
        )

    def unfold(place: str, row: _Row) -> Iterator[_Row]:
        for name in ("case", "rater", *scores):
            if name not in row:
                raise _missing(place, name, row)
        for column in scores:
            yield {**row, "attribute": column, "value": row[column]}

    return unfold


def _long_rows(place: str, row: _Row) -> Iterator[_Row]:
    for column in _LONG:
        if column not in row:
            raise _missing(place, column, row)
    yield row


def _missing(place: str, column: str, columns: Iterable[str]) -> InvalidFile:
    return InvalidFile(
        f"{place}: the column {column!r} is missing",
        remedy=f"{near_column(column, columns)}give the columns case,rater,attribute,value, or case,rater and one column for each attribute; "
        "from a sheet of another form, `venire new FOLDER --from SHEET` makes such a file",
    )


def _rating(place: str, row: Mapping[str, Any]) -> Rating:
    texts = {column: _text(row[column]) for column in ("case", "rater", "attribute")}
    for column, text in texts.items():
        if not text:
            raise InvalidFile(f"{place}: {column!r} is blank", remedy=f"give every rating a {column}")
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
        raise InvalidFile(
            f"{place}: {value!r} is not a single number or word", remedy="write one number or one word"
        )
    number = cell_number(value, place)
    if number is None:
        return str(value).strip()
    if math.isinf(number):
        raise InvalidFile(
            f"{place}: {value!r} is not a score", remedy="write a number, or leave the cell blank"
        )
    return None if math.isnan(number) else number


def _round(place: str, value: Any) -> int | None:
    if _text(value) == "":
        return None
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidFile(f"{place}: round {value!r} is not a number", remedy="write 1, 2, ...") from None
