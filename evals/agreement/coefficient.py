"""A coefficient of agreement: what it is made of, and every one that is registered."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

import pandas as pd

from ...rubrics.plugins import registered_plugins
from ..statistics.estimate import Estimate
from ..statistics.icc import Interval
from ..statistics.jackknife import Jackknife
from ..statistics.matrix import Value


class Band(NamedTuple):
    """What a value is called, and by whom."""

    word: str
    source: str


class Bands(NamedTuple):
    """Whose words, and from which value up each of them holds, the highest first."""

    source: str
    floors: tuple[tuple[float, str], ...]
    shown: Callable[[float], float] = float
    """What of a value is held against the floors: all of it, unless its size or its first decimals only."""

    def band(self, estimate: Estimate) -> Band | None:
        """The one word for everything that the interval holds; None where it holds several, or there is no interval."""
        low, high = estimate.low, estimate.high
        if math.isnan(low) or math.isnan(estimate.value):
            return None
        # Of sizes, an interval about zero holds the smallest too.
        words = {self._word(value) for value in (low, estimate.value, high, min(max(0.0, low), high))}
        return Band(words.pop(), self.source) if len(words) == 1 else None

    def _word(self, value: float) -> str:
        shown = self.shown(value)
        return next(word for floor, word in self.floors if shown >= floor)


LANDIS_KOCH = Bands(
    "Landis and Koch (1977)",
    (
        (0.81, "almost perfect"),
        (0.61, "substantial"),
        (0.41, "moderate"),
        (0.21, "fair"),
        (0.0, "slight"),
        (-math.inf, "poor"),
    ),
    # They print two decimals: 0.20 is slight, 0.21 fair.
    shown=lambda value: round(value, 2),
)
KOO_LI = Bands(
    "Koo and Li (2016)",
    ((0.9, "excellent"), (0.75, "good"), (0.5, "moderate"), (-math.inf, "poor")),
)
KRIPPENDORFF = Bands(
    "Krippendorff (2004)",
    ((0.8, "reliable"), (0.667, "tentative"), (-math.inf, "unreliable")),
)
SCHOBER = Bands(
    "Schober, Boer and Schwarte (2018)",
    ((0.9, "very strong"), (0.7, "strong"), (0.4, "moderate"), (0.1, "weak"), (0.0, "negligible")),
    # The size of a correlation is banded, whatever its sign.
    shown=abs,
)


GROUP = "venire.coefficients"
MANY_VALUES = 100
"""Distinct values beyond which nothing is told by how often each occurs."""


class Setting(NamedTuple):
    """How a coefficient is to be computed."""

    jackknife: Jackknife
    """What its interval leaves out as a whole."""
    categories: Sequence[Value] | None
    """The values of the scale, used or not, where they are declared."""
    icc_interval: Interval = "jackknife"
    """`f` where published F intervals of the ICC are asked for."""


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient of agreement, as `venire agreement` names it."""

    name: str
    estimate: Callable[[pd.DataFrame, Setting], Estimate]
    """From a ratings table (`case`, `rater`, `value` and what is left out together) to the value with its interval."""
    range: tuple[float, float]
    """The lowest and the highest value that it can have."""
    place: int = 1000
    """Where it stands among the others: the lowest first, equals by name."""
    level: Literal["nominal", "ordinal", "ratio"] = "ordinal"
    """The least that ratings must be: labels, numbers with an order, or numbers with a true zero."""
    counts_values: bool = False
    """Whether it counts how often each value occurs, and so needs values that recur."""
    orders_words: bool = False
    """Whether words will do in place of numbers where the values are declared in order."""
    bands: Bands | None = None
    """What its values are called, and by whom."""

    def unfit(self, values: pd.Series, level: str | None, categories: Sequence[Value] | None) -> str:
        """Why it does not fit ratings of this level, or nothing."""
        words = is_text(values)
        if level in ("nominal", "binary") and self.level != "nominal":
            return f"needs more than the {level} level"
        if words and self.level != "nominal":
            fits = self.orders_words and categories is not None
            return "" if fits else "needs numbers; the values are text"
        if self.level == "ratio" and level in ("ordinal", "interval"):
            return f"needs a true zero, which the {level} level does not have"
        if self.level == "ratio" and (values.astype(float) < 0).any():
            return "needs values of zero or more"
        distinct = int(values.nunique())
        if self.counts_values and distinct > MANY_VALUES:
            return f"needs values that recur; there are {distinct} distinct ones"
        return ""


def is_text(values: pd.Series) -> bool:
    """Whether any of the values is no number."""
    return bool(pd.to_numeric(values, errors="coerce").isna().any())


@cache
def registered_coefficients() -> dict[str, Coefficient]:
    """Every coefficient that is registered, by name, in the order in which they are shown."""
    everyone: list[Coefficient] = [plugin.load() for plugin in registered_plugins(GROUP).values()]
    return {each.name: each for each in sorted(everyone, key=lambda each: (each.place, each.name))}


def band(coefficient: str, estimate: Estimate) -> Band | None:
    """What a coefficient is called where its whole interval bears the word; None where nobody has words for it."""
    known = registered_coefficients().get(coefficient)
    return None if known is None or known.bands is None else known.bands.band(estimate)
