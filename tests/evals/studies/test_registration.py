"""A registered study: the report says that it is as it was registered, or names what changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT
from study_files import run_quietly

from venire.evals.studies.findings import findings_at
from venire.evals.studies.plan import plan_study
from venire.evals.studies.registration import file_fields, lock_study, registration
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
