"""When a difference is stated as one, and how its p-value is printed."""

from __future__ import annotations

LEVEL = 0.05
"""Below this corrected p a difference is stated as one."""


def p_words(p: float) -> str:
    """A p-value as it is printed."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
