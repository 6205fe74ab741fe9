"""What calibration changed, arm by arm: tables, curves, sentences and methods, as a part of a comparison."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..ratings.evidence import Evidence, attribute_label
from ..ratings.pooling import OVERALL, Pooling, pooling
from ..ratings.reference import rule_words
from ..report.drawing import (
    INK,
    Figure,
    Picture,
    below,
    beside,
    caption,
    clip,
    in_rows,
    legend,
    series_colour,
)
from ..report.panel import DASHED, Axis, Panel, Tick, level, number_axis, padded_range
from ..report.section import Section
from ..statistics.draws import Draws
from ..statistics.significance import shown_sign
from .calibrator import ENOUGH, FOLDS, CrossValidation, JuryCalibrator, cross_validate, enough, learning_curve
from .changes import changes
from .labelled_scores import TooFewLabels, labelled_scores

SIDES = ("before", "after", "people")
ALL_LABELS = "all"
"""In place of a fold's number: learned from every labelled case."""
SIDE, ACROSS = 170, 4
ALL_FOLDS = "all"
"""The fold that leaves nothing out."""


def crossed_pooling(crossed: CrossValidation) -> Pooling:
    """The attributes that `overall` pools, of those that were calibrated."""
    return pooling(crossed.labelled.questions, set(crossed.scores["attribute"]))


def changes_table(crossed: CrossValidation, *, jurors: bool) -> pd.DataFrame:
    """One row for each evaluator, attribute and measure: before, after, and the change, with intervals.

    The evaluator is the arm and each of its jurors: these overall, or attribute by attribute if `jurors`.
    """
    arm, scores = crossed.labelled.arm, crossed.scores
    pooled = crossed_pooling(crossed)
    parts = [(arm, OVERALL, pooled.rows(scores, SIDES))]
    parts += [
        (arm, attribute_label(str(name)), mine) for name, mine in scores.groupby("attribute", sort=False)
    ]
    if not crossed.labelled.direct:
        for juror, votes in by_juror(crossed).groupby("juror", sort=False):
            # A seat may have its jury's name; the verdict is still told from its votes.
            evaluator = str(juror) if juror != arm else f"{arm} (juror)"
            pooled_votes = pooled.rows(votes, SIDES)
            parts += [(evaluator, OVERALL, pooled_votes)] if len(pooled_votes) else []
            if jurors:
                parts += [
                    (evaluator, attribute_label(str(name)), mine)
                    for name, mine in votes.groupby("attribute", sort=False)
                ]
    rows = [
        {"arm": arm, "evaluator": evaluator, "attribute": attribute, **change.row()}
        for evaluator, attribute, mine in parts
        for change in changes(mine)
    ]
    return pd.DataFrame(rows)


def by_juror(crossed: CrossValidation) -> pd.DataFrame:
    """What each juror gave each attribute of each case, repeats averaged, before and after calibration."""
    keys = ["case", "cluster", "fold", "juror", "attribute"]
    grouped = crossed.votes.rename(columns={"value": "before"}).groupby(keys, sort=False)
    return grouped[list(SIDES)].mean().reset_index()


def curves_table(crossed: CrossValidation) -> pd.DataFrame:
    """Each juror's curve for each attribute, by fold and from all labels: `arm`, `attribute`, `juror`, `fold`, `score`, `people`."""
    calibrators: dict[str, JuryCalibrator] = {
        **{str(number): calibrator for number, calibrator in enumerate(crossed.by_fold)},
        ALL_LABELS: crossed.calibrator,
    }
    votes_by_pair = {
        pair: votes.to_numpy(float) for pair, votes in crossed.votes.groupby(["juror", "attribute"])["value"]
    }
    parts = []
    for fold, calibrator in calibrators.items():
        for (juror, attribute), curve in calibrator.curves_.items():
            low, high = crossed.labelled.ends[attribute]
            at = np.unique(np.append(votes_by_pair.get((juror, attribute), ()), [low, high]))
            at = at if len(at) <= 41 else np.linspace(low, high, 41)
            key = (crossed.labelled.arm, attribute, juror, fold)
            parts += [(*key, *point) for point in zip(at, curve.predict(at), strict=True)]
    return pd.DataFrame(parts, columns=["arm", "attribute", "juror", "fold", "score", "people"])


def change_sentences(table: pd.DataFrame, crossed: CrossValidation) -> list[str]:
    """Which attributes calibration brought nearer to people, left alone or did not change; then offset and error over all."""
    arm = crossed.labelled.arm
    arm_rows = table[(table["evaluator"] == arm) & (table["arm"] == arm)]
    errors = {
        str(row["attribute"]): row
        for row in arm_rows[arm_rows["measure"] == "rmse"].to_dict("records")
        if row["attribute"] not in (OVERALL, *crossed.left_alone)
    }
    names_by_opening = {
        f"Calibration brings {arm} nearer to people, out of fold, on": [
            name for name, error in errors.items() if _direction(error) < 0
        ],
        f"Calibration takes {arm} further from people, out of fold, on": [
            name for name, error in errors.items() if _direction(error) > 0
        ],
        f"Calibration is not shown to change {arm}'s error on": [
            name for name, error in errors.items() if _direction(error) == 0
        ],
        f"There are too few cases to test whether calibration helped {arm} on": [
            name for name, error in errors.items() if math.isnan(_direction(error))
        ],
    }
    sentences = [
        f"{opening} {', '.join(f'{name} ({_error(errors[name])})' for name in names)}."
        for opening, names in names_by_opening.items()
        if names
    ]
    sentences += [
        f"Calibration would take {arm} further from people on {name} ({_error(error.row())}), out of fold: its scores were "
        f"already near people's, or the labels are too few. So {name} is not calibrated."
        for name, error in crossed.left_alone.items()
    ]
    overall = arm_rows[arm_rows["attribute"] == OVERALL].set_index("measure").to_dict("index")
    if overall:
        level = overall["offset"]
        sentences.append(
            f"Over all attributes that share a scale, {arm} is {_apart(level['before'])} people before calibration "
            f"and {_apart(level['after'])} them after, out of fold ({_error(overall['rmse'])})."
        )
    return sentences


def direct_sentence(arm: str, change: Mapping[Any, Any]) -> str:
    """Whether it matters that the verdict, not each juror, is calibrated."""
    size = f"change in RMSE {_between(change)}, n = {change['n']} scores"
    if math.isnan(_direction(change)):
        return f"It cannot be tested whether calibrating {arm}'s verdict is better than calibrating each juror: {change['note']}."
    if _direction(change) < 0:
        return f"Calibrating {arm}'s verdict itself brings it nearer to people than calibrating each juror: {size}."
    if _direction(change) > 0:
        return f"Calibrating {arm}'s verdict itself leaves it further from people than calibrating each juror: {size}."
    return f"Calibrating {arm}'s verdict itself, instead of each juror, is not shown to make a difference: {size}."


def learning_sentence(arm: str, curve: pd.DataFrame) -> str:
    """How many labelled cases are enough."""
    sufficient, available = enough(curve), int(curve["cases"].iloc[-1])
    if len(curve) < 3:
        return f"{available} labelled cases are too few to say how many labelled cases would be enough to calibrate {arm}."
    if sufficient is None:
        return f"{arm}'s error was still falling at {available} labelled cases, the most that one fold could be trained on: label more cases."
    return (
        f"With {sufficient} labelled cases or more, {arm}'s error after calibration stays within {ENOUGH:.0%} of its error with {available} cases, the most "
        "that one fold could be trained on."
    )


def calibration_methods(crossed: Mapping[str, CrossValidation], *, seed: int) -> tuple[str, ...]:
    """The choices made, for the methods paragraph."""
    if not crossed:
        return ()
    example = next(iter(crossed.values()))
    folds = sorted({c.folds for c in crossed.values()})
    return (
        f"The label of a case is the {rule_words(example.labelled.rule)}.",
        f"Scores were calibrated to people's labels by {example.calibrator.method} curves, one for each juror and attribute. "
        "Repeats of a judge share one curve. Curves are straight between training scores and clipped to the scale. The jury's calibrated score "
        "is the mean of its calibrated jurors, if a verdict was reached. Composites are computed from calibrated attributes.",
        f"Figures are out of fold ({' or '.join(map(str, folds))} folds, seed {seed}). Cases of one group share a fold, so no "
        "case is scored by curves that saw it or its group. 'Before' is the verdict as the jury counted it, without calibration. Spearman's rho ranks scores "
        "within folds, before and after, because every fold has its own curves. Kappa with quadratic "
        "weights uses unrounded scores. Figures over several attributes are computed within each attribute and then pooled, so "
        "differences between the attributes' means do not count as agreement.",
        "If calibration raises an attribute's RMSE out of fold, with an interval above zero, the attribute is left uncalibrated: its scores stay unchanged.",
        "For the intervals, each case or group is left out of the out-of-fold scores in turn, without fitting the curves again. If scores are already calibrated, fitting adds a "
        "little error, so the true change in RMSE is slightly above zero.",
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
    return f"{abs(offset):.2f} points {'above' if offset > 0 else 'below'}"


def curves_figure(curves: pd.DataFrame) -> Figure:
    """A square an attribute: the juror's score across, people's up; thin lines leave one fold out, thick ones none."""
    blocks: list[Picture] = []
    for arm, arm_curves in curves.groupby("arm", sort=False):
        jurors = list(dict.fromkeys(arm_curves["juror"]))
        squares = [
            _square(str(attribute), attribute_curves, jurors)
            for attribute, attribute_curves in arm_curves.groupby("attribute", sort=False)
        ]
        head = beside(
            [
                caption(clip(str(arm), 40), bold=True),
                legend([clip(juror, 24) for juror in jurors], lines=True),
            ],
            gap=4,
        )
        top_row, *lower_rows = in_rows(level(squares), ACROSS)
        blocks += [below([head, top_row]), *lower_rows]
    return Figure("Calibration curves by fold", blocks)


def _square(attribute: str, attribute_curves: pd.DataFrame, jurors: list[str]) -> Panel:
    low, high = float(attribute_curves["score"].min()), float(attribute_curves["score"].max())
    x, y = (number_axis(low, high, title=title, lines=True) for title in ("juror's score", "people's"))
    panel = Panel(x, y, SIDE, SIDE, title=clip(attribute, 26))
    panel.line([(low, low), (high, high)], INK, width=1, dashes=DASHED)
    curves: dict[tuple[str, str], list[tuple[float, float]]] = {}
    columns = (attribute_curves[name].tolist() for name in ("juror", "fold", "score", "people"))
    for juror, fold, score, people in zip(*columns, strict=True):
        curves.setdefault((juror, fold), []).append((score, people))
    for (juror, fold), points in curves.items():
        panel.curve(points, jurors.index(juror), width=2.5 if fold == ALL_FOLDS else 0.8)
    return panel


def learning_figure(curves: pd.DataFrame) -> Figure:
    """Labelled cases across, each step as wide as its ratio; the error up, from the lowest that was met."""
    arms = list(dict.fromkeys(curves["arm"]))
    low, high = padded_range([*curves["rmse"], *curves["low"], *curves["high"]], least=0.01)
    y = number_axis(max(low, 0.0), high, title="RMSE out of fold", lines=True)
    panel = Panel(_sizes(sorted(set(curves["cases"]))), y, 490, 266)
    for number, arm in enumerate(arms):
        rows, colour = curves[curves["arm"] == arm], series_colour(number)
        shift = (number - (len(arms) - 1) / 2) * 5
        panel.line(zip(rows["cases"], rows["rmse"], strict=True), colour, shift=shift)
        for row in rows.to_dict("records"):
            panel.whisker_upright(
                row["cases"], row["rmse"], row["low"], row["high"], colour, radius=3.5, shift=shift
            )
        panel.words(rows["cases"].iloc[-1], rows["rmse"].iloc[-1], clip(arm), shift=(shift + 12, 4))
    return Figure("How many labelled cases are enough", [panel.picture()])


def _sizes(sizes: list[int]) -> Axis:
    """Sizes on a logarithmic axis, each with its number where there is room for it."""
    ticks = list[Tick]()
    for size in sizes:
        share = math.log(sizes[-1] * 1.001 / sizes[0]) * 0.055
        if not ticks or math.log(size / ticks[-1].at) > share:
            ticks.append(Tick(size, str(size)))
    return Axis(sizes[0], sizes[-1] * 1.001, tuple(ticks), "labelled cases learned from", log=True)


def cross_validate_arms(evidence: Evidence, draws: Draws) -> tuple[dict[str, CrossValidation], list[str]]:
    """Every arm that can be calibrated, out of fold; and why the others cannot."""
    crossed: dict[str, CrossValidation] = {}
    refusals: list[str] = []
    for arm in evidence.kinds:
        if arm in evidence.calibrated:
            continue
        try:
            crossed[arm] = cross_validate(labelled_scores(evidence, arm), folds=FOLDS, seed=draws.seed)
        except TooFewLabels as refusal:
            refusals.append(refusal.problem)
    return crossed, refusals


def calibration_section(
    found: dict[str, CrossValidation], refusals: list[str], draws: Draws, *, jurors: bool = False
) -> Section:
    """Every arm before and after, with `jurors` each of its jurors by attribute too; where no arm could be calibrated, why."""
    sentences, tables, figures = [f"{_sentence(reason)}" for reason in refusals], {}, {}
    if found:
        change_table = pd.concat(
            [changes_table(crossed, jurors=jurors) for crossed in found.values()], ignore_index=True
        )
        curves = pd.concat([curves_table(crossed) for crossed in found.values()], ignore_index=True)
        learned = {
            arm: learning_curve(crossed, seed=draws.seed)
            for arm, crossed in found.items()
            if set(crossed.left_alone) < set(crossed.votes["attribute"])
        }
        direct = _directly(found, draws)
        direct_rmse = {str(row["arm"]): row for row in direct.to_dict("records") if row["measure"] == "rmse"}
        arm_sentences = []
        for arm, crossed in found.items():
            arm_sentences += change_sentences(change_table, crossed)
            arm_sentences += [direct_sentence(arm, direct_rmse[arm])] if arm in direct_rmse else []
            arm_sentences += [learning_sentence(arm, learned[arm])] if arm in learned else []
        sentences = [*arm_sentences, *sentences]
        tables = {
            "changes": change_table,
            "direct": direct,
            "learning": pd.concat(learned.values(), ignore_index=True) if learned else pd.DataFrame(),
            "curves": curves,
        }
        figures = {
            "Calibration curves: the people's score that each juror's score corresponds to, learned without each fold in turn (thin) "
            "and from all labels (thick); dashed: a juror who needs no calibration.": curves_figure(curves)
        }
        if learned:
            figures[
                "Out-of-fold error against the number of labelled cases that curves were learned from; bars hold the middle "
                "90% over random draws of that many cases."
            ] = learning_figure(tables["learning"])
    notes = dict.fromkeys(note for crossed in found.values() for note in crossed.notes)
    return Section(
        name="calibration",
        title="Calibration to people",
        sentences=tuple(sentences),
        tables=tables,
        figures=figures,
        methods=calibration_methods(found, seed=draws.seed),
        notes=tuple(notes),
    )


def _directly(found: dict[str, CrossValidation], draws: Draws) -> pd.DataFrame:
    """For each arm of several jurors, verdicts calibrated directly against the mean of calibrated jurors."""
    rows: list[dict[str, object]] = []
    names = ("by_juror", "directly")
    for arm, cross in found.items():
        if cross.labelled.direct or cross.votes["juror"].nunique() < 2:
            continue
        direct = cross_validate(
            cross.labelled.directly(), method=cross.calibrator.method, folds=cross.folds, seed=draws.seed
        )
        directly = direct.scores[["case", "attribute", "after"]].rename(columns={"after": "directly"})
        pairs = cross.scores.rename(columns={"after": "by_juror"}).merge(directly, on=["case", "attribute"])
        pairs = crossed_pooling(cross).rows(pairs, (*names, "people"))
        rows += [
            {"arm": arm, "attribute": OVERALL, **change.row(names)} for change in changes(pairs, sides=names)
        ]
    return pd.DataFrame(rows)


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:].rstrip(".") + "."
