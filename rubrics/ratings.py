"""People's ratings, as they stand in a file: one a row, one column an attribute, or one column an attribute and person."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from .errors import InvalidFile
from .files import near_column
from .rows import cell_number, from_csv_cell, read_rows
from .sheet_columns import column_named, without_aggregates
from .sheet_scores import QUALITY, plain_name, without_scale
from .sheet_texts import are_texts

_LONG = ("case", "rater", "attribute", "value")
_BESIDE = ("round", "rationale")
_Row = Mapping[str, Any]
_BY_PERSON: Sequence[tuple[re.Pattern[str], int | None]] = (
    (re.compile(r"([^:]+):([^:]+)"), 0),
    (re.compile(r"([^()\[\]]+)[(\[]([^()\[\]]+)[)\]]"), 1),
    (re.compile(r"(.+?) +[-–—/|] +(.+)"), None),
    (re.compile(r"(.+)['’]s +(.+)"), 0),
    (re.compile(r"(.+) +(?:by|von|par|por) +(.+)"), 1),
    (re.compile(r"([^_.]+)[_.]([^_.]+)"), None),
    (re.compile(r"(.+?) +((?:Dr|Prof|Mr|Mrs|Ms|Frau|Herr)\.? \S+)"), 1),
    (re.compile(r"((?:Dr|Prof|Mr|Mrs|Ms|Frau|Herr)\.? \S+) +(.+)"), 0),
    (re.compile(r"(.+) ((?:[A-Z]\. ?){2,3})"), 1),
    (re.compile(r"(.+)[ _.-]+((?:r|rater|reviewer|annotator|expert|judge)[ _.-]?\d+)", re.IGNORECASE), 1),
    (re.compile(r"((?:r|rater|reviewer|annotator|expert|judge)[ _.-]?\d+)[ _.-]+(.+)", re.IGNORECASE), 0),
)
"""How a column's name may hold a person and an attribute, and which part is the person where the words do not tell."""
_PERSON = re.compile(
    r"\b(dr|prof|mr|mrs|ms|frau|herr|rater|reviewer|annotator|nurse|doctor|physician|clinician|expert|person|judge|arzt|medico)\b|"
    r"^(r|rater|reviewer|annotator|expert|judge|reader|dr)[ ._-]?\d+$",
    re.IGNORECASE,
)
_NOUN = re.compile(r"(ness|ility|ivity|tion|sion|ment|acy|ism|heit|keit|ung|tat|dade|cao|cion)$")
"""How nouns for qualities end, and names of people do not."""
_ADJECTIVE = re.compile(r"(ing|al|ful|ous|ive|able|ible|ic|ant|ent|ate|ed|lich|ig|isch)$")
_NAME = re.compile(r"[^\W\d_]+|[A-Z]\. ?[^\W\d_]+|[A-Z][^\W\d_]+ [A-Z][^\W\d_]+")
"""A word that may be a person's name, with the initial or the first name before it."""
_TWO_WORDS = re.compile(r"(.+) (\S+)")
OVERALL = "overall quality"
"""What is scored where columns are named by people alone."""


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
            f"{path}: no ratings were found", remedy="write one rating per line: case,rater,attribute,value"
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
                    f"{path}:{line}: {rating.rater!r} rated {rating.attribute!r} of case {rating.case!r} on line "
                    f"{line_by_key[key]} too",
                    remedy="keep one of the two ratings, or number them in a column 'round'",
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
                f"{place}: it is not clear whether 'attribute' and 'value' are two attributes, or one attribute's name and its score",
                remedy="rename these columns, or write the name of an attribute under 'attribute'",
            )
        return _long_rows
    case, rater = column_named("id", columns), column_named("rater", columns)
    if case is None:
        raise _missing(place, "case", columns)
    texts = [name for name in columns if are_texts([_text(row[name])])] if rater is None else []
    scores = [name for name in columns if name not in (case, rater, *_BESIDE, *texts)]
    by_person = scores_by_person(scores) if rater is None else {}
    if rater is None and not by_person:
        raise _missing(place, "rater", columns)
    if not scores:
        raise InvalidFile(
            f"{place}: the table has no column of scores, only case and rater",
            remedy="add one column of scores for each attribute",
        )
    whose: dict[str, tuple[str | None, str]] = {
        name: (person, without_scale(subject)) for name, (person, subject) in by_person.items()
    } or {name: (None, name) for name in scores}

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


def scores_by_person(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """By column of scores, whose they are and of what, where all that have a second part say so: `Dr Lee: accurate`, `accurate (Dr Lee)`.

    A column that is named by a person alone holds scores of the whole. Empty where there are no two persons, or where it cannot be told
    which part is the person; a mean or consensus is no person.
    """
    names = without_aggregates(names)
    if (
        len(names) > 1
        and all(
            _PERSON.search(name.replace("_", " ")) and not QUALITY.search(plain_name(name)) for name in names
        )
        and not any(form.fullmatch(name) for form, _ in _BY_PERSON[:3] for name in names)
    ):
        return {name: (name, OVERALL) for name in names}
    for form, usual in _BY_PERSON:
        parts = _parts(names, form)
        side = _person_side(parts, usual)
        if side is not None:
            return {
                name: (part[side], part[1 - side] + name[len(without_scale(name)) :])
                for name, part in parts.items()
            }
    words = _parts(names, _TWO_WORDS)
    sides = [{plain_name(part[side]) for part in words.values()} for side in (0, 1)]
    rated = [[QUALITY.search(part) is not None for part in side] for side in sides]
    for person in (0, 1):
        subject = 1 - person
        if _is_grid(words) and min(map(len, sides)) > 1 and all(rated[subject]) and not any(rated[person]):
            return {
                name: (part[person], part[subject] + name[len(without_scale(name)) :])
                for name, part in words.items()
            }
    return {}


def unclear_persons(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Columns of scores in two parts of which either may be the person's; or, with an empty second part, named by words that may be people's names."""
    for form, usual in _BY_PERSON:
        parts = _parts(names, form)
        if _is_grid(parts) and _person_side(parts, usual) is None:
            sides = [{plain_name(part[side]) for part in parts.values()} for side in (0, 1)]
            varied = [side for side in sides if len(side) > 1]
            known = any(QUALITY.search(part) for side in varied for part in side)
            if not known or (usual is None and len(varied) > 1):
                return parts
    names = without_aggregates(names)
    words = _parts(names, _TWO_WORDS)
    heads, tails = ({plain_name(part[side]) for part in words.values()} for side in (0, 1))
    rated = [[QUALITY.search(part) is not None for part in side] for side in (heads, tails)]
    if _is_grid(words) and any(
        len(people) > 1 and all(subject) and not any(person)
        for people, subject, person in ((heads, rated[1], rated[0]), (tails, rated[0], rated[1]))
    ):
        return words
    if len(names) > 1 and all(map(_NAME.fullmatch, names)):
        plain = [*map(plain_name, names)]
        known = any(QUALITY.search(name) or _NOUN.search(name) for name in plain)
        return {} if known or all(map(_ADJECTIVE.search, plain)) else {name: (name, "") for name in names}
    numbered = _parts(names, re.compile(r"(.*[^\d\s_.-])[ _.-]?(\d{1,2})"))
    return (
        numbered
        if _is_grid(numbered) and all(QUALITY.search(plain_name(head)) for head, _ in numbered.values())
        else {}
    )


def _parts(names: Sequence[str], form: re.Pattern[str]) -> dict[str, tuple[str, str]]:
    matches = {name: form.fullmatch(without_scale(name)) for name in names}
    return {name: (m[1].strip(), m[2].strip()) for name, m in matches.items() if m}


def _is_grid(parts: Mapping[str, tuple[str, str]]) -> bool:
    """Whether each of two heads or more goes with each of two tails or more, or one of them with several."""
    heads, tails = ({part[side] for part in parts.values()} for side in (0, 1))
    return len(parts) > 1 and len(set(parts.values())) == len(parts) == len(heads) * len(tails)


def _person_side(parts: Mapping[str, tuple[str, str]], usual: int | None) -> int | None:
    """Which part of the names is the person's: as words tell, or the one that varies, or as is usual."""
    if not _is_grid(parts):
        return None
    sides = [list(dict.fromkeys(part[side] for part in parts.values())) for side in (0, 1)]
    named = [all(map(_PERSON.search, side)) for side in sides]
    if named[0] != named[1]:
        return 0 if named[0] else 1
    rated = [any(map(QUALITY.search, map(plain_name, side))) for side in sides]
    if all(rated):
        rated = [all(map(QUALITY.search, map(plain_name, side))) for side in sides]
        if rated[0] == rated[1]:
            return None
    person = (1 if rated[0] else 0) if rated[0] != rated[1] else usual
    if person is None and min(map(len, sides)) == 1 and not any(rated):
        return None
    return person if person is not None and len(sides[person]) > 1 else None
