"""Normalisation: named steps that make two texts alike where a difference is no error, listed in a file."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ...rubrics.yaml_files import load_yaml, wrong

_ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)  # fmt: skip
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_GROUPS = ("", " thousand", " million", " billion", " trillion", " quadrillion", " quintillion")
_ORDINALS = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth", "twelve": "twelfth"}  # fmt: skip
_LONGEST = 3 * len(_GROUPS)
"""Digits of a number that has a name; a longer one is read out digit by digit, as one with leading zeros is."""
_CURRENCIES = {"£": ("pound", "pounds", "pence"), "$": ("dollar", "dollars", "cents"), "€": ("euro", "euros", "cents")}  # fmt: skip
_NUMBER = re.compile(
    r"(?P<minus>(?<![\w-])[-−](?=[£$€]?[0-9]))?(?P<currency>[£$€])?"
    r"(?P<whole>[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.(?P<part>[0-9]+))?"
    r"(?:(?P<ordinal>st|nd|rd|th)(?![A-Za-z])|(?P<pence>p)(?![A-Za-z0-9])|(?P<percent>\s?%))?",
    re.IGNORECASE,
)


def number_words(text: str) -> str:
    """The text with its numbers in words, set apart by spaces from what they touched.

    A year is read as any other number: nothing in a text says which numbers are years.
    """
    return _NUMBER.sub(_in_words, text)


def cardinal(digits: str) -> str:
    """`21` as twenty-one, `101` as one hundred and one, `007` digit by digit."""
    if len(digits) > _LONGEST or (len(digits) > 1 and digits[0] == "0"):
        return " ".join(_ONES[int(digit)] for digit in digits)
    number = int(digits)
    if number < 1000:
        return _below_thousand(number)
    words, groups = [], [number // 1000**place % 1000 for place in range(len(_GROUPS))]
    for place in range(len(_GROUPS) - 1, -1, -1):
        if groups[place]:
            is_last = place == 0 and groups[place] < 100
            words.append(("and " if is_last else "") + _below_thousand(groups[place]) + _GROUPS[place])
    return " ".join(words)


def ordinal(digits: str) -> str:
    """`21` as twenty-first."""
    words = cardinal(digits)
    head, break_, last_word = re.fullmatch(r"(?:(.*)([ -]))?([a-z]+)", words).groups(default="")  # type: ignore[union-attr]
    if last_word in _ORDINALS:
        last_word = _ORDINALS[last_word]
    else:
        last_word = f"{last_word[:-1]}ieth" if last_word.endswith("y") else f"{last_word}th"
    return f"{head}{break_}{last_word}"


def _in_words(match: re.Match[str]) -> str:
    integer, part = match["whole"].replace(",", ""), match["part"]
    if match["currency"]:
        words = _money(match["currency"], integer, part)
        suffix = "".join(match[name] or "" for name in ("ordinal", "pence", "percent"))
    elif match["ordinal"] and part is None:
        words, suffix = ordinal(integer), ""
    else:
        words = cardinal(integer) + (f" point {_digits(part)}" if part else "")
        words += " pence" if match["pence"] else " per cent" if match["percent"] else ""
        suffix = match["ordinal"] or ""
    return f" {'minus ' if match['minus'] else ''}{words} {suffix}"


def _money(sign: str, integer: str, part: str | None) -> str:
    unit, units, cents = _CURRENCIES[sign]
    if part is not None and len(part) != 2:
        return f"{cardinal(integer)} point {_digits(part)} {units}"
    words = f"{cardinal(integer)} {unit if integer == '1' else units}"
    if part is None or part == "00":
        return words
    pence = _below_thousand(int(part))
    return f"{pence} {cents}" if int(integer) == 0 else f"{words} {pence}"


def _digits(digits: str) -> str:
    return " ".join(_ONES[int(digit)] for digit in digits)


def _below_thousand(number: int) -> str:
    if number < 20:
        return _ONES[number]
    if number < 100:
        return _TENS[number // 10] + (f"-{_ONES[number % 10]}" if number % 10 else "")
    remainder = number % 100
    return f"{_ONES[number // 100]} hundred" + (f" and {_below_thousand(remainder)}" if remainder else "")


LIBRARY = Path(__file__).parent / "normal"
PLAIN = "plain"

Change = Callable[[str], str]


@cache
def _punctuation() -> dict[int, None]:
    """Every character that Unicode calls punctuation, to be deleted."""
    return {
        code: None for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)).startswith("P")
    }


def _spaces(text: str) -> str:
    return " ".join(text.split())


def _without_punctuation(text: str) -> str:
    return text.translate(_punctuation())


STEPS: dict[str, Change] = {
    "numbers-en-gb": number_words,
    "lower": str.lower,
    "hyphens-to-spaces": lambda text: re.sub("[-\u2010-\u2015]", " ", text),
    "delete-punctuation": _without_punctuation,
    "spaces": _spaces,
    "nfkc": lambda text: unicodedata.normalize("NFKC", text),
}
"""Steps that take nothing. `drop-words` takes a list of words."""
DROP = "drop-words"


class Normalisation(BaseModel):
    """A list of steps, done in order to both texts of a pair."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    version: int = 1
    description: str = ""
    steps: tuple[str | dict[str, tuple[str, ...]], ...] = Field(min_length=1)
    """The name of a step, or `drop-words: [um, uh]`."""

    @field_validator("steps", mode="after")
    @classmethod
    def _check_steps(cls, steps: tuple[Any, ...]) -> tuple[Any, ...]:
        for place, step in enumerate(steps):
            names = [step] if isinstance(step, str) else list(step)
            legal = list(STEPS) if isinstance(step, str) else [DROP]
            for name in names:
                if name not in legal:
                    raise wrong(f"no step named {name!r}\n{nearest(name, [*STEPS, DROP])}", place)
        return steps

    def __call__(self, text: str) -> str:
        """The text after every step."""
        for step in self.steps:
            if isinstance(step, str):
                text = STEPS[step](text)
            else:
                dropped = frozenset(step[DROP])
                text = " ".join(word for word in text.split() if word not in dropped)
        return text

    @property
    def short_names(self) -> list[str]:
        """The steps without the words that they take."""
        return [s if isinstance(s, str) else f"{DROP} ({len(s[DROP])} words)" for s in self.steps]

    @property
    def step_names(self) -> list[str]:
        """The steps as a report prints them."""
        return [s if isinstance(s, str) else f"{DROP} ({', '.join(s[DROP])})" for s in self.steps]


def load_normalisation(name_or_path: str | Path) -> Normalisation:
    """The normalisation in a file, or the library's of that name."""
    path = Path(name_or_path)
    if path.suffix in (".yaml", ".yml"):
        return load_yaml(path, Normalisation)
    names = sorted(file.stem for file in LIBRARY.glob("*.yaml"))
    if str(name_or_path) not in names:
        raise VenireError(
            f"no normalisation named {str(name_or_path)!r}", remedy=nearest(str(name_or_path), names)
        )
    return load_yaml(LIBRARY / f"{name_or_path}.yaml", Normalisation)
