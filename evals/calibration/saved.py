"""A calibration as a file that people can read, and its application to a run that nobody has labelled."""

from __future__ import annotations

import hashlib
import platform
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, ValidationError

from ...orchestration.record import Store
from ...orchestration.record.manifest import fingerprint
from ...orchestration.record.reader import Arm
from ...personas.jury import Seat
from ...rubrics.errors import InvalidFile, VenireError
from ...rubrics.files import read_json
from ...rubrics.rubric import Rubric
from ..ratings.reference import Rule
from ..ratings.run_tables import ArmRatings, JurorRatings, arm_tables
from ..statistics.matrix import FloatArray
from .calibrator import CrossValidation, jury_means

PLACES = 6
"""Of a curve's points, so that a person can read them."""
_ELSEWHERE = {"name", "base_url", "api_key_env", "timeout", "context"}
"""What a seat may change without becoming another juror."""
COLUMNS = ["arm", "case", "attribute", "value", "jurors"]


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
        detail = error.errors()[0]
        place = ".".join(map(str, detail["loc"])) or "the file"
        raise InvalidFile(
            f"{path} is not a calibration file: {place}: {detail['msg']}",
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
    rubric = arm.rubric
    return SavedRubric(
        name=rubric.name, version=rubric.version, hash=fingerprint(rubric.model_dump(mode="json"))
    )


def saved_seat(seat: Seat) -> SavedSeat:
    """The seat by what decides its answers; where its server stands is not among that."""
    digest = fingerprint(seat.model_dump(mode="json", exclude=_ELSEWHERE))
    return SavedSeat(model=seat.model, persona=seat.persona.name if seat.persona else None, hash=digest)


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
    fields = {str(key): value for key, value in row.items() if key in SavedChange.model_fields}
    return {
        key: None if isinstance(value, float) and not np.isfinite(value) else value
        for key, value in fields.items()
    }


class DoesNotFit(VenireError):
    """A calibration was made for something else than it is applied to."""


@dataclass(frozen=True, slots=True)
class Applied:
    """Calibrated scores, and what was left out of them."""

    scores: pd.DataFrame
    """`arm`, `case`, `attribute` (reversed names and composites too), `value`, `jurors` (whose mean it is; 0 if derived)."""
    notes: tuple[str, ...]


def apply(saved: SavedCalibration, run: Store | Path | str) -> Applied:
    """The scores of every arm of `run` that the calibration knows; a hung outcome stays without one.

    Raises:
        DoesNotFit: No arm of the run is among the calibrated ones, or one has another rubric, protocol or juror.
    """
    store = run if isinstance(run, Store) else Store.read(run)
    try:
        arms = {arm.name: arm for arm in store.arms()}
        names = [name for name in saved.arms if name in arms]
        if not names:
            raise DoesNotFit(
                f"the calibration is for {', '.join(saved.arms)}, but the run has the arms {', '.join(arms) or '(none)'}",
                remedy="apply the calibration to a run of the same jury",
            )
        verdicts, votes = arm_tables(store, ArmRatings(), JurorRatings())
        tables, notes = [], []
        for name in names:
            notes += _fits(saved.arms[name], arms[name])
            arm_verdicts = verdicts[verdicts["rater"] == name].drop(columns="rater")
            cast = votes[votes["arm"] == name].rename(columns={"seat": "juror_seat"})
            scores, arm_notes = _scores(saved.arms[name], arms[name], arm_verdicts, cast)
            tables.append(scores.assign(arm=name)[COLUMNS])
            notes += arm_notes
        notes += [f"{name} is left out, because it has no calibration" for name in arms if name not in names]
    finally:
        if store is not run:
            store.release()
    return Applied(pd.concat(tables, ignore_index=True), tuple(dict.fromkeys(notes)))


def _fits(saved: SavedArm, arm: Arm) -> list[str]:
    """What a reader must know of a fit that is not whole; raises where there is none."""
    rubric = saved_rubric(arm)
    if rubric != saved.rubric:
        titles = [f"{r.name} version {r.version}" for r in (rubric, saved.rubric)]
        difference = " with a different text" if titles[0] == titles[1] else ""
        raise DoesNotFit(
            f"{arm.name} used the rubric {titles[0]}{difference}, but the calibration was made for {titles[1]}",
            remedy="calibrate again on cases scored under this rubric",
        )
    settings: list[tuple[str, object, object]] = [
        ("protocol", arm.jury.protocol, saved.protocol),
        ("orchestrator", arm.jury.orchestrator.model, saved.orchestrator),
    ]
    if saved.direct:
        settings.append(("counting rule", arm.jury.count, saved.count))
    for setting, current, earlier in settings:
        if current != earlier:
            raise _another(arm, setting, current, earlier)
    for seat in arm.jury.seats:
        sits, sat = saved_seat(seat), saved.seats.get(seat.name)
        if sat is not None and sits != sat:
            raise _another(
                arm, f"seat {seat.name!r}", *(f"{seats.model} as {seats.persona}" for seats in (sits, sat))
            )
    strangers = [seat.name for seat in arm.jury.seats if seat.name not in saved.seats]
    if strangers and (saved.direct or len(strangers) == len(arm.jury.seats)):
        raise DoesNotFit(
            f"{arm.name}: no calibration exists for the juror {strangers[0]!r}",
            remedy="calibrate the jury again with its present jurors and settings",
        )
    return [f"{arm.name}: the juror {name!r} was never calibrated and is left out" for name in strangers]


def _another(arm: Arm, setting: str, current: object, earlier: object) -> DoesNotFit:
    former = f"{earlier} with other settings" if current == earlier else earlier
    return DoesNotFit(
        f"{arm.name}: the {setting} is {current}, but the calibration was made for {former}",
        remedy="calibrate the jury again with its present jurors and settings",
    )


def _scores(
    saved: SavedArm, arm: Arm, verdicts: pd.DataFrame, votes: pd.DataFrame
) -> tuple[pd.DataFrame, list[str]]:
    if saved.direct:
        scored_votes = verdicts.assign(juror=arm.name)
    else:
        cast = votes.assign(juror=votes["juror_seat"])[["case", "juror", "attribute", "value"]]
        scored_votes = cast.merge(verdicts[["case", "attribute"]], on=["case", "attribute"])
    scored_votes = scored_votes[scored_votes["attribute"].isin(list(saved.curves))].reset_index(drop=True)
    values = np.full(len(scored_votes), np.nan)
    notes = []
    for (juror, attribute), rows in scored_votes.groupby(["juror", "attribute"], sort=False):
        curve = saved.curves[str(attribute)].get(str(juror))
        if curve is not None:
            values[rows.index] = curve.at(pd.to_numeric(rows["value"]).to_numpy(float))
        elif juror in saved.seats:
            notes.append(
                f"{arm.name}: {juror} is left out of {attribute!r}, because it has no calibration curve for it"
            )
    means = _with_verdicts(jury_means(scored_votes, values), verdicts, saved.left_alone)
    uncalibrated = [name for name in arm.rubric.names if name not in saved.curves]
    if uncalibrated:
        notes.append(
            f"{arm.name}: attributes left out, because they are not calibrated: {', '.join(uncalibrated)}"
        )
    if saved.left_alone:
        notes.append(
            f"{arm.name}: attributes that are not calibrated, and whose scores stay as the jury counted them: {', '.join(saved.left_alone)}"
        )
    return pd.concat([means, _derived_scores(means, arm.rubric)], ignore_index=True), notes


def _with_verdicts(means: pd.DataFrame, verdicts: pd.DataFrame, left_alone: Collection[str]) -> pd.DataFrame:
    """The means, those of attributes that were left alone replaced by the verdict as the jury counted it."""
    verdict_values = verdicts[["case", "attribute", "value"]].rename(columns={"value": "counted"})
    scores = means.merge(verdict_values, on=["case", "attribute"], how="left")
    is_left_alone = scores["attribute"].isin(list(left_alone))
    return scores.assign(
        value=scores["value"].where(~is_left_alone, pd.to_numeric(scores["counted"], errors="coerce"))
    ).drop(columns="counted")


def _derived_scores(means: pd.DataFrame, rubric: Rubric) -> pd.DataFrame:
    rows = [
        (case, name, value, 0)
        for case, case_means in means.groupby("case", sort=False)
        for name, value in rubric.derived_scores(
            dict(zip(case_means["attribute"], case_means["value"], strict=True))
        ).items()
    ]
    return pd.DataFrame(rows, columns=["case", "attribute", "value", "jurors"])
