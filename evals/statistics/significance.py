"""When a difference is stated as one, and how it and its p-value are printed."""

from __future__ import annotations

LEVEL = 0.05
"""Below this corrected p a difference is stated as one."""


def p_words(p: float) -> str:
    """A p-value as it is printed."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def signed_number(value: float, places: int = 2) -> str:
    """A difference with its sign; to more places where these would print it as zero."""
    shown = f"{value or 0.0:+.{places}f}"
    return shown if float(shown) or not value else f"{value:+.1g}"
