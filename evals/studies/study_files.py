"""The names of the files that a study writes beside its run, and where that run is."""

from __future__ import annotations

from pathlib import Path

from ...orchestration.record import Location
from ...rubrics.errors import VenireError
from .shipped import is_shipped

RECORD = "study.json"
RATINGS = "study-ratings.csv"
TRIALS = "study-trials.jsonl"
REPORT = "report"
"""The folder of the report, within the run."""
DOCUMENT = "report.json"
"""The report as JSON, within its folder."""


def default_folder(study: Path) -> Path:
    """The run's directory where none is named: beside the study file; of one that is shipped, in the working directory."""
    beside = Path() if is_shipped(study) else study.parent
    return beside / f"{study.stem}-run"


def run_folder(named: Location | None, study: Path) -> Path:
    """The run's directory: the one named, or the default. A database is refused."""
    if isinstance(named, str):
        raise VenireError("a study keeps files beside its record", remedy="name a directory, not a database")
    return named or default_folder(study)
