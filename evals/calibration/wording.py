"""What a calibration found, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from ..ratings.reference import rule_words
from ..ratings.sheet import OVERALL
from ..statistics.significance import shown_sign
from .cross_validation import CrossValidation
from .learning import ENOUGH, enough


def change_sentences(table: pd.DataFrame, crossed: CrossValidation) -> list[str]:
    """Which attributes calibration brought nearer to people, left alone or did not change; then offset and error over all."""
    arm = crossed.labelled.arm
    mine = table[(table["evaluator"] == arm) & (table["arm"] == arm)]
    errors = {
        str(row["attribute"]): row
        for row in mine[mine["measure"] == "rmse"].to_dict("records")
        if row["attribute"] not in (OVERALL, *crossed.left_alone)
    }
    told = {
        f"Calibration brings {arm} nearer to people, out of fold, on": [
            name for name, error in errors.items() if _direction(error) < 0
        ],
        f"Calibration takes {arm} further from people, out of fold, on": [
            name for name, error in errors.items() if _direction(error) > 0
        ],
        f"Calibration does not change {arm}'s error demonstrably on": [
            name for name, error in errors.items() if _direction(error) == 0
        ],
        f"There are too few cases to say whether calibration helped {arm} on": [
            name for name, error in errors.items() if math.isnan(_direction(error))
        ],
    }
    sentences = [
        f"{opening} {', '.join(f'{name} ({_error(errors[name])})' for name in names)}."
        for opening, names in told.items()
        if names
    ]
    sentences += [
        f"Calibration would take {arm} further from people on {name} ({_error(error.row())}), out of fold: its scores were "
        f"near theirs already, or the labels are too few. {name} is left as it is."
        for name, error in crossed.left_alone.items()
    ]
    whole = mine[mine["attribute"] == OVERALL].set_index("measure").to_dict("index")
    if whole:
        level = whole["offset"]
        sentences.append(
            f"Within attributes, over all that share a scale, {arm} stands {_apart(level['before'])} people before calibration "
            f"and {_apart(level['after'])} them after, out of fold ({_error(whole['rmse'])})."
        )
    return sentences


def direct_sentence(arm: str, change: Mapping[Any, Any]) -> str:
    """Whether it matters that the verdict, not each juror, is calibrated."""
    told = f"RMSE {_between(change)}, n = {change['n']} scores"
    if math.isnan(_direction(change)):
        return f"Whether {arm}'s verdict should be calibrated directly cannot be told: {change['note']}."
    if _direction(change) < 0:
        return f"Calibrating {arm}'s verdict directly comes nearer than calibrating each juror: {told}."
    if _direction(change) > 0:
        return f"Calibrating {arm}'s verdict directly comes less near than calibrating each juror: {told}."
    return f"Calibrating {arm}'s verdict directly, not each juror, makes no demonstrable difference: {told}."


def learning_sentence(arm: str, curve: pd.DataFrame) -> str:
    """How many labelled cases are enough."""
    few, most = enough(curve), int(curve["cases"].iloc[-1])
    if len(curve) < 3:
        return f"{most} labelled cases are too few to say how many would be enough for {arm}."
    if few is None:
        return f"{arm}'s error was still falling at {most} labelled cases, the most that a fold could learn from: label more."
    return (
        f"From {few} labelled cases on, {arm}'s calibrated error stays within {ENOUGH:.0%} of that with {most}, the most "
        "that a fold could learn from."
    )


def calibration_methods(crossed: Mapping[str, CrossValidation], *, seed: int) -> tuple[str, ...]:
    """The choices made, for the methods paragraph."""
    if not crossed:
        return ()
    first = next(iter(crossed.values()))
    folds = sorted({each.folds for each in crossed.values()})
    return (
        f"Labels are the {rule_words(first.labelled.rule)}.",
        f"Scores were calibrated to these labels by {first.calibrator.method} curves, one for each juror and attribute "
        "(repeats of a judge share one), straight between training scores and clipped to the scale; the jury's calibrated score "
        "is the mean of its calibrated jurors, where a verdict was reached. Composites follow from calibrated attributes.",
        f"Figures are out of fold ({' or '.join(map(str, folds))} folds, seed {seed}); cases of one group share a fold, so that no "
        "case is scored by curves that saw it or its group. 'Before' is the verdict as the jury counted it. Spearman's rho is of ranks "
        "within folds, before and after: each fold has curves of its own, which would part equal scores. Kappa with quadratic "
        "weights takes scores as they are, unrounded. Figures over several attributes are taken within each and then pooled, so that "
        "differences between the attributes' means count as no agreement.",
        "An attribute whose RMSE grows out of fold, with an interval above zero, is not calibrated: its scores stay as they are.",
        "Intervals resample the out-of-fold scores, not the fitting; where scores are calibrated already, fitting adds "
        "error, and the change in RMSE is a little above zero in truth.",
    )


def _error(error: Mapping[Any, Any]) -> str:
    change = "" if pd.isna(error["p"]) else f", change {_between(error)}"
    return (
        f"RMSE {error['before']:.2f} before and {error['after']:.2f} after{change}, n = {error['n']} scores"
    )


def _between(row: Mapping[Any, Any]) -> str:
    """A change with its interval, to a third place where the second would say nothing."""
    places = 2 if abs(row["change"]) >= 0.1 else 3
    change, low, high = (
        f"{round(row[name], places) + 0.0:+.{places}f}" for name in ("change", "low", "high")
    )
    return f"{change} on every case" if pd.isna(row["low"]) else f"{change}, 95% interval {low} to {high}"


def _direction(row: Mapping[Any, Any]) -> float:
    return shown_sign(row["change"], row["p"])


def _apart(offset: float) -> str:
    if pd.isna(offset):
        return "an unknown distance from"
    if abs(offset) < 0.005:
        return "level with"
    return f"{abs(offset):.2f} {'above' if offset > 0 else 'below'}"
