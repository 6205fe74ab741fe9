"""Calibration to people: what each juror's score is worth in theirs, learned from labelled cases, checked out of fold."""

from .applying import Applied, apply
from .calibrating import Calibration, calibrate
from .calibrator import JuryCalibrator
from .isotonic import IsotonicCurve
from .linear import LinearCurve
from .ordinal import OrdinalCurve
from .saved import SavedCalibration, load_calibration

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
]
