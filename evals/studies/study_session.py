"""One sitting of a study: some juries, some cases, and what is left of the budget."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from ...orchestration.record import Store
from ...orchestration.run_session import Session, hold
from ...orchestration.runner import Ended
from ...personas.jury import Jury
from ...rubrics.case import Case
from .plan import Plan


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
