"""A calibration as a file that people can read and another run can be held against."""

from __future__ import annotations

import hashlib
import platform
import re
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, ValidationError

from ...orchestration.record.manifest import fingerprint
from ...orchestration.record.rows import Arm
from ...personas.jury import Seat
from ...rubrics.errors import InvalidFile
from ...rubrics.files import read_json
from ..ratings.reference import Rule
from ..statistics.matrix import FloatArray
from .cross_validation import CrossValidation

PLACES = 6
"""Of a curve's points, so that a person can read them."""
_ELSEWHERE = {"name", "base_url", "api_key_env", "timeout", "context"}
"""What a seat may change without becoming another juror."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SavedCurve(_Part):
    """Straight between the points, level beyond them."""

    score: tuple[float, ...]
    people: tuple[float, ...]
    cases: int
    """Labelled cases it was learned from."""

    def at(self, values: FloatArray) -> FloatArray:
        return np.interp(values, self.score, self.people)


class SavedSeat(_Part):
    """Who sat: the hash also holds what is not written out."""

    model: str | None
    persona: str | None
    hash: str


class SavedRubric(_Part):
    name: str
    version: int
    hash: str


class SavedChange(_Part):
    """Out of fold, against people, over all attributes that share a scale."""

    measure: str
    before: float | None
    after: float | None
    change: float | None
    low: float | None
    high: float | None
    n: int


class SavedArm(_Part):
    """One arm's curves by attribute and juror, and what it was when they were learned."""

    rubric: SavedRubric
    protocol: str
    count: str | None
    orchestrator: str | None
    direct: bool
    seats: dict[str, SavedSeat]
    labelled_cases: int
    folds: int
    curves: dict[str, dict[str, SavedCurve]]
    left_alone: tuple[str, ...] = ()
    """The attributes that calibration took demonstrably further from people: their curves change nothing, and the verdict stays."""
    out_of_fold: tuple[SavedChange, ...]
    notes: tuple[str, ...] = ()


class Made(_Part):
    """Where a calibration comes from. The ratings are named by their hash: a path says nothing elsewhere."""

    venire: str
    packages: dict[str, str]
    method: str
    folds: int
    seed: int
    resamples: int
    reference: Rule | None = None
    """How people's ratings became labels; None is the median, or the majority by the scale."""
    ratings_sha256: str
    people: int


class SavedCalibration(_Part):
    """What `venire calibrate -o` writes."""

    format: Literal["venire calibration 1"] = "venire calibration 1"
    made: Made
    arms: dict[str, SavedArm]

    def write(self, path: Path) -> None:
        """One key a line, a curve's points on one line each."""
        spread = self.model_dump_json(indent=1)
        close = re.sub(r"\[[-\d.,\se]*\]", lambda numbers: " ".join(numbers[0].split()), spread)
        path.write_text(close + "\n", encoding="utf-8")


def load_calibration(path: Path | str) -> SavedCalibration:
    """The calibration in a file that `venire calibrate -o` wrote."""
    try:
        return SavedCalibration.model_validate(read_json(Path(path)))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise InvalidFile(
            f"{path}: no calibration: {where}: {first['msg']}",
            remedy="give a file that `venire calibrate RUN --human RATINGS -o FILE` wrote",
        ) from None


def saved_arm(arm: Arm, crossed: CrossValidation, overall: pd.DataFrame) -> SavedArm:
    """The curves learned from all labelled cases of the arm, with what it was."""
    curves: dict[str, dict[str, SavedCurve]] = {}
    for (juror, attribute), curve in crossed.calibrator.curves_.items():
        curves.setdefault(attribute, {})[juror] = SavedCurve(
            score=tuple(np.round(curve.x_, PLACES).tolist()),
            people=tuple(np.round(curve.y_, PLACES).tolist()),
            cases=crossed.calibrator.cases_[juror, attribute],
        )
    return SavedArm(
        rubric=saved_rubric(arm),
        protocol=arm.jury.protocol,
        count=arm.jury.count,
        orchestrator=arm.jury.orchestrator.model,
        direct=crossed.labelled.direct,
        seats={seat.name: saved_seat(seat) for seat in arm.jury.seats},
        labelled_cases=crossed.votes["case"].nunique(),
        folds=crossed.folds,
        curves=curves,
        left_alone=tuple(crossed.left_alone),
        out_of_fold=tuple(SavedChange(**_plain(row)) for row in overall.to_dict("records")),
        notes=crossed.notes,
    )


def saved_rubric(arm: Arm) -> SavedRubric:
    asked = arm.rubric
    return SavedRubric(
        name=asked.name, version=asked.version, hash=fingerprint(asked.model_dump(mode="json"))
    )


def saved_seat(seat: Seat) -> SavedSeat:
    """The seat by what decides its answers; where its server stands is not among that."""
    told = fingerprint(seat.model_dump(mode="json", exclude=_ELSEWHERE))
    return SavedSeat(model=seat.model, persona=seat.persona.name if seat.persona else None, hash=told)


def ratings_hash(human: pd.DataFrame | Path | str) -> str:
    """Of the file's bytes; of a table, of what it holds."""
    if isinstance(human, pd.DataFrame):
        return hashlib.sha256(human.to_csv(index=False).encode()).hexdigest()
    return hashlib.sha256(Path(human).read_bytes()).hexdigest()


def packages() -> dict[str, str]:
    """The versions that curves come from."""
    names = ("numpy", "pandas", "scipy")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


def _plain(row: Mapping[object, object]) -> dict[str, object]:
    wanted = {str(key): value for key, value in row.items() if key in SavedChange.model_fields}
    return {
        key: None if isinstance(value, float) and not np.isfinite(value) else value
        for key, value in wanted.items()
    }
