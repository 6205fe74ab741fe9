"""Running a study: all arms in one run, so that what they have in common is asked once, and a killed study goes on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...orchestration.reading.status import UnreachedModel, unreached_at
from ...orchestration.record import Store
from ...orchestration.runner import RunResult
from .arms import StudyArm
from .plan import Plan, StudyPlan, task_folder
from .study_record import StudySession, hear_juries, write_ratings, write_record


@dataclass(frozen=True, slots=True)
class StudyRun:
    """How one session of a study ended; `limit` is what stopped it, if anything did."""

    folder: Path
    heard: int
    skipped: int
    limit: str | None
    unreached: tuple[UnreachedModel, ...] = ()
    """The models that deliberations lack because they could not be reached."""

    def json(self) -> dict[str, Any]:
        return {
            "run": str(self.folder),
            "heard": self.heard,
            "skipped": self.skipped,
            "limit": self.limit,
            "unreached": [model.json() for model in self.unreached],
        }


def run_plan(plan: StudyPlan, session: StudySession) -> StudyRun:
    """Have every arm of the plan hear every case; of recorded judgements nothing is left to run."""
    if not isinstance(plan, Plan):
        return StudyRun(session.folder, heard=0, skipped=len(plan.recording.judgements), limit=None)
    # The store first: it refuses a directory that is something else, and one that is being written.
    Store.create(session.folder, redact=plan.study.redact).close_sync()
    write_record(plan, session.folder)
    ended = _hear_arms(plan, session)
    if ended.limit is None:
        ended = _hear_tasks(plan, session, ended)
    unreached = tuple(unreached_at(session.folder))
    return StudyRun(session.folder, ended.heard, ended.skipped, ended.limit, unreached)


def _hear_arms(plan: Plan, session: StudySession) -> RunResult:
    """Every arm on every case; or, with a search, what the search asks for."""
    if plan.study.search is None:
        return _hear_listed(plan, session)
    # Optuna is an extra: only a search needs it.
    from .search import run_search

    return run_search(plan, session)


def _hear_tasks(plan: Plan, session: StudySession, so_far: RunResult) -> RunResult:
    """The further tasks, each in a record of its own."""
    for task in plan.tasks:
        folder = task_folder(session.folder, task.name)
        Store.create(folder, redact=plan.study.redact).close_sync()
        write_ratings(folder, task.ratings)
        ended = hear_juries(plan, session, [arm.jury for arm in task.arms], task.cases, task=task)
        so_far = RunResult(so_far.heard + ended.heard, so_far.skipped + ended.skipped, ended.limit)
        if so_far.limit is not None:
            break
    return so_far


def _hear_listed(plan: Plan, session: StudySession) -> RunResult:
    """Every arm on the cases it is to hear, those that hear the same together, the most cases first."""
    together: dict[tuple[str, ...], list[StudyArm]] = {}
    for arm in plan.arms:
        heard = tuple(case.id for case in arm.hears(plan.cases, plan.split))
        together.setdefault(heard, []).append(arm)
    done, skipped = 0, 0
    for ids, arms in sorted(together.items(), key=lambda each: -len(each[0])):
        cases = [case for case in plan.cases if case.id in set(ids)]
        ended = hear_juries(plan, session, [arm.jury for arm in arms], cases)
        done, skipped = done + ended.heard, skipped + ended.skipped
        if ended.limit is not None:
            return RunResult(done, skipped, ended.limit)
    return RunResult(done, skipped, None)
