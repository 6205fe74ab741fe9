"""Numbers as words: how figures and pages print them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

CHANCES = ("p", "p_holm", "wilcoxon_p")
"""Columns of p-values."""


def chance(value: float) -> str:
    """A p-value as a table has it."""
    return "<0.001" if value < 0.001 else decimal(value)


def decimal(value: Any, places: int = 3) -> str:
    """A number as it is printed: whole ones whole, others to so many places, and no negative zero."""
    if not isinstance(value, float):
        return str(value)
    if not math.isfinite(value):
        return "–" if math.isnan(value) else f"{'-' if value < 0 else ''}∞"
    if value == round(value) and abs(value) >= 10:
        return f"{value:.0f}"
    if places > 2 and 1e-9 < abs(value) < 0.001:
        return f"{value:.2g}"
    return f"{round(value, places) + 0.0:.{places}f}"


def tick_label(value: float) -> str:
    """A round number in as few digits as it takes."""
    return f"{round(value, 6):g}" if abs(value) >= 1e-9 else "0"


def tick_labels(values: Sequence[float]) -> list[str]:
    """The round numbers of one axis, all to the same decimal; zero as 0."""
    short = [tick_label(value) for value in values]
    if any("e" in each for each in short):
        return short
    places = max((len(each.partition(".")[2]) for each in short), default=0)
    return ["0" if each == "0" else f"{value:.{places}f}" for value, each in zip(values, short, strict=True)]
