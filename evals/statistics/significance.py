"""When a difference is stated as one, and how it and its p-value are printed."""

from __future__ import annotations

import math

LEVEL = 0.05
"""Below this corrected p a difference is stated as one."""


def shown_sign(value: float, p: float) -> float:
    """The sign of a difference whose p is below `LEVEL`; 0 where it is not, NaN where there is none."""
    return math.nan if math.isnan(p) else math.copysign(1.0, value) if p < LEVEL else 0.0


def p_words(p: float) -> str:
    """A p-value as it is printed."""
    if math.isnan(p):
        return "p undefined"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def interval_phrase(low: float, high: float, style: str = ".2f") -> str:
    """A 95% interval as it is printed, each end in a format `style`; where there is none, that there is none."""
    return "no interval" if math.isnan(low) else f"95% interval {low:{style}} to {high:{style}}"


def signed_number(value: float, places: int = 2) -> str:
    """A difference with its sign; to more places where these would print it as zero."""
    shown = f"{value or 0.0:+.{places}f}"
    return shown if float(shown) or not value else f"{value:+.1g}"
