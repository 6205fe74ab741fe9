"""The plan: every arm of a study, what it would cost, and everything that is wrong, before anything is spent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from ...agents.cost import CostUnit
from ...agents.prices import Price, load_prices
from ...personas.jury import Jury
from ...rubrics.case import Case, load_cases
from ...rubrics.errors import InvalidFile, MissingExtra, VenireError
from ...rubrics.rubric import Rubric
from ...rubrics.yaml_files import Written
from ..ratings.evidence import two_panels
from ..ratings.people import load_ratings
from .axes import Axes, axes_of
from .budget import cost_unit, near_budget, over_budget
from .case_split import CaseSplit, split_cases
from .cost_estimate import CostEstimate
from .design_checks import design_errors
from .errors import ErrorList
from .grid import grid_arms
from .plan_cost import Scope, estimate_cost
from .rating_checks import rating_gaps, rubric_errors
from .recorded_plan import RecordedPlan, plan_recorded
from .study import Study, load_study, named_rubric
from .study_arms import LeftOut, StudyArm, duplicate_names, listed_arms
from .tasks import TaskPlan, plan_tasks


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


def plan_study(path: Path, *, ask_models: AskModels | None = None) -> StudyPlan:
    """The plan of the study in a file.

    `ask_models` is called once the file is in order and before costs are estimated, which may take a while.

    Raises:
        StudyCannotRun: What is wrong with it, everything at once.
    """
    study, written = load_study(path)
    if study.judgements is not None:
        return plan_recorded(path, study)
    return _plan(path, study, written, ask_models)


def _plan(path: Path, study: Study, written: Written, ask_models: AskModels | None) -> Plan:
    errors = ErrorList()
    beside = path.parent
    assert study.cases is not None and study.rubric is not None and study.ratings is not None
    prices = errors.attempt(partial(load_prices, beside / study.prices)) if study.prices else {}
    cases = errors.attempt(partial(_cases, beside / study.cases))
    rubric = errors.attempt(partial(named_rubric, study.rubric, beside))
    everyone = errors.attempt(partial(load_ratings, beside / study.ratings, wide=study.wide))
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
        groups = {case.id: case.group for case in cases if case.group is not None}
        make = partial(split_cases, [case.id for case in cases], groups, study.split, seed=study.seeds.split)
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
                f"{written.path}:{line}: a search scores on growing parts of the cases, too few to calibrate on",
                remedy="remove calibration, and calibrate what was chosen: venire calibrate RUN",
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
