"""Calibration to people: what each juror's score is worth in theirs, learned from labelled cases, checked out of fold."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .applying import Applied, apply
    from .calibrating import Calibration, calibrate
    from .calibrator import JuryCalibrator
    from .isotonic import IsotonicCurve
    from .linear import LinearCurve
    from .ordinal import OrdinalCurve
    from .reporting import sections
    from .saved import SavedCalibration, load_calibration

_HOMES = {
    "Applied": "applying",
    "Calibration": "calibrating",
    "IsotonicCurve": "isotonic",
    "JuryCalibrator": "calibrator",
    "LinearCurve": "linear",
    "OrdinalCurve": "ordinal",
    "SavedCalibration": "saved",
    "apply": "applying",
    "calibrate": "calibrating",
    "load_calibration": "saved",
    "sections": "reporting",
}

__all__ = [
    "Applied",
    "Calibration",
    "IsotonicCurve",
    "JuryCalibrator",
    "LinearCurve",
    "OrdinalCurve",
    "SavedCalibration",
    "apply",
    "calibrate",
    "load_calibration",
    "sections",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: ranking stands on parts of this room, and is told of by it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'venire.evals.calibration' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
