"""A registered study: hashes of what was decided before it was run, and what has changed since."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from ...orchestration.acceptance import judged_by
from ...orchestration.record.private_files import write_atomically
from ...rubrics.case import Case
from ...rubrics.errors import InvalidFile, VenireError
from ...rubrics.files import read_json
from ...rubrics.rubric import Rubric
from .arms import StudyArm
from .plan import Plan, RecordedPlan, plan_parts
from .study import Study
from .study_files import default_folder

FORMAT = "venire registration 1"
Fields = Mapping[str, Any]
"""By what was decided, its value or a hash of it; of arms, by name."""


def lock_path(study: Path) -> Path:
    """Where the registration of the study in a file is: beside it; of one that is shipped, in the working directory."""
    return default_folder(study).parent / f"{study.stem}.lock.json"


def lock_study(plan: Plan | RecordedPlan) -> Path:
    """Write the registration of a planned study.

    Raises:
        VenireError: It was registered before, otherwise than it is planned now; or there is nothing left to decide.
    """
    if isinstance(plan, RecordedPlan):
        raise VenireError(
            f"{plan.path}: the judgements are recorded, so they were known before the study was planned",
            remedy="register a study whose arms have not been run yet",
        )
    path, fields = lock_path(plan.path), plan_fields(plan)
    if path.exists():
        changes = changed_fields(_read_lock(path)["fields"], fields)
        if changes:
            raise VenireError(
                f"{path}: the study was registered before and has changed since: {', '.join(changes)}",
                remedy="restore what was registered; or remove this file, register again, and say so in your report",
            )
        return path
    written = datetime.now(UTC).isoformat(timespec="seconds")
    document = {"format": FORMAT, "study": plan.study.name, "written": written, "fields": fields}
    write_atomically(path, json.dumps(document, indent=1) + "\n")
    return path


def plan_fields(plan: Plan) -> dict[str, Any]:
    """What a plan decides."""
    people = pd.concat([plan.ratings, plan.rescored], ignore_index=True)
    test = plan.split.test
    return _fields(plan.study, plan.rubric, plan.cases, people, plan.arms, test)


def file_fields(study: Path) -> dict[str, Any]:
    """What the study in a file decides as it stands now."""
    parts = plan_parts(study)
    return _fields(parts.study, parts.rubric, parts.cases, parts.ratings, parts.arms, parts.split.test)


def _fields(
    study: Study, rubric: Rubric, cases: Sequence[Case], people: pd.DataFrame, arms: Sequence[StudyArm], test: Iterable[str]
) -> dict[str, Any]:  # fmt: skip
    columns = [name for name in ("case", "rater", "attribute", "value", "round") if name in people]
    ratings = people[columns].astype(str).sort_values(columns).to_csv(index=False)
    return {
        "cases": _hash(sorted(case.model_dump_json() for case in cases)),
        "ratings": _hash(ratings),
        "rubric": _hash(rubric.model_dump_json()),
        "arms": {arm.name: _hash([_jury_hash(arm, rubric), arm.calibration, str(arm.on)]) for arm in arms},
        "objective": study.objective or "credit",
        "choose": study.choose,
        "margin": study.margin,
        "reference": study.reference or "median",
        "split": _hash(sorted(test)),
        "exclusions": {
            "attributes": sorted(study.attributes or rubric.names),
            "second panel": sorted(study.people.rescore),
        },
        "tables": _hash(study.design.model_dump_json(exclude={"people"})),
    }


def _jury_hash(arm: StudyArm, rubric: Rubric) -> str:
    """What the arm answers by; where a model's server stands is not among it."""
    return judged_by(arm.jury, rubric).model_dump_json(exclude={"rubric"})


def _hash(content: Any) -> str:
    text = content if isinstance(content, str) else json.dumps(content)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def changed_fields(locked: Fields, now: Fields) -> list[str]:
    """The names of what differs; of arms and exclusions, which of them."""
    changes = []
    for name, before in locked.items():
        after = now.get(name)
        if after == before:
            continue
        if isinstance(before, dict) and isinstance(after, dict):
            inner = [key for key in {**before, **after} if before.get(key) != after.get(key)]
            changes.append(f"{name} ({', '.join(inner)})")
        else:
            changes.append(name if name in HASHED else f"{name} ({before} before, {after} now)")
    return changes


HASHED = ("cases", "ratings", "rubric", "split", "tables")


@dataclass(frozen=True, slots=True)
class Registration:
    """Whether a study was registered, and what has changed since."""

    registered: bool
    changes: tuple[str, ...] = ()
    late: bool = False
    """Whether it was registered after the run was begun."""

    @property
    def sentence(self) -> str:
        """What a report says of it."""
        if not self.registered:
            return "The study was not registered: there is no record of what was decided before the run (to register a study, use venire study plan STUDY.yaml --lock)."
        if self.late:
            return (
                f"The study was registered only after the run had begun, and changed since then: {', '.join(self.changes)}."
                if self.changes
                else "The study was registered only after the run had begun."
            )
        return (
            f"The study changed after registration: {', '.join(self.changes)}."
            if self.changes
            else "The study was run as registered."
        )

    def to_json(self) -> dict[str, Any]:
        return {"registered": self.registered, "changes": list(self.changes), "late": self.late, "sentence": self.sentence}  # fmt: skip


def registration(study: Path | None, record: Mapping[str, Any]) -> Registration:
    """What a report has to say of a run: its record, and the study's file as it stands now, against what was registered.

    Args:
        study: The file, where one was named.
        record: The run's `study.json`.
    """
    lock = record.get("lock")
    if study is not None and lock_path(study).exists():
        lock = _read_lock(lock_path(study))
    if lock is None:
        return Registration(False)
    ran = changed_fields(lock["fields"], record["fields"]) if record.get("fields") else []
    now = changed_fields(lock["fields"], file_fields(study)) if study is not None else []
    late = bool(record.get("begun")) and lock["written"] > record["begun"]
    return Registration(True, tuple(dict.fromkeys([*ran, *now])), late)


def recorded_fields(plan: Plan, before: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a run keeps of it: what the plan decides, the registration where there is one, and when the run was begun."""
    path = lock_path(plan.path)
    begun = (before or {}).get("begun") or datetime.now(UTC).isoformat(timespec="seconds")
    lock = _read_lock(path) if path.exists() else (before or {}).get("lock")
    return {"fields": plan_fields(plan), "lock": lock, "begun": begun}


def _read_lock(path: Path) -> dict[str, Any]:
    document = read_json(path)
    if not isinstance(document, dict) or document.get("format") != FORMAT or "fields" not in document:
        raise InvalidFile(f"{path}: this is not the registration of a study", remedy="remove the file, or restore the one that `venire study plan --lock` wrote")  # fmt: skip
    return document
