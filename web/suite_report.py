"""The board of the suite that a run belongs to, where a report was made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..evals.suites.suite_files import ANSWERS, DOCUMENT, MARK, REPORT, VERDICTS
from ..orchestration.record import Location
from ..orchestration.record.opening import run_exists
from ..rubrics.errors import VenireError


def suite_folder(run: Location) -> Path | None:
    """The folder of the suite's run that `run` is, or is a record of; None for any other run."""
    if not isinstance(run, Path):
        return None
    for folder in (run, run.parent):
        if (folder / MARK).is_file() and (folder == run or run.name in (ANSWERS, VERDICTS)):
            return folder
    return None


def record_of(run: Location) -> Location:
    """The record to inspect: of a suite's run what its juries said, or what its systems answered where no jury sat.

    Raises:
        VenireError: It has neither, as every output was recorded elsewhere and no jury sat.
    """
    if suite_folder(run) != run or not isinstance(run, Path):
        return run
    for name in (VERDICTS, ANSWERS):
        if run_exists(run / name):
            return run / name
    raise VenireError(
        f"{run}: no system was asked and no jury sat, so there is no deliberation to inspect",
        remedy=f"venire suite report SUITE.yaml writes its board as a page: {run / REPORT / 'report.html'}",
    )


class BoardReader:
    """Reads the report of a suite's run, anew for every request: it may be made while the run is inspected."""

    def __init__(self, run: Location) -> None:
        self._folder = suite_folder(run)

    @property
    def there(self) -> bool:
        """Whether the run is a suite's."""
        return self._folder is not None

    def document(self) -> dict[str, Any] | None:
        """What the report says; None where none was made, or none that can be read."""
        if self._folder is None:
            return None
        try:
            found = json.loads((self._folder / REPORT / DOCUMENT).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def figure(self, name: str) -> bytes | None:
        """A figure of the report by its file's name. The name is looked up, never followed."""
        if self._folder is None:
            return None
        figures = {path.name: path for path in (self._folder / REPORT / "figures").glob("*.svg")}
        return figures[name].read_bytes() if name in figures else None
