"""Further tasks of a study: the same arms on other cases under another rubric, each in a record of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd

from ...personas.jury import Jury
from ...rubrics.case import Case, load_cases
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ...rubrics.rubric import Rubric
from ...rubrics.yaml_files import Written
from ..ratings.people import load_ratings
from .design import Task
from .errors import ErrorList
from .rating_checks import rating_gaps
from .study import Study, named_rubric
from .study_arms import StudyArm


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """One further task that can be run: nothing in it is wrong."""

    name: str
    rubric: Rubric
    cases: tuple[Case, ...]
    ratings: pd.DataFrame
    arms: tuple[StudyArm, ...]


def task_folder(run: Path, name: str) -> Path:
    """Where the record of a task is kept, within the study's run."""
    return run / "tasks" / name


def plan_tasks(study: Study, written: Written, arms: Sequence[StudyArm], errors: ErrorList) -> list[TaskPlan]:
    """Every task that the file names, with the arms that judge it; what is wrong with one is added to `errors`."""
    planned = []
    for name, task in study.tasks.items():
        where = f"{written.path}:{written.line('tasks', name)}"
        made = errors.attempt(partial(_plan_task, name, task, written.path.parent, arms), where)
        if made is None:
            continue
        gaps, _ = rating_gaps(made.ratings, made.cases, made.rubric, made.rubric.names)
        errors.at(where, *gaps)
        planned.append(made)
    return planned


def _plan_task(name: str, task: Task, beside: Path, arms: Sequence[StudyArm]) -> TaskPlan:
    known = {arm.name: arm for arm in arms}
    for wanted in task.arms:
        if wanted not in known:
            raise VenireError(
                f"the task {name} names no arm of the study: {wanted!r}", remedy=nearest(wanted, known)
            )
    cases = tuple(load_cases(beside / task.cases))
    ratings = load_ratings(beside / task.ratings, wide=task.wide)
    chosen = (
        [known[wanted] for wanted in task.arms] if task.arms else [arm for arm in arms if arm.on == "all"]
    )
    juries = [StudyArm(_for_task(arm.jury, task, cases, beside)) for arm in chosen]
    return TaskPlan(name, named_rubric(task.rubric, beside), cases, ratings, tuple(juries))


def _for_task(jury: Jury, task: Task, cases: Sequence[Case], beside: Path) -> Jury:
    """The jury; one that is shown examples of the study's cases is shown the task's, never one of the same group."""
    if jury.shots is None or not jury.shots.among:
        return jury
    shots = jury.shots.model_copy(
        update={
            "cases": beside / task.cases,
            "ratings": beside / task.ratings,
            "wide": task.wide,
            "among": tuple(sorted(case.id for case in cases)),
        }
    )
    return jury.model_copy(update={"shots": shots})
