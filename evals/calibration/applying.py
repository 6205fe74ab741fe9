"""A calibration applied to a run that nobody has labelled."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from ...orchestration.record import Store
from ...orchestration.record.rows import Arm
from ...rubrics.errors import VenireError
from ...rubrics.rubric import Rubric
from ..ratings.run_tables import ArmRatings, JurorRatings, arm_tables
from .calibrator import jury_means
from .saved import SavedArm, SavedCalibration, saved_rubric, saved_seat

COLUMNS = ["arm", "case", "attribute", "value", "jurors"]


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
        known = [name for name in saved.arms if name in arms]
        if not known:
            raise DoesNotFit(
                f"the run has the arms {', '.join(arms) or '(none)'}; calibrated were {', '.join(saved.arms)}",
                remedy="apply it to a run of the same jury",
            )
        verdicts, votes = arm_tables(store, ArmRatings(), JurorRatings())
        found, notes = [], []
        for name in known:
            notes += _fits(saved.arms[name], arms[name])
            mine = verdicts[verdicts["rater"] == name].drop(columns="rater")
            cast = votes[votes["arm"] == name].rename(columns={"seat": "juror_seat"})
            scores, told = _scores(saved.arms[name], arms[name], mine, cast)
            found.append(scores.assign(arm=name)[COLUMNS])
            notes += told
        notes += [f"{name} has no calibration: it is left out" for name in arms if name not in known]
    finally:
        if store is not run:
            store.release()
    return Applied(pd.concat(found, ignore_index=True), tuple(dict.fromkeys(notes)))


def _fits(saved: SavedArm, arm: Arm) -> list[str]:
    """What a reader must know of a fit that is not whole; raises where there is none."""
    asked = saved_rubric(arm)
    if asked != saved.rubric:
        told = [f"{each.name} version {each.version}" for each in (asked, saved.rubric)]
        same = " in other words" if told[0] == told[1] else ""
        raise DoesNotFit(
            f"{arm.name} was asked by the rubric {told[0]}{same}; the calibration was made for {told[1]}",
            remedy="calibrate again on cases scored under this rubric",
        )
    now: list[tuple[str, object, object]] = [
        ("protocol", arm.jury.protocol, saved.protocol),
        ("orchestrator", arm.jury.orchestrator.model, saved.orchestrator),
    ]
    if saved.direct:
        now.append(("counting rule", arm.jury.count, saved.count))
    for what, this, that in now:
        if this != that:
            raise _another(arm, what, this, that)
    for seat in arm.jury.seats:
        sits, sat = saved_seat(seat), saved.seats.get(seat.name)
        if sat is not None and sits != sat:
            raise _another(
                arm, f"seat {seat.name!r}", *(f"{who.model} as {who.persona}" for who in (sits, sat))
            )
    strangers = [seat.name for seat in arm.jury.seats if seat.name not in saved.seats]
    if strangers and (saved.direct or len(strangers) == len(arm.jury.seats)):
        raise DoesNotFit(
            f"{arm.name}: nobody calibrated the juror {strangers[0]!r}",
            remedy="calibrate the jury as it sits now",
        )
    return [f"{arm.name}: the juror {name!r} was never calibrated and is left out" for name in strangers]


def _another(arm: Arm, what: str, this: object, that: object) -> DoesNotFit:
    other = f"{that} with other settings" if this == that else that
    return DoesNotFit(
        f"{arm.name}: the {what} is {this}; the calibration was made for {other}",
        remedy="calibrate the jury as it sits now",
    )


def _scores(
    saved: SavedArm, arm: Arm, verdicts: pd.DataFrame, votes: pd.DataFrame
) -> tuple[pd.DataFrame, list[str]]:
    if saved.direct:
        given = verdicts.assign(juror=arm.name)
    else:
        cast = votes.assign(juror=votes["juror_seat"])[["case", "juror", "attribute", "value"]]
        given = cast.merge(verdicts[["case", "attribute"]], on=["case", "attribute"])
    given = given[given["attribute"].isin(list(saved.curves))].reset_index(drop=True)
    values = np.full(len(given), np.nan)
    notes = []
    for (juror, attribute), rows in given.groupby(["juror", "attribute"], sort=False):
        curve = saved.curves[str(attribute)].get(str(juror))
        if curve is not None:
            values[rows.index] = curve.at(pd.to_numeric(rows["value"]).to_numpy(float))
        elif juror in saved.seats:
            notes.append(f"{arm.name}: {juror} has no curve for {attribute!r} and is left out of it")
    means = _with_verdicts(jury_means(given, values), verdicts, saved.left_alone)
    left = [name for name in arm.rubric.names if name not in saved.curves]
    if left:
        notes.append(f"{arm.name}: not calibrated, and left out: {', '.join(left)}")
    if saved.left_alone:
        notes.append(f"{arm.name}: left as the jury counted it: {', '.join(saved.left_alone)}")
    return pd.concat([means, _derived_scores(means, arm.rubric)], ignore_index=True), notes


def _with_verdicts(means: pd.DataFrame, verdicts: pd.DataFrame, left_alone: Collection[str]) -> pd.DataFrame:
    """The means, those of attributes that were left alone replaced by the verdict as the jury counted it."""
    counted = verdicts[["case", "attribute", "value"]].rename(columns={"value": "counted"})
    found = means.merge(counted, on=["case", "attribute"], how="left")
    alone = found["attribute"].isin(list(left_alone))
    return found.assign(
        value=found["value"].where(~alone, pd.to_numeric(found["counted"], errors="coerce"))
    ).drop(columns="counted")


def _derived_scores(means: pd.DataFrame, rubric: Rubric) -> pd.DataFrame:
    rows = [
        (case, name, value, 0)
        for case, mine in means.groupby("case", sort=False)
        for name, value in rubric.derived_scores(
            dict(zip(mine["attribute"], mine["value"], strict=True))
        ).items()
    ]
    return pd.DataFrame(rows, columns=["case", "attribute", "value", "jurors"])
