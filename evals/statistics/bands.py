"""Words for coefficients, and whose words they are."""

import math
from typing import NamedTuple


class Band(NamedTuple):
    """What a value is called, and by whom."""

    word: str
    source: str


LANDIS_KOCH = "Landis and Koch (1977)"
KOO_LI = "Koo and Li (2016)"
KRIPPENDORFF = "Krippendorff (2004)"
SCHOBER = "Schober, Boer and Schwarte (2018)"

BANDS: dict[str, list[tuple[float, str]]] = {
    LANDIS_KOCH: [
        (0.81, "almost perfect"),
        (0.61, "substantial"),
        (0.41, "moderate"),
        (0.21, "fair"),
        (0.0, "slight"),
        (-math.inf, "poor"),
    ],
    KOO_LI: [(0.9, "excellent"), (0.75, "good"), (0.5, "moderate"), (-math.inf, "poor")],
    KRIPPENDORFF: [(0.8, "reliable"), (0.667, "tentative"), (-math.inf, "unreliable")],
    SCHOBER: [
        (0.9, "very strong"),
        (0.7, "strong"),
        (0.4, "moderate"),
        (0.1, "weak"),
        (0.0, "negligible"),
    ],
}
"""From each threshold up, the word."""


def band(coefficient: str, value: float) -> Band | None:
    """The band of a coefficient, named as in `venire agreement`; None when nobody has words for it.

    Landis and Koch print two decimals (0.20 slight, 0.21 fair), so values are rounded to two for them. The
    size of a correlation is banded, whatever its sign. Bands are conventions: read the interval first.
    """
    source = _source(coefficient)
    if source is None or math.isnan(value):
        return None
    shown = abs(value) if source == SCHOBER else round(value, 2) if source == LANDIS_KOCH else value
    return Band(next(word for floor, word in BANDS[source] if shown >= floor), source)


def _source(coefficient: str) -> str | None:
    if coefficient.startswith("icc"):
        return KOO_LI
    if coefficient.startswith("alpha"):
        return KRIPPENDORFF
    if coefficient in ("spearman", "kendall", "pearson"):
        return SCHOBER
    if coefficient.startswith("kappa") or coefficient in ("fleiss", "ac1", "ac2"):
        return LANDIS_KOCH
    return None
