"""The plan: every arm of a study, its further tasks or its recorded judgements, and everything that is wrong, before anything is spent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from ...agents.cost import CostUnit, Price, load_prices
from ...personas.jury import Jury
from ...rubrics.case import Case, load_cases
from ...rubrics.errors import InvalidFile, MissingExtra, VenireError
from ...rubrics.files import nearest
from ...rubrics.rubric import Rubric
from ...rubrics.yaml_files import Written
from ..ratings.evidence import two_panels
from ..ratings.folds import groups_in
from ..ratings.people import load_ratings
from ..ratings.published_data import Recording, llmbar, load_judgements, pandalm
from ..ratings.question import Question, rubric_questions
from .arms import CaseSplit, LeftOut, StudyArm, duplicate_names, listed_arms, split_cases, study_split
from .checks import design_errors, rating_gaps, rubric_errors
from .grid import Axes, axes_of, grid_arms
from .plan_cost import CostEstimate, Scope, cost_unit, estimate_cost, near_budget, over_budget
from .schema import Task
from .study import ErrorList, Study, load_study, named_rubric


@dataclass(frozen=True, slots=True)
class RecordedPlan:
    """Judgements, people's ratings, and what was asked; nothing is left to ask."""

    path: Path
    study: Study
    recording: Recording

    @property
    def jurors(self) -> list[str]:
        return list(dict.fromkeys(self.recording.judgements["juror"].astype(str)))

    @property
    def questions(self) -> dict[str, Question]:
        """What juries are scored on: the attributes that the study names, or all."""
        return rubric_questions(self.recording.rubric, only=self.study.attributes or None)

    @property
    def test(self) -> tuple[str, ...] | None:
        """The test cases; None where the study names none, so that each case is held out in turn."""
        if "split" not in self.study.model_fields_set:
            return None
        judgements = self.recording.judgements.astype({"case": str})
        cases = list(dict.fromkeys(judgements["case"]))
        groups = {str(case): str(group) for case, group in groups_in(judgements).items()}
        return split_cases(cases, groups, self.study.split, seed=self.study.seeds.split).test or None


def plan_recorded(path: Path, study: Study) -> RecordedPlan:
    """The study with its tables read; everything that is wrong with them is raised at once."""
    errors = ErrorList()
    recording = _read(path.parent, study, errors)
    if recording is not None:
        errors.add(*rubric_errors(study, recording.rubric))
        judged, rated = set(recording.judgements["case"]), set(recording.people["case"].astype(str))
        if not judged & rated:
            errors.add(
                VenireError(
                    "ratings: no judged case has a rating",
                    remedy="check that both files use the same case ids",
                )
            )
    if errors or recording is None:
        raise errors.as_one(path)
    return RecordedPlan(path, study, recording)


def _read(beside: Path, study: Study, errors: ErrorList) -> Recording | None:
    source = study.judgements
    assert source is not None
    if source.llmbar is not None:
        return errors.attempt(partial(llmbar, beside / source.llmbar, subset=source.subset or "LLMBar"))
    if source.pandalm is not None:
        return errors.attempt(partial(pandalm, beside / source.pandalm))
    assert source.file is not None and study.rubric is not None and study.ratings is not None
    judgements = errors.attempt(partial(load_judgements, beside / source.file))
    rubric = errors.attempt(partial(named_rubric, study.rubric, beside))
    people = errors.attempt(partial(load_ratings, beside / study.ratings))
    if judgements is None or rubric is None or people is None:
        return None
    return Recording(study.name, rubric, (), judgements, people)


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
                f"the task {name} names {wanted!r}, which is not an arm of the study",
                remedy=nearest(wanted, known),
            )
    cases = tuple(load_cases(beside / task.cases))
    ratings = load_ratings(beside / task.ratings)
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
            "among": tuple(sorted(case.id for case in cases)),
        }
    )
    return jury.model_copy(update={"shots": shots})


@dataclass(frozen=True, slots=True)
class Plan:
    """A study whose arms ask models, and which can be run: nothing in it is wrong."""

    path: Path
    study: Study
    rubric: Rubric
    cases: tuple[Case, ...]
    split: CaseSplit
    ratings: pd.DataFrame
    """Of the people who are the reference."""
    rescored: pd.DataFrame
    """Of those who scored some cases again, as a second panel."""
    arms: tuple[StudyArm, ...]
    axes: Axes | None
    """What a search chooses from."""
    costs: Mapping[str, CostEstimate]
    """By arm: what it would cost alone."""
    total: CostEstimate
    """What the study costs: questions that arms have in common are asked once."""
    prices: Mapping[str, Price]
    unpriced: tuple[str, ...]
    """Models whose price nobody knows."""
    unit: CostUnit
    notes: tuple[str, ...]
    tasks: tuple[TaskPlan, ...] = ()

    @property
    def alone(self) -> int:
        """The calls that the arms would make if each sat in a run of its own."""
        return sum(cost.least.calls for cost in self.costs.values())


StudyPlan = Plan | RecordedPlan


AskModels = Callable[[Sequence[Jury], Sequence[Case], Study, Rubric, Mapping[str, Price]], None]
"""Asks the models of a study's juries whether they can be reached; raises `ModelUnreachable` where one cannot."""


FillJuries = Callable[[Iterable[Jury]], Iterable[Jury]]
"""Gives a model to the seats of juries that name none, as far as one is wanted."""


def plan_study(
    path: Path, *, fill_juries: FillJuries | None = None, ask_models: AskModels | None = None
) -> StudyPlan:
    """The plan of the study in a file.

    `fill_juries` and then `ask_models` are called once the file is in order and before costs are estimated, which may take a while.

    Raises:
        StudyCannotRun: What is wrong with it, everything at once.
    """
    study, written = load_study(path)
    if study.judgements is not None:
        return plan_recorded(path, study)
    return _plan(path, study, written, fill_juries, ask_models)


class PlanParts(NamedTuple):
    """What a study file decides, before anything of it is priced."""

    study: Study
    rubric: Rubric
    cases: tuple[Case, ...]
    ratings: pd.DataFrame
    arms: tuple[StudyArm, ...]
    split: CaseSplit


def plan_parts(path: Path) -> PlanParts:
    """The parts of the study in a file; raises the first thing that is wrong with them."""
    study, written = load_study(path)
    assert study.cases is not None and study.rubric is not None and study.ratings is not None
    cases = _cases(path.parent / study.cases)
    split = study_split(cases, study.split, seed=study.seeds.split)
    errors = ErrorList()
    arms, _, _ = _arms(study, written, split, errors)
    if errors:
        raise errors.as_one(path)
    ratings = load_ratings(path.parent / study.ratings)
    return PlanParts(study, named_rubric(study.rubric, path.parent), cases, ratings, tuple(arms), split)


def _plan(
    path: Path,
    study: Study,
    written: Written,
    fill_juries: FillJuries | None,
    ask_models: AskModels | None,
) -> Plan:
    errors = ErrorList()
    beside = path.parent
    assert study.cases is not None and study.rubric is not None and study.ratings is not None
    prices = errors.attempt(partial(load_prices, beside / study.prices)) if study.prices else {}
    cases = errors.attempt(partial(_cases, beside / study.cases))
    rubric = errors.attempt(partial(named_rubric, study.rubric, beside))
    everyone = errors.attempt(partial(load_ratings, beside / study.ratings))
    panels = (
        None
        if everyone is None
        else errors.attempt(
            partial(two_panels, everyone, study.people.rescore), f"{path}:{written.line('people')}"
        )
    )
    ratings = None if panels is None else panels[0]
    split = None
    if cases:
        make = partial(study_split, cases, study.split, seed=study.seeds.split)
        split = errors.attempt(make, f"{path}:{written.line('split')}")
    arms, left_out, axes = _arms(study, written, split, errors)
    errors.add(*_search_errors(study, written))
    notes: list[str] = []
    if rubric is not None:
        errors.at(f"{path}:{written.line('attributes')}", *rubric_errors(study, rubric))
        if ratings is not None and cases is not None:
            unrated, notes = rating_gaps(ratings, cases, rubric, study.attributes or rubric.names)
            errors.at(f"{path}:{written.line('ratings')}", *unrated)
            errors.at(
                f"{path}:{written.line('tables')}", *design_errors(study.design, cases, ratings, rubric)
            )
    if fill_juries is not None and not errors:
        filled = fill_juries(arm.jury for arm in arms)
        arms = [replace(arm, jury=jury) for arm, jury in zip(arms, filled, strict=True)]
    tasks = plan_tasks(study, written, arms, errors)
    if ask_models is not None and not errors and cases and rubric is not None and prices is not None:
        ask_models([arm.jury for arm in arms], cases, study, rubric, prices)
    cost = None
    if cases is not None and rubric is not None and prices is not None:
        scope = Scope(study, cases, split, rubric, None if study.search is None else axes, path)
        cost = estimate_cost(scope, arms, prices, errors)
        for task in tasks:
            further = Scope(study, task.cases, None, task.rubric, None, path)
            cost = cost.with_task(estimate_cost(further, task.arms, prices, errors))
        errors.at(f"{path}:{written.line('budget')}", *over_budget(study, cost))
    if errors:
        raise errors.as_one(path)
    assert cases and rubric and split and panels is not None and cost is not None and prices is not None
    return Plan(
        path=path, study=study, rubric=rubric, cases=cases, split=split, ratings=panels[0], rescored=panels[1], arms=tuple(arms),
        axes=axes, costs=cost.arms, total=cost.total, prices=prices, unpriced=cost.unpriced,
        unit=cost_unit(study, cost), notes=(*left_out, *notes, *split.notes, *cost.notes, *near_budget(study, cost.total)),
        tasks=tuple(tasks),
    )  # fmt: skip


def _cases(path: Path) -> tuple[Case, ...]:
    return tuple(load_cases(path))


def _search_errors(study: Study, written: Written) -> list[VenireError]:
    """Why a search cannot be made: its extra is not installed, or it would calibrate on too few cases."""
    if study.search is None:
        return []
    errors: list[VenireError] = []
    if find_spec("optuna") is None:
        errors.append(MissingExtra("search needs Optuna", remedy="pip install 'venire[search]'"))
    if study.grid is not None and set(study.grid.calibration) != {"none"}:
        line = written.line("grid", "calibration")
        errors.append(
            InvalidFile(
                f"{written.path}:{line}: calibration cannot be used in a search, because its first trials judge too few cases",
                remedy="remove calibration, and calibrate the chosen arm afterwards: venire calibrate RUN",
            )
        )
    return errors


def _arms(
    study: Study, written: Written, split: CaseSplit | None, errors: ErrorList
) -> tuple[list[StudyArm], list[str], Axes | None]:
    """The arms, why optional ones are left out, and what a search chooses from."""
    built: list[StudyArm | LeftOut | VenireError] = list(listed_arms(study, written, split))
    axes = None
    if study.grid is not None:
        axes, unknown = axes_of(study, written)
        errors.add(*unknown)
        # A search composes its own juries; of the grid it has the single judges, to hold them against.
        built += [
            arm
            for arm in grid_arms(axes, written)
            if study.search is None or (isinstance(arm, StudyArm) and arm.jury.single_judge)
        ]
    arms = [each for each in built if isinstance(each, StudyArm)]
    errors.add(*(each for each in built if isinstance(each, VenireError)), *duplicate_names(arms, written))
    return arms, [each.note for each in built if isinstance(each, LeftOut)], axes
