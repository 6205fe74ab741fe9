"""Calibrated arms: their scores brought onto people's scale out of fold, when the report is made."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from ...orchestration.record import Store
from ..calibration.cross_validation import cross_validate
from ..calibration.labelled_scores import TooFewLabels, labelled_scores
from ..ratings.evidence import gather
from ..ratings.reference import Rule
from .schema import Calibration


def calibrate_arms(
    store: Store,
    people: pd.DataFrame,
    values: pd.DataFrame,
    arms: Mapping[str, Calibration],
    *,
    rule: Rule | None,
    seed: int,
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """`values` with the scores of the arms that say so calibrated, and what could not be.

    Every case is scored by curves that saw neither it nor another case of its group. What cannot be calibrated has no
    score: an arm is not quietly scored as another.
    """
    wanted = {arm: how for arm, how in arms.items() if how != "none"}
    if not wanted:
        return values, ()
    evidence = gather(store, people, rule=rule)
    parts, notes = [values[~values["rater"].isin(list(wanted))]], []
    for arm, how in wanted.items():
        try:
            found = cross_validate(labelled_scores(evidence, arm), method=how, seed=seed)
        except TooFewLabels as few:
            notes.append(f"{arm} is left out: {few.problem}")
            continue
        rows = found.scores[~found.scores["attribute"].isin(list(found.composites))]
        parts.append(rows.assign(rater=arm, value=rows["after"].astype(object))[list(values.columns)])
        notes += [f"{arm}: {note}" for note in found.notes]
    return pd.concat(parts, ignore_index=True), tuple(notes)
