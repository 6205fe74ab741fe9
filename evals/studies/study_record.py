"""One session of a study, with what is left of its budget; and what is kept beside its run: `study.json`, the ratings and the trials."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console

from ...agents.clients.batch import BatchSettings
from ...agents.cost import Cost, CostUnit, Price
from ...agents.providers import Preflight
from ...orchestration.record import recorded_cost
from ...orchestration.record.private_files import write_atomically
from ...orchestration.run_session import RunSession, check_models, run_session
from ...orchestration.runner import RunResult
from ...orchestration.worked_examples import ScoredCases
from ...personas.jury import Jury
from ...rubrics.case import Case
from ...rubrics.errors import InvalidFile, VenireError
from ...rubrics.rows import from_csv_cell
from ...rubrics.rubric import Rubric
from ..comparison.objectives import objective
from ..ratings.people import load_ratings
from ..ratings.reference import Rule
from ..report.files import csv_text
from .arms import StudyArm
from .choices import Goal
from .plan import Plan, TaskPlan, task_folder
from .registration import recorded_fields
from .schema import Calibration, Design
from .study import Study
from .study_files import RATINGS, RECORD, TRIALS


@dataclass(frozen=True, slots=True)
class StudyRecord:
    """What a run records of its study: enough for a report, with neither the study file nor any model."""

    name: str
    description: str
    arms: Mapping[str, Calibration]
    attributes: tuple[str, ...]
    selection: tuple[str, ...]
    test: tuple[str, ...]
    reference: Rule | None
    unit: CostUnit
    seed: int
    planned: Mapping[str, Any]
    search: Mapping[str, Any] | None
    goal: Goal | None = None
    """What the study chooses by, where its file says so."""
    design: Design = field(default_factory=Design)
    """The tables that its file asks for."""
    chosen_from: tuple[str, ...] | None = None
    """The arms that heard cases to be chosen on; None where all did."""
    hearings: Mapping[str, str] = field(default_factory=dict)
    """By arm of the record that repeats another's deliberations, that other."""
    document: Mapping[str, Any] = field(default_factory=dict)
    """All of `study.json`: also what was registered, and what the plan decided."""


def write_record(plan: Plan, folder: Path, arms: Sequence[StudyArm] | None = None) -> None:
    """Write `study.json` and the ratings, whole or not at all; `arms` are those that a search has tried."""
    study = plan.study
    document = {
        "study": study.name,
        "description": study.description,
        "arms": {
            arm.name: arm.calibration
            for arm in (plan.arms if arms is None else arms)
            if arm.jury.hearing == 1
        },
        "hearings": {arm.name: arm.jury.first_name for arm in plan.arms if arm.jury.hearing > 1},
        "attributes": list(study.attributes or plan.rubric.names),
        "selection": list(plan.split.selection),
        "test": list(plan.split.test),
        "reference": study.reference,
        "unit": plan.unit,
        "seeds": study.seeds.model_dump(),
        "planned": {
            "calls": plan.total.least.calls,
            "most_calls": None if plan.total.most is None else plan.total.most.calls,
            "alone": plan.alone,
        },
        "search": None if study.search is None else study.search.model_dump(),
        "goal": None
        if study.objective is None
        else {"objective": study.objective, "choose": study.choose, "margin": study.margin},
        "design": study.design.model_dump(mode="json"),
        "chosen_from": None
        if all(arm.on == "all" for arm in plan.arms)
        else [arm.name for arm in plan.arms if arm.on == "all" and arm.jury.hearing == 1],
    }
    path = folder / RECORD
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    document |= recorded_fields(plan, before)
    write_ratings(folder, pd.concat([plan.ratings, plan.rescored], ignore_index=True))
    write_atomically(folder / RECORD, json.dumps(document, indent=1) + "\n")


def write_ratings(folder: Path, ratings: pd.DataFrame) -> None:
    """Write people's ratings beside a record, without what they wrote beside their scores, which may be about patients."""
    columns = [name for name in ("case", "rater", "attribute", "value", "round") if name in ratings]
    write_atomically(folder / RATINGS, csv_text(ratings[columns]))


def read_record(folder: Path) -> StudyRecord:
    """The record of the study that was run in `folder`."""
    path = folder / RECORD
    if not path.exists():
        raise VenireError(
            f"{folder}: no study was run in this folder", remedy="run one with venire study run STUDY.yaml"
        )
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return StudyRecord(
            name=document["study"],
            description=document["description"],
            arms=document["arms"],
            attributes=tuple(document["attributes"]),
            selection=tuple(document["selection"]),
            test=tuple(document["test"]),
            reference=document["reference"],
            unit=document["unit"],
            seed=document["seeds"]["statistics"],
            planned=document["planned"],
            search=document["search"],
            goal=_goal(document["goal"]),
            design=Design.model_validate(document["design"]),
            chosen_from=None if document["chosen_from"] is None else tuple(document["chosen_from"]),
            hearings=document.get("hearings", {}),
            document=document,
        )
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidFile(
            f"{path}: this is not the record of a study: {error}", remedy="run the study again"
        ) from None


def _goal(written: Mapping[str, Any] | None) -> Goal | None:
    """The goal as `study.json` has it."""
    return (
        None
        if written is None
        else Goal(objective(written["objective"]), written["choose"], written["margin"])
    )


def recorded_ratings(folder: Path) -> pd.DataFrame:
    """People's ratings as the study was planned with them."""
    ratings = load_ratings(folder / RATINGS)
    words = ratings.select_dtypes(exclude="number").columns
    return ratings.assign(**{name: ratings[name].map(from_csv_cell) for name in words})


TRIAL_COLUMNS = ["number", "arm", "params", "state", "seats", "protocol", "cases", "values", "note"]


def trials_table(folder: Path) -> pd.DataFrame:
    """One row for each trial of the search; none, under the same columns, where nothing was searched."""
    return pd.DataFrame(list(recorded_trials(folder)), columns=TRIAL_COLUMNS)


def recorded_trials(folder: Path) -> Iterator[dict[str, Any]]:
    """Every trial of the search, as it ended, in the order in which they were asked for."""
    path = folder / TRIALS
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


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
    batch: BatchSettings | None = None
    """Calls go out in batches, at half the price."""
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
            batch=session.batch,
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
