"""Where studies are: those that come with the package or a plug-in, the directory of a run, and the files that a study keeps in it."""

from __future__ import annotations

from pathlib import Path

from ...orchestration.record import Location
from ...rubrics.errors import VenireError
from ...rubrics.plugins import library, library_file

LIBRARY = Path(__file__).parent / "library"
GROUP = "venire.studies"


def study_path(named: Path) -> Path:
    """The file or run that is named; where there is none, the shipped study of that name, with or without `.yaml`."""
    if named.exists() or named.parent != Path():
        return named
    name = named.stem if named.suffix in (".yaml", ".yml") else str(named)
    return library_file(GROUP, name, "study")


def is_shipped(path: Path) -> bool:
    """Whether a file is one of a library's."""
    return path in library(GROUP).values()


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
        raise VenireError(
            "a study writes files beside its record, so it cannot be stored in a database",
            remedy="name a directory, not a database",
        )
    return named or default_folder(study)
