"""Numbers: whether those of the output stand in the notes; and how numbers and dates are found in a text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .words import NUMBER_WORDS, LensReading, count_of, first_quotes, merit_after


def numbers(source: Sequence[str], output: str) -> LensReading | None:
    """How free the output is of numbers that no note has, or has only with another unit.

    Says nothing of a number that stands in the notes but beside another thing, and does not convert units.
    """
    stated = list(figures(output))
    if not stated or not any(note.strip() for note in source):
        return None
    given = {(figure.value, figure.unit) for note in source for figure in figures(note)}
    values = {value for value, _ in given}
    absent = list(dict.fromkeys(figure.text for figure in stated if not _given(figure, given, values)))
    return LensReading(
        merit=merit_after(len(absent)),
        rationale=f"Of {count_of(len(stated), 'number')} in the output, {len(absent) or 'all'} {'are not' if len(absent) > 1 else 'is not' if absent else 'are'} "
        "in the notes with the same unit.",
        quotes=first_quotes(absent),
    )


MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
UNITS = {
    spelling: spellings.split()[0]
    for spellings in (
        "kg kgs kilogram kilograms",
        "g gram grams",
        "mg milligram milligrams",
        "microgram micrograms mcg \u00b5g \u03bcg ug",
        "ml millilitre millilitres milliliter milliliters",
        "l litre litres liter liters",
        "mm millimetre millimetres",
        "cm centimetre centimetres",
        "m metre metres",
        "mmol",
        "umol \u00b5mol \u03bcmol micromol",
        "pmol",
        "nmol",
        "ng",
        "iu",
        "ku",
        "mu",
        "unit units",
        "kpa",
        "mmhg",
        "ppb",
        "ms",
        "c celsius",
        "degree degrees",
        "second seconds",
        "minute minutes min mins",
        "hour hours h hr hrs",
        "day days",
        "week weeks",
        "month months",
        "year years yr yrs",
        "puff puffs",
        "tablet tablets",
        "dose doses",
        "session sessions",
        "% percent",
    )
    for spelling in spellings.split()
}
LONGEST_MONTH = 31
_NUMBER_WORD = "|".join(word for word in NUMBER_WORDS if word not in {"zero", "one"})
_VALUE = rf"\d+(?:[.,:/]\d+)*|(?:{_NUMBER_WORD})(?![^\W_])"
_FIGURE = re.compile(
    rf"(?<![\w.])(?P<value>{_VALUE})"
    r"(?:[ \u00a0-]?(?P<unit>%|[^\W\d_]+)(?:/[^\W\d_]+)*)?",
    re.IGNORECASE,
)
_SHARES_THE_NEXT_UNIT = re.compile(rf"\s+(?:to|and|or)\s+(?={_VALUE})", re.IGNORECASE)
_MONTH = "|".join(name.capitalize() for name in MONTHS)
_DATE = re.compile(
    r"(?<![\w.])(?:(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)"
    rf"|(?P<day_first>\d{{1,2}})\s+(?P<month_after>{_MONTH})"
    rf"|(?P<month_before>{_MONTH})\s+(?P<day_after>\d{{1,2}}))(?![\w/:]|\.\d)"
)


@dataclass(frozen=True, slots=True)
class NumberInText:
    """A number, the unit or month that follows it (empty if none), and its words in the text."""

    value: str
    unit: str
    text: str


@dataclass(frozen=True, slots=True)
class Date:
    """A day of a month, and its words in the text."""

    month: int
    day: int
    text: str


def figures(text: str) -> Iterator[NumberInText]:
    """The numbers of `text`, in order; '4 to 6 weeks' gives the unit to both ends.

    Digits inside a name (T4, HbA1c) are not numbers; 'one' is more often a pronoun than a count.
    """
    waiting: list[tuple[str, str]] = []
    for match in _FIGURE.finditer(text):
        value, unit = _plain(match["value"]), _unit(match["unit"] or "")
        if _SHARES_THE_NEXT_UNIT.match(text, match.end("value")):
            waiting.append((value, match["value"]))
            continue
        for earlier, its_text in waiting:
            yield NumberInText(earlier, unit, its_text)
        waiting = []
        yield NumberInText(value, unit, match.group() if unit else match["value"])
    for earlier, its_text in waiting:
        yield NumberInText(earlier, "", its_text)


def dates(text: str) -> Iterator[Date]:
    """The dates of `text` that name day and month, in the order in which they are told."""
    for match in _DATE.finditer(text):
        if match["year"]:
            month, day = int(match["month"]), int(match["day"])
        else:
            name = match["month_after"] or match["month_before"]
            month, day = MONTHS[name.casefold()], int(match["day_first"] or match["day_after"])
        if month in MONTHS.values() and 1 <= day <= LONGEST_MONTH:
            yield Date(month, day, match.group())


def _plain(value: str) -> str:
    value = NUMBER_WORDS.get(value.casefold(), value)
    value = re.sub(r",(?=\d{3}(?!\d))", "", value)
    if re.fullmatch(r"\d+\.\d+", value):
        return value.rstrip("0").rstrip(".")
    return value


def _unit(word: str) -> str:
    folded = word.casefold()
    if word[:1].isupper() and folded in MONTHS:
        return f"month {MONTHS[folded]}"
    return UNITS.get(folded, "")


def _given(figure: NumberInText, given: set[tuple[str, str]], values: set[str]) -> bool:
    if not figure.unit:
        return figure.value in values
    return (figure.value, figure.unit) in given or (figure.value, "") in given
