"""Words for coefficients, and whose words they are."""

import math
from collections.abc import Callable
from typing import NamedTuple


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

    def band(self, value: float) -> Band | None:
        """What the value is called; None where it is NaN. Bands are conventions: read the interval first."""
        if math.isnan(value):
            return None
        shown = self.shown(value)
        return Band(next(word for floor, word in self.floors if shown >= floor), self.source)


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
