"""What it is worth: agreement with people, comparison of arms, the demonstration."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .coefficients import Agreement, agreement
    from .comparison import Comparison, compare
    from .ratings import load_ratings

_HOMES = {
    "Agreement": "coefficients",
    "agreement": "coefficients",
    "Comparison": "comparison",
    "compare": "comparison",
    "load_ratings": "ratings",
}

__all__ = ["Agreement", "Comparison", "agreement", "compare", "load_ratings"]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: statistics are heavy, and most commands need none."""
    if name not in _HOMES:
        raise AttributeError(f"module 'venire.evals' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
