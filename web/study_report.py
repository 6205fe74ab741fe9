"""The report of the study that a run belongs to, where one was made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..evals.studies.study_files import DOCUMENT, RECORD, REPORT
from ..orchestration.record import Location


class ReportReader:
    """Reads the report of a run's study, anew for every request: a report may be made while the run is inspected."""

    def __init__(self, run: Location) -> None:
        self._run = run if isinstance(run, Path) else None

    @property
    def there(self) -> bool:
        """Whether the run is a study's."""
        return self._run is not None and (self._run / RECORD).is_file()

    def document(self) -> dict[str, Any] | None:
        """What the report says; None where none was made, or none that can be read."""
        if self._run is None:
            return None
        try:
            found = json.loads((self._run / REPORT / DOCUMENT).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def figure(self, name: str) -> bytes | None:
        """A figure of the report by its file's name. The name is looked up, never followed."""
        if self._run is None:
            return None
        figures = {path.name: path for path in (self._run / REPORT / "figures").glob("*.svg")}
        return figures[name].read_bytes() if name in figures else None
