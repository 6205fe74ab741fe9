"""Calibration to people: what each juror's score is worth in theirs, learned from labelled cases, checked out of fold."""

from .calibrating import Calibration, calibrate
from .calibrator import JuryCalibrator
from .curves import IsotonicCurve, LinearCurve, OrdinalCurve
from .saved import Applied, SavedCalibration, apply, load_calibration

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
