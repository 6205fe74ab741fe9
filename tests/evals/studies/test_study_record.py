"""One session of a study: what it may still spend, who hears what in which order, and what is kept beside the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from study_files import study_file

from venire.agents.cost import Cost, Price
from venire.agents.model import Usage
from venire.evals.studies import study_record, study_run
from venire.evals.studies.plan import Plan, TaskPlan, plan_study
from venire.evals.studies.study_record import (
    StudySession,
    hear_juries,
    read_record,
    recorded_ratings,
    write_record,
)
from venire.evals.studies.study_run import run_plan
from venire.orchestration.run_session import RunSession
from venire.orchestration.runner import RunResult
from venire.orchestration.worked_examples import ScoredCases


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """Arms that hear all cases, the test cases and two of these, one of them twice; and two further tasks."""
    arms = [{"jury": "lens-jury"}, {"jury": "lens-single", "on": "test", "calibration": "linear"}, {"jury": "lens-single", "name": "two", "on": 2}]  # fmt: skip
    seeds = {"run": 5, "split": 6, "search": 7, "statistics": 8}
    found = plan_study(
        study_file(
            tmp_path_factory.mktemp("planned"), arms=arms, seeds=seeds, split={"test": 0.25}, objective="mae", margin=0.07,
            choose="pooled", reference="mean", budget={"max_calls": 1000, "max_usd": 9.0},
        )
    )  # fmt: skip
    assert isinstance(found, Plan)
    first, test, two = found.arms
    tasks = tuple(TaskPlan(name, found.rubric, found.cases[:n], found.ratings, found.arms[:n]) for name, n in (("x", 1), ("y", 2)))  # fmt: skip
    return replace(
        found, arms=(two, *replace(first, hearings=2).every_hearing(), test), tasks=tasks,
        prices={"m": Price(prompt=1, completion=1)}, rescored=found.ratings[:3].assign(rater="again", comment="private"),
    )  # fmt: skip


def test_what_is_left_is_the_budget_less_what_the_run_and_every_task_have_cost(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paid = {tmp_path: Cost(10, Usage(1, 1), 10, 1.0), tmp_path / "tasks/x": Cost(20, Usage(1, 1), 20, 2.0), tmp_path / "tasks/y": Cost(30, Usage(1, 1), 30, 3.0)}  # fmt: skip
    asked: list[RunSession] = []

    def keep(run: RunSession, console: Console, *, quiet: bool) -> RunResult:
        asked.append(run)
        return RunResult(1, 2, None)

    monkeypatch.setattr(study_record, "recorded_cost", paid.__getitem__)
    monkeypatch.setattr(study_record, "run_session", keep)
    session = StudySession(tmp_path, Console(quiet=True), quiet=True, in_flight=3, rpm=4, tpm=5, retry=True)
    juries, task = [plan.arms[0].jury], plan.tasks[1]
    hear_juries(plan, session, juries, plan.cases[:5])
    hear_juries(plan, session, juries, task.cases, task=task)

    own, tasks = asked
    for run in asked:
        assert (run.max_calls, run.max_usd, run.max_tokens) == (940, 3.0, None)
        assert (run.in_flight, run.rpm, run.tpm, run.retry, run.seed) == (3, 4, 5, True, 5)
        assert run.prices == plan.prices and run.juries == juries
    assert own.scored == ScoredCases.of(plan.cases) and tasks.scored == ScoredCases.of(task.cases)
    assert (own.folder, len(own.cases)) == (tmp_path, 5)
    assert (tasks.folder, len(tasks.cases)) == (tmp_path / "tasks/y", 2)


@pytest.mark.parametrize(("limit_at", "calls"), [(None, 5), (2, 2), (3, 3), (4, 4)])
def test_arms_that_hear_the_same_are_heard_together_the_most_cases_first_and_then_the_tasks(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit_at: int | None, calls: int
) -> None:
    heard: list[tuple[list[str], int, str]] = []

    def hear(
        plan: Plan, session: StudySession, juries: Sequence[Any], cases: Sequence[Any], *, task: TaskPlan | None = None
    ) -> RunResult:  # fmt: skip
        heard.append(([jury.name for jury in juries], len(cases), "" if task is None else task.name))
        return RunResult(len(heard), 10, "max_calls" if len(heard) == limit_at else None)

    monkeypatch.setattr(study_run, "hear_juries", hear)
    ended = run_plan(plan, StudySession(tmp_path / "run", Console(quiet=True)))

    held_out = len(plan.split.test)
    assert heard == [
        (["lens-jury", "lens-jury-r2"], 24, ""), (["lens-single"], held_out, ""), (["two"], 2, ""),
        ([plan.tasks[0].arms[0].name], 1, "x"), ([arm.name for arm in plan.tasks[1].arms], 2, "y"),
    ][:calls]  # fmt: skip
    assert (ended.heard, ended.skipped) == (sum(range(calls + 1)), 10 * calls)
    assert ended.limit == (limit_at and "max_calls")


def test_what_is_written_of_a_study_is_read_again(plan: Plan, tmp_path: Path) -> None:
    write_record(plan, tmp_path)
    found = read_record(tmp_path)
    write_record(plan, tmp_path, plan.arms[3:])
    searched = read_record(tmp_path)

    assert found.arms == {"two": "none", "lens-jury": "none", "lens-single": "linear"}
    assert (
        searched.arms == {"lens-single": "linear"} and searched.document["begun"] == found.document["begun"]
    )
    assert (found.hearings, found.chosen_from) == ({"lens-jury-r2": "lens-jury"}, ("lens-jury",))
    assert (found.selection, found.test, found.seed) == (plan.split.selection, plan.split.test, 8)
    assert (found.reference, found.goal, found.unit) == ("mean", plan.study.goal, plan.unit)
    assert found.goal is not None and (found.goal.choosing, found.goal.margin) == ("pooled", 0.07)
    assert found.attributes == tuple(plan.rubric.names) and found.design == plan.study.design
    assert found.planned == {"calls": plan.total.least.calls, "most_calls": plan.total.least.calls, "alone": plan.alone}  # fmt: skip
    everyone = recorded_ratings(tmp_path)
    assert "comment" not in everyone and len(everyone) == len(plan.ratings) + 3
    assert (everyone["rater"] == "again").sum() == 3
    all_hear = replace(plan, arms=plan.arms[1:2])
    write_record(all_hear, tmp_path)
    assert read_record(tmp_path).chosen_from is None
