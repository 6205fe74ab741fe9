"""Running a study: all arms in one run, so that what they have in common is asked once, and a killed study goes on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from ...orchestration.runner import Ended
from ...orchestration.session import Session, hold
from ...orchestration.store import Location, Store
from ...personas.jury import Jury
from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from .plan import Plan
from .record import keep


@dataclass(frozen=True, slots=True)
class Sitting:
    """Where a study is kept, and how fast it may ask."""

    folder: Path
    console: Console
    quiet: bool = False
    in_flight: int = 32
    rpm: int | None = None
    tpm: int | None = None
    started: float = field(default_factory=time.monotonic)


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


def sit(plan: Plan, sitting: Sitting, juries: Sequence[Jury], cases: Sequence[Case]) -> Ended:
    """Have `juries` hear `cases`, with what is left of the study's budget."""
    budget = plan.study.budget
    calls, tokens, usd = _paid(sitting.folder)
    passed = time.monotonic() - sitting.started
    session = Session(
        cases=cases,
        rubric=plan.rubric,
        juries=juries,
        folder=sitting.folder,
        max_usd=None if budget.max_usd is None else max(0.0, budget.max_usd - usd),
        max_tokens=None if budget.max_tokens is None else max(0, budget.max_tokens - tokens),
        max_seconds=None if budget.max_seconds is None else max(0.0, budget.max_seconds - passed),
        max_calls=None if budget.max_calls is None else max(0, budget.max_calls - calls),
        in_flight=sitting.in_flight,
        rpm=sitting.rpm,
        tpm=sitting.tpm,
        prices=plan.prices,
        seed=plan.study.seeds.run,
        scored=frozenset(case.id for case in plan.cases),
        redact=plan.study.redact,
    )
    return hold(session, sitting.console, quiet=sitting.quiet)


def _paid(folder: Path) -> tuple[int, int, float]:
    """The calls, tokens and dollars that the record already holds."""
    if not (folder / "record.sqlite").exists():
        return 0, 0, 0.0
    store = Store.read(folder)
    try:
        toll = store.toll()
        return toll.calls, toll.prompt + toll.completion, toll.usd
    finally:
        store.release()
