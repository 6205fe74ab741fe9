"""Numbers in a text as British English words: `21st`, `1,000`, `2.5`, `-3`, `b12`, `£5.50`, `50p`, `10%`."""

from __future__ import annotations

import re

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
            last = place == 0 and groups[place] < 100
            words.append(("and " if last else "") + _below_thousand(groups[place]) + _GROUPS[place])
    return " ".join(words)


def ordinal(digits: str) -> str:
    """`21` as twenty-first."""
    words = cardinal(digits)
    head, break_, last = re.fullmatch(r"(?:(.*)([ -]))?([a-z]+)", words).groups(default="")  # type: ignore[union-attr]
    if last in _ORDINALS:
        last = _ORDINALS[last]
    else:
        last = f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th"
    return f"{head}{break_}{last}"


def _in_words(found: re.Match[str]) -> str:
    whole, part = found["whole"].replace(",", ""), found["part"]
    if found["currency"]:
        words = _money(found["currency"], whole, part)
        after = "".join(found[name] or "" for name in ("ordinal", "pence", "percent"))
    elif found["ordinal"] and part is None:
        words, after = ordinal(whole), ""
    else:
        words = cardinal(whole) + (f" point {_digits(part)}" if part else "")
        words += " pence" if found["pence"] else " per cent" if found["percent"] else ""
        after = found["ordinal"] or ""
    return f" {'minus ' if found['minus'] else ''}{words} {after}"


def _money(sign: str, whole: str, part: str | None) -> str:
    one, many, small = _CURRENCIES[sign]
    if part is not None and len(part) != 2:
        return f"{cardinal(whole)} point {_digits(part)} {many}"
    words = f"{cardinal(whole)} {one if whole == '1' else many}"
    if part is None or part == "00":
        return words
    pence = _below_thousand(int(part))
    return f"{pence} {small}" if int(whole) == 0 else f"{words} {pence}"


def _digits(digits: str) -> str:
    return " ".join(_ONES[int(digit)] for digit in digits)


def _below_thousand(number: int) -> str:
    if number < 20:
        return _ONES[number]
    if number < 100:
        return _TENS[number // 10] + (f"-{_ONES[number % 10]}" if number % 10 else "")
    rest = number % 100
    return f"{_ONES[number // 100]} hundred" + (f" and {_below_thousand(rest)}" if rest else "")
