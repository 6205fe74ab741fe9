"""The plan: every arm of a study, what it would take, and everything that is wrong, before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from ...agents.prices import Price, load_prices
from ...rubrics.case import Case, load_cases
from ...rubrics.errors import InvalidFile, MissingExtra, VenireError
from ...rubrics.files import Written
from ...rubrics.rubric import Rubric, load_rubric
from ..ratings.people import load_ratings
from .axes import Axes, axes_of
from .case_split import Parts, parts_of
from .cost_estimate import Toll
from .errors import Wrongs, every_wrong
from .grid import grid_arms
from .plan_cost import Scope, close_to_budget, estimate, in_court, over_budget, unit_of
from .rating_checks import gaps, questions_of, strange_attributes
from .schema import Unit
from .study import Study, load_study
from .study_arms import StudyArm, named_twice, written_arms


@dataclass(frozen=True, slots=True)
class Plan:
    """A study that can be run: nothing in it is wrong."""

    path: Path
    study: Study
    rubric: Rubric
    cases: tuple[Case, ...]
    parts: Parts
    ratings: pd.DataFrame
    arms: tuple[StudyArm, ...]
    axes: Axes | None
    """What a search chooses from."""
    tolls: Mapping[str, Toll]
    """By arm: what it would take alone."""
    total: Toll
    """What the study takes: questions that arms have in common are asked once."""
    prices: Mapping[str, Price]
    unpriced: tuple[str, ...]
    """Models whose price nobody knows."""
    unit: Unit
    notes: tuple[str, ...]

    @property
    def alone(self) -> int:
        """The calls that the arms would make if each sat in a run of its own."""
        return sum(toll.calls for toll in self.tolls.values())


def plan_study(path: Path) -> Plan:
    """The plan of the study in a file.

    Raises:
        StudyCannotRun: What is wrong with it, everything at once.
    """
    study, written = load_study(path)
    wrongs = Wrongs()
    beside = path.parent
    assert study.cases is not None and study.rubric is not None and study.ratings is not None
    prices = wrongs.tried(partial(load_prices, beside / study.prices)) if study.prices else {}
    cases = wrongs.tried(partial(_cases, beside / study.cases))
    rubric = wrongs.tried(partial(_rubric, study.rubric, beside))
    ratings = wrongs.tried(partial(load_ratings, beside / study.ratings, wide=study.wide))
    arms, axes = _arms(study, written, wrongs)
    if study.search is not None and find_spec("optuna") is None:
        wrongs.add(MissingExtra("search needs Optuna", remedy="pip install 'venire[search]'"))
    if study.search is not None and study.grid is not None and set(study.grid.calibration) != {"none"}:
        line = written.line("grid", "calibration")
        wrongs.add(
            InvalidFile(
                f"{path}:{line}: a search scores on growing parts of the cases, too few to calibrate on",
                remedy="remove calibration, and calibrate what was chosen: venire calibrate RUN",
            )
        )
    parts = None
    if cases:
        make = partial(parts_of, cases, study.split, seed=study.seeds.split)
        parts = wrongs.tried(make, f"{path}:{written.line('split')}")
    notes: list[str] = []
    if rubric is not None:
        wrongs.at(f"{path}:{written.line('attributes')}", *strange_attributes(study, rubric))
        if ratings is not None and cases is not None:
            lost, notes = gaps(ratings, cases, questions_of(rubric, study))
            wrongs.at(f"{path}:{written.line('ratings')}", *lost)
    found = None
    if cases is not None and rubric is not None and prices is not None:
        scope = Scope(study, cases, parts, rubric, None if study.search is None else axes, path)
        found = in_court(prices, lambda court: estimate(scope, arms, court, wrongs))
        wrongs.at(f"{path}:{written.line('budget')}", *over_budget(study, found))
    if wrongs.found:
        raise every_wrong(path, wrongs.told())
    assert cases and rubric and parts and ratings is not None and found is not None and prices is not None
    return Plan(
        path=path, study=study, rubric=rubric, cases=cases, parts=parts, ratings=ratings, arms=tuple(arms),
        axes=axes, tolls=found.tolls, total=found.total, prices=prices, unpriced=found.unpriced,
        unit=unit_of(study, found), notes=(*notes, *found.notes, *close_to_budget(study, found.total)),
    )  # fmt: skip


def _cases(path: Path) -> tuple[Case, ...]:
    return tuple(load_cases(path))


def _rubric(name: str, beside: Path) -> Rubric:
    return load_rubric(beside / name if name.endswith((".yaml", ".yml")) else name)


def _arms(study: Study, written: Written, wrongs: Wrongs) -> tuple[list[StudyArm], Axes | None]:
    found: list[StudyArm | VenireError] = list(written_arms(study, written))
    axes = None
    if study.grid is not None:
        axes, lost = axes_of(study, written)
        wrongs.add(*lost)
        # A search composes its own juries; of the grid it has the single judges, to hold them against.
        found += [
            arm
            for arm in grid_arms(axes, written)
            if study.search is None or (isinstance(arm, StudyArm) and arm.jury.protocol == "single")
        ]
    arms = [each for each in found if isinstance(each, StudyArm)]
    wrongs.add(*(each for each in found if isinstance(each, VenireError)), *named_twice(arms, written))
    return arms, axes
