"""One session of a study: some juries hear some cases, with what is left of the study's budget."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from ...agents.cost import Cost
from ...agents.preflight import Preflight
from ...agents.prices import Price
from ...orchestration.record import recorded_cost
from ...orchestration.run_session import RunSession, check_models, run_session
from ...orchestration.runner import RunResult
from ...orchestration.worked_examples import ScoredCases
from ...personas.jury import Jury
from ...rubrics.case import Case
from ...rubrics.rubric import Rubric
from .plan import Plan
from .study import Study
from .tasks import TaskPlan, task_folder


@dataclass(frozen=True, slots=True)
class StudySession:
    """The run's directory, where progress is shown, and how fast models may be asked."""

    folder: Path
    console: Console
    quiet: bool = False
    in_flight: int = 32
    rpm: int | None = None
    tpm: int | None = None
    retry: bool = False
    """Hear again the cases for which a model could not be reached."""
    preflight: Preflight = field(default_factory=Preflight)
    started: float = field(default_factory=time.monotonic)


def hear_juries(
    plan: Plan,
    session: StudySession,
    juries: Sequence[Jury],
    cases: Sequence[Case],
    *,
    task: TaskPlan | None = None,
) -> RunResult:
    """Have `juries` deliberate on `cases`, of the study or of a further task, with what is left of the study's budget."""
    budget = plan.study.budget
    folders = [session.folder, *(task_folder(session.folder, each.name) for each in plan.tasks)]
    paid = sum(map(recorded_cost, folders), Cost())
    passed = time.monotonic() - session.started
    return run_session(
        RunSession(
            cases=cases,
            rubric=plan.rubric if task is None else task.rubric,
            juries=juries,
            folder=session.folder if task is None else task_folder(session.folder, task.name),
            **budget.remaining(paid, passed),
            in_flight=session.in_flight,
            rpm=session.rpm,
            tpm=session.tpm,
            prices=plan.prices,
            seed=plan.study.seeds.run,
            scored=ScoredCases.of(plan.cases if task is None else task.cases),
            redact=plan.study.redact,
            retry=session.retry,
            preflight=session.preflight,
        ),
        session.console,
        quiet=session.quiet,
    )


def ask_models(
    session: StudySession,
    juries: Sequence[Jury],
    cases: Sequence[Case],
    study: Study,
    rubric: Rubric,
    prices: Mapping[str, Price],
) -> None:
    """Ask every model that the study still needs whether it can be reached, before anything else is done for it.

    Raises:
        ModelUnreachable: One cannot be, and the record holds no calls that the study could go on with.
    """
    run = RunSession(
        cases=cases,
        rubric=rubric,
        juries=juries,
        folder=session.folder,
        prices=prices,
        seed=study.seeds.run,
        scored=ScoredCases.of(cases),
        redact=study.redact,
        retry=session.retry,
        preflight=session.preflight,
    )
    check_models(run)
