"""A number that the source gives, changed to one that it does not."""

from __future__ import annotations

import random
import re

from ..passages import numbers_in
from .fault import Edit, Material

_FIGURE = re.compile(
    r"(?<![\w.,/-])\d+(?:\.\d+)?(?![\w/]|[.,]\d)|(?<![\w.,/])\d+(?=-(?:year|month|week|day|pound|mg|hour)s?\b)"
)
_SPELT = re.compile(
    r"\b(two|three|four|five|six|seven|eight|nine|ten|twelve|fourteen)(?=[ -](?:year|month|week|day|hour|minute|time|"
    r"tablet|puff|pack|children|sons|daughters|brothers|sisters|episode|night|cigarette|beer|drink|cycle|dose)s?\b)",
    re.IGNORECASE,
)
_SPELLING = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "fourteen")
_GRAVE = re.compile(r"\s?(?:mg|mcg|micrograms?|ml|units?|g|times|tablets?|puffs?|mmol|%|kg|L)\b")
_YEAR = re.compile(r"(?:19|20)\d\d")


def find_number(material: Material, rng: random.Random) -> Edit | None:
    text, truth = material.text, material.truth
    places = [m for pattern in (_FIGURE, _SPELT) for m in pattern.finditer(text)]
    rng.shuffle(places)
    taken = truth.numbers | numbers_in(text)
    for place in places:
        if not numbers_in(place.group()) <= truth.numbers:
            continue
        after = other_number(place.group(), taken, rng)
        if after is not None:
            grave = _GRAVE.match(text, place.end()) is not None
            return Edit(place.start(), place.end(), after, 3 if grave else 2)
    return None


def other_number(before: str, taken: frozenset[str], rng: random.Random) -> str | None:
    """A number unlike `before` and those taken, in its form; None where there is none."""
    if before.lower() in _SPELLING:
        words = [word for word in _SPELLING if not numbers_in(word) & taken]
        chosen = rng.choice(words) if words else None
        return chosen.capitalize() if chosen and before[0].isupper() else chosen
    decimals = len(before.partition(".")[2])
    value = float(before)
    step = 10.0**-decimals
    if _YEAR.fullmatch(before):
        choices = [value + years for years in (-9, -6, -4, -3, -2, 2, 3, 4, 6)]
    else:
        near = [value + step * k for k in (-23, -17, -11, -7, -4, -3, -2, 2, 3, 4, 6, 9, 12, 18, 26)]
        choices = [*near, value * 2, value * 3, value * 10, value / 2, value * 1.5]
    written = [
        f"{choice:.{decimals}f}" for choice in choices if choice > 0 and abs(choice - value) > value * 0.08
    ]
    free = [
        figure
        for figure in written
        if figure != before and not numbers_in(figure) & taken and float(figure) > 0
    ]
    return rng.choice(free) if free else None
