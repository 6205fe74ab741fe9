"""What it is worth: agreement with people, comparison of arms, calibration, the demonstration."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agreement.rater_agreement import Agreement
    from .audits import Severity
    from .audits.self_preference import self_preference
    from .audits.triage_review import run_triage
    from .calibration import Calibration, calibrate, load_calibration
    from .comparison.comparison import Comparison, compare
    from .ratings.people import load_ratings
    from .ratings.published_data import Recording, llmbar, load_judgements, pandalm
    from .studies.candidates import Composition
    from .studies.deliberated_arms import weigh
    from .studies.recorded_jurors import analyse

_HOMES = {
    "Agreement": "agreement.rater_agreement",
    "Calibration": "calibration",
    "calibrate": "calibration",
    "load_calibration": "calibration",
    "Comparison": "comparison.comparison",
    "compare": "comparison.comparison",
    "Composition": "studies.candidates",
    "analyse": "studies.recorded_jurors",
    "weigh": "studies.deliberated_arms",
    "Recording": "ratings.published_data",
    "llmbar": "ratings.published_data",
    "load_judgements": "ratings.published_data",
    "pandalm": "ratings.published_data",
    "load_ratings": "ratings.people",
    "Severity": "audits",
    "run_triage": "audits.triage_review",
    "self_preference": "audits.self_preference",
}

__all__ = [
    "Agreement",
    "Calibration",
    "Comparison",
    "Composition",
    "Recording",
    "Severity",
    "analyse",
    "calibrate",
    "compare",
    "llmbar",
    "load_calibration",
    "load_judgements",
    "load_ratings",
    "pandalm",
    "run_triage",
    "self_preference",
    "weigh",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: statistics are heavy, and most commands need none."""
    if name not in _HOMES:
        raise AttributeError(f"module 'venire.evals' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
