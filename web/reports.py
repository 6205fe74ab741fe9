"""The reports that stand beside a run: a study's, or a suite's board."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..evals import suites
from ..evals.studies import study_files
from ..orchestration.record import Location
from ..orchestration.record.store import run_exists
from ..rubrics.errors import VenireError


class ReportReader:
    """Reads a report's JSON, rows and figures, anew whenever it was written: a report may be made while the run is inspected."""

    def __init__(self, owner: Path | None, mark: str, report: str, document: str) -> None:
        """`owner` is the folder of the study's or suite's run, which holds a file called `mark`; None for a database."""
        self._mark = owner / mark if owner is not None else None
        self._folder = owner / report if owner is not None else None
        self._document = document
        self._rows: dict[str, tuple[tuple[int, int], list[dict[str, Any]]]] = {}

    @property
    def there(self) -> bool:
        """Whether the run is a study's, or a suite's."""
        return self._mark is not None and self._mark.is_file()

    def document(self) -> dict[str, Any] | None:
        """The report's JSON; None where none was made, or none that can be read."""
        if self._folder is None:
            return None
        try:
            report = json.loads((self._folder / self._document).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return report if isinstance(report, dict) else None

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The lines of a JSONL file of the report; none where it has no such file."""
        if self._folder is None:
            return []
        file = self._folder / name
        try:
            state = (file.stat().st_mtime_ns, file.stat().st_size)
            if name not in self._rows or self._rows[name][0] != state:
                with file.open(encoding="utf-8") as lines:
                    self._rows[name] = state, [json.loads(line) for line in lines]
        except OSError:
            return []
        return self._rows[name][1]

    def figure(self, name: str) -> bytes | None:
        """A figure of the report by its file's name. The name is looked up, never followed."""
        if self._folder is None:
            return None
        figures = {path.name: path for path in (self._folder / "figures").glob("*.svg")}
        return figures[name].read_bytes() if name in figures else None


def study_report(run: Location) -> ReportReader:
    """The report of the study that made the run."""
    owner = run if isinstance(run, Path) else None
    return ReportReader(owner, study_files.RECORD, study_files.REPORT, study_files.DOCUMENT)


def suite_report(run: Location) -> ReportReader:
    """The board of the suite that the run, or the record in it, belongs to."""
    return ReportReader(suite_folder(run), suites.MARK, suites.REPORT, suites.DOCUMENT)


def suite_folder(run: Location) -> Path | None:
    """The folder of the suite's run that `run` is, or is a record of; None for any other run."""
    if not isinstance(run, Path):
        return None
    for folder in (run, run.parent):
        records = (suites.ANSWERS, suites.VERDICTS)
        if (folder / suites.MARK).is_file() and (folder == run or run.name in records):
            return folder
    return None


def record_of(run: Location) -> Location:
    """The record to inspect: of a suite's run what its juries said, or what its systems answered where no jury sat.

    Raises:
        VenireError: It has neither, as every output was recorded elsewhere and no jury sat.
    """
    if suite_folder(run) != run or not isinstance(run, Path):
        return run
    for name in (suites.VERDICTS, suites.ANSWERS):
        if run_exists(run / name):
            return run / name
    page = run / suites.REPORT / "report.html"
    raise VenireError(
        f"{run}: this suite asked no model and no jury, so there is no deliberation to inspect",
        remedy=f"to see the results, run venire suite report SUITE.yaml, which writes them to the page {page}",
    )
