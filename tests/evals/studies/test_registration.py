"""A registered study: the report says that it is as it was registered, or names what changed."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT
from study_files import run_quietly

from venire.evals.studies.findings import findings_at
from venire.evals.studies.plan import Plan, plan_study
from venire.evals.studies.registration import (
    changed_fields,
    file_fields,
    lock_study,
    plan_fields,
    recorded_fields,
    registration,
)
from venire.evals.studies.study_record import read_record
from venire.rubrics.errors import VenireError

LINES = (ROOT / "evals/demo/labels.csv").read_text().splitlines()
DECIDED: dict[str, Any] = {
    "name": "locked", "cases": "cases.jsonl", "rubric": "clinical-note", "ratings": "labels.csv",
    "arms": ["lens-jury", "lens-single"], "objective": "mae", "margin": 0.02, "split": {"test": 0.5},
}  # fmt: skip


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that was registered and then run."""
    folder = tmp_path_factory.mktemp("locked")
    path = write(folder)
    lock_study(plan_study(path))
    run_quietly(path)
    return path


def write(folder: Path, lines: list[str] = LINES, **changes: Any) -> Path:
    (folder / "cases.jsonl").write_text((ROOT / "evals/demo/cases.jsonl").read_text())
    (folder / "labels.csv").write_text("\n".join(lines) + "\n")
    (folder / "study.yaml").write_text(json.dumps({**DECIDED, **changes}))
    return folder / "study.yaml"


def test_what_was_not_changed_is_as_registered(locked: Path) -> None:
    write(locked.parent)
    found = findings_at(locked, resamples=100)

    assert found.registration.sentence == "The study was run as registered."  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"objective": "spearman"}, "objective (mae before, spearman now)"),
        ({"margin": 0.05}, "margin (0.02 before, 0.05 now)"),
        ({"choose": "pooled"}, "choose (per-attribute before, pooled now)"),
        ({"reference": "mean"}, "reference (median before, mean now)"),
        ({"split": {"test": 0.4}}, "split"),
        ({"attributes": [LINES[1].split(",")[2]]}, "exclusions (attributes)"),
        ({"arms": ["lens-jury", {"jury": "lens-single", "count": "mean"}]}, "arms (lens-single)"),
        ({"arms": ["lens-jury"]}, "arms (lens-single)"),
        ({"lines": LINES[:-1]}, "ratings"),
    ],
)
def test_whatever_is_changed_is_named(locked: Path, changes: dict[str, Any], named: str) -> None:
    record = read_record(locked.parent / "study-run").document
    path = write(locked.parent, **changes)

    assert registration(path, record).changes == (named,)


def test_a_changed_case_is_named_and_a_second_registration_is_refused(locked: Path) -> None:
    path = write(locked.parent, margin=0.05)
    with pytest.raises(VenireError, match="registered before and has changed since: margin"):
        lock_study(plan_study(path))

    before = file_fields(write(locked.parent))
    (locked.parent / "cases.jsonl").write_text((ROOT / "evals/demo/cases.jsonl").read_text().replace("the", "teh", 1))  # fmt: skip
    after = file_fields(locked)
    assert [name for name in before if before[name] != after[name]] == ["cases"]


def test_a_run_that_nobody_registered_says_so() -> None:
    assert registration(None, {}).sentence.startswith("The study was not registered")


EARLIER, LATER = "2026-01-01T00:00:00+00:00", "2026-01-02T00:00:00+00:00"


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    found = plan_study(write(tmp_path_factory.mktemp("planned")))
    assert isinstance(found, Plan)
    return found


def test_a_study_that_goes_on_keeps_its_beginning_and_its_registration(tmp_path: Path, plan: Plan) -> None:
    plan = replace(plan, path=write(tmp_path))
    lock = {"written": EARLIER, "fields": {}}
    first, again = recorded_fields(plan, None), recorded_fields(plan, {"begun": EARLIER, "lock": lock})
    registered = lock_study(plan)
    then = recorded_fields(plan, {"begun": EARLIER, "lock": lock})

    assert datetime.fromisoformat(first["begun"]).tzinfo == UTC and first["lock"] is None
    assert recorded_fields(plan, {"fields": {}})["begun"] >= first["begun"], (
        "a record of before that has none"
    )
    assert (again["begun"], again["lock"]) == (EARLIER, lock)
    assert (then["begun"], then["lock"]) == (EARLIER, json.loads(registered.read_text()))
    assert first["fields"] == then["fields"] == file_fields(plan.path)
    registered.write_text(registered.read_text().replace(then["lock"]["written"], EARLIER))
    assert json.loads(lock_study(plan).read_text())["written"] == EARLIER, "registered once"


def test_a_registration_is_late_only_where_it_came_after_the_beginning() -> None:
    def late(written: str, **record: object) -> bool:
        return registration(None, {"lock": {"written": written, "fields": {}}, **record}).late

    assert late(LATER, begun=EARLIER) and not late(EARLIER, begun=LATER)
    assert not late(EARLIER, begun=EARLIER) and not late(LATER) and not late(LATER, begun=None)


def test_what_changed_is_of_the_run_and_of_the_file_against_the_registration_beside_it(
    tmp_path: Path, plan: Plan
) -> None:
    path = write(tmp_path)
    now = file_fields(path)
    ran = {**now, "margin": 0.05, "objective": "rmse"}
    kept = {"written": EARLIER, "fields": {**now, "choose": "pooled", "margin": 0.05}}
    record = {"lock": kept, "fields": ran, "begun": LATER}
    found = registration(path, record)

    assert found.changes == (
        "objective (mae before, rmse now)",
        "choose (pooled before, per-attribute now)",
        "margin (0.05 before, 0.02 now)",
    )
    assert found.registered and not found.late
    assert registration(None, record).changes == found.changes[:2]
    assert registration(path, {"lock": kept}).changes == found.changes[1:]
    # The registration beside the file goes before the one that the run kept.
    lock_study(replace(plan, path=path))
    assert registration(path, record).changes == ("objective (mae before, rmse now)", "margin (0.02 before, 0.05 now)")  # fmt: skip
    assert found.to_json() == {"registered": True, "changes": list(found.changes), "late": False, "sentence": found.sentence}  # fmt: skip


def test_differences_are_named_one_by_one_and_hashes_are_not_shown() -> None:
    locked = {"cases": "a1", "arms": {"x": "1", "y": "2", "z": "3"}, "choose": "pooled", "same": {"k": 1}}
    now = {"cases": "b2", "arms": {"x": "1", "y": "9", "new": "4"}, "same": {"k": 1}, "added": 1}

    assert changed_fields(locked, now) == ["cases", "arms (y, z, new)", "choose (pooled before, None now)"]
    assert changed_fields(locked, locked) == []


def test_what_is_decided_has_no_order_and_everything_that_scores_rest_on(plan: Plan) -> None:
    ratings, before, arms = plan.ratings, plan_fields(plan), list(plan.arms)

    def moved(**changes: Any) -> list[str]:
        after = plan_fields(replace(plan, **changes))
        return [name for name in before if before[name] != after[name]]

    def study(**changes: Any) -> list[str]:
        return moved(study=plan.study.model_copy(update=changes))

    assert moved(cases=plan.cases[::-1], ratings=ratings.iloc[::-1]) == []
    assert moved(ratings=ratings.iloc[:9], rescored=ratings.iloc[9:]) == []
    assert moved(ratings=ratings.assign(comment="said")) == []
    assert moved(split=replace(plan.split, test=plan.split.test[::-1])) == []
    assert moved(split=replace(plan.split, test=plan.split.test[1:])) == ["split"]
    for column, value in (("rater", "another"), ("round", 2), ("value", 1)):
        assert moved(ratings=ratings.assign(**{column: value})) == ["ratings"], column
    assert moved(ratings=ratings.iloc[9:]) == ["ratings"]
    for change in ({"on": "test"}, {"calibration": "linear"}):
        assert moved(arms=(replace(arms[0], **change), *arms[1:])) == ["arms"], change
    assert study(people=plan.study.people.model_copy(update={"rescore": ("again",)})) == ["exclusions"]
    assert study(tables=("ranking",)) == ["tables"]
