"""Running a study: all arms in one run, so that what they have in common is asked once, and a killed study goes on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...orchestration.record import Location, Store
from ...orchestration.runner import Ended
from ...rubrics.errors import VenireError
from .plan import Plan
from .study_record import keep
from .study_session import Sitting, sit


@dataclass(frozen=True, slots=True)
class Ran:
    """How a sitting of a study ended; `limit` is what stopped it, if anything did."""

    folder: Path
    heard: int
    skipped: int
    limit: str | None

    def json(self) -> dict[str, Any]:
        return {"run": str(self.folder), "heard": self.heard, "skipped": self.skipped, "limit": self.limit}


def default_folder(study: Path) -> Path:
    """Where a study runs unless it is said: beside its file."""
    return study.with_name(f"{study.stem}-run")


def run_folder(named: Location | None, study: Path) -> Path:
    """The directory that a study runs in: as it was named, or beside its file."""
    if isinstance(named, str):
        raise VenireError("a study keeps files beside its record", remedy="name a directory, not a database")
    return named or default_folder(study)


def run_plan(plan: Plan, sitting: Sitting) -> Ended:
    """Have every arm hear every case; or, with a search, what the search asks for."""
    # The record first: it refuses a directory that is something else, and one that is being written.
    Store.create(sitting.folder, redact=plan.study.redact).shut()
    keep(plan, sitting.folder)
    if plan.study.search is not None:
        from .search import run_search

        return run_search(plan, sitting)
    return sit(plan, sitting, [arm.jury for arm in plan.arms], plan.cases)
