"""When a difference is stated as one, and how it and its p-value are printed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .matrix import FloatArray

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
    text = f"{value or 0.0:+.{places}f}"
    return text if float(text) or not value else f"{value:+.1g}"


def holm(p_values: Sequence[float]) -> FloatArray:
    """Holm's step-down p-values; NaN stays NaN and counts as no test.

    References:
        Holm (1979), Scandinavian Journal of Statistics 6:65-70.
    """
    p = np.asarray(p_values, dtype=float)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    corrected = np.full(len(p), np.nan)
    steps = (len(order) - np.arange(len(order))) * p[order]
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0) if len(order) else steps
    return corrected
