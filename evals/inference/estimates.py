"""People's mean over a run's cases, a share, a quantile, a slope or a difference, from few labels and all of the jury's scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...orchestration.record import Arm, Store
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ..ratings.reference import Rule
from ..report.section import Section, answer_json, estimate_json, estimate_phrase
from ..report.terminal import estimate_words
from ..statistics.estimate import Estimate, undefined
from ..statistics.matrix import FloatArray
from .labelled_verdicts import LabelledVerdicts, labelled_verdicts
from .labelling import Labelling, labelling_of
from .prediction_powered import (
    FEWEST,
    Rectified,
    rectified_difference,
    rectified_mean,
    rectified_quantile,
    rectified_slopes,
)

ALONE = "jury alone, uncorrected"


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """One estimate: from labels and jury, from labels alone, and what the jury alone would have said."""

    attribute: str
    of: str
    """What is estimated: `mean`, `share of WORD`, `quantile 0.5`, `slope on COLUMN`, `A minus B`."""
    found: Rectified
    jury_alone: Estimate
    cases: int
    design: str

    @property
    def sentence(self) -> str:
        """The estimate in words, and what the jury's scores were worth in labels."""
        estimate, labels = self.found.estimate, self.found.labels_alone
        if not estimate.defined:
            return f"{self.attribute}, {self.of}: no estimate can be made: {estimate.note}."
        estimate_words = f"{self.attribute}, {self.of}: {estimate_phrase(estimate, bounds='.3f')}"
        worth = self.found.worth
        if labels.n >= self.cases:
            return (
                f"{estimate_words} from {labels.n} labels: every case has a label, so the jury adds nothing."
            )
        if math.isnan(worth):
            return f"{estimate_words} from {labels.n} labels and the jury."
        if worth < labels.n * 1.02:
            return f"{estimate_words}: the jury's scores add nothing to the {labels.n} labels."
        return f"{estimate_words}: {labels.n} labels and the jury's scores are as precise as {worth:.0f} labels alone."


@dataclass(frozen=True, slots=True)
class RunEstimates:
    """All estimates asked for of one arm."""

    arm: str
    estimates: tuple[RunEstimate, ...]
    notes: tuple[str, ...]


def run_estimates(
    run: Store | Path | str,
    human: pd.DataFrame,
    *,
    arm: str | None = None,
    attribute: str | None = None,
    draw: pd.DataFrame | None = None,
    quantiles: Sequence[float] = (),
    slopes: Sequence[str] = (),
    systems: tuple[str, str] | None = None,
    against: str | None = None,
    reference: Rule | None = None,
) -> RunEstimates:
    """Estimates of what people would say of all cases of a run.

    Args:
        draw: How the labels were drawn, as `draw_labels` gave it; without it they are taken as drawn at random.
        quantiles: In place of means.
        slopes: Numbers of cases (in their metadata, or `output_length`) that people's scores are regressed on, one by one.
        systems: Whose mean less whose; cases of one group are paired.
        against: Another arm: how much further from people the first is than this one.

    Raises:
        VenireError: There is no such arm, attribute, system or number.
    """
    store = run if isinstance(run, Store) else Store.read(run)
    try:
        verdicts = labelled_verdicts(store, human, rule=reference)
        numbers = {name: _case_numbers(store, name) for name in slopes}
    finally:
        if store is not run:
            store.release()
    main_arm = verdicts.arm(arm)
    rival_arm = verdicts.arm(against) if against is not None else None
    estimates: list[RunEstimate] = []
    notes = list(verdicts.notes)
    for name in verdicts.attributes(main_arm, attribute):
        table, table_notes = _estimand(verdicts.of(main_arm.name, name), name)
        labelling, draw_notes = labelling_of(table, draw, _strata_ways(verdicts, main_arm, name, draw))
        notes += [*table_notes, *draw_notes]
        if rival_arm is not None:
            estimates.append(_of_arms(verdicts, main_arm, rival_arm, name, table, labelling))
            continue
        for of, labels, scores, ends in _questions(verdicts, name, table):
            query = _Asked(name, of, labels, scores, labelling)
            if systems is not None:
                estimates.append(_of_systems(query, table, systems))
            elif quantiles or slopes:
                estimates += [_of_quantile(query, share) for share in quantiles]
                estimates += [_of_slope(query, table, column, values) for column, values in numbers.items()]
            else:
                estimates.append(query.estimate(of, rectified_mean(labels, scores, labelling, ends=ends)))
    return RunEstimates(main_arm.name, tuple(estimates), tuple(dict.fromkeys(notes)))


@dataclass(frozen=True, slots=True)
class _Asked:
    attribute: str
    of: str
    labels: FloatArray
    scores: FloatArray
    labelling: Labelling

    def estimate(self, of: str, found: Rectified, jury: Estimate | None = None) -> RunEstimate:
        jury_alone = jury_mean(self.scores, self.labelling) if jury is None else jury
        return RunEstimate(self.attribute, of, found, jury_alone, len(self.labels), self.labelling.design)


def jury_mean(scores: FloatArray, labelling: Labelling) -> Estimate:
    """The mean of the scores as they are, which is of what the jury says and not of what people would."""
    reached = ~np.isnan(scores)
    groups = len(np.unique(labelling.cluster[reached]))
    if groups < FEWEST:
        return undefined(
            f"the jury reached a verdict on too few cases or groups ({groups}): {FEWEST} are needed",
            method=ALONE,
            n=int(reached.sum()),
        )
    everyone = Labelling.random(reached, labelling.cluster)
    mean = rectified_mean(scores, np.zeros(len(scores)), everyone, power=0.0).labels_alone
    return Estimate(mean.value, mean.low, mean.high, mean.n, ALONE, mean.confidence, mean.note, se=mean.se)


def _strata_ways(labels: LabelledVerdicts, arm: Arm, attribute: str, draw: pd.DataFrame | None) -> pd.Series:
    """By case, how the deliberation went on the attribute that the draw was made by; without a draw, on this one."""
    made_by = (arm.name, attribute)
    if draw is not None and draw["attribute"].iloc[0]:
        made_by = labels.arm(draw["arm"].iloc[0] or None).name, draw["attribute"].iloc[0]
    return labels.of(*made_by).set_index("case")["way"]


def _estimand(table: pd.DataFrame, attribute: str) -> tuple[pd.DataFrame, list[str]]:
    """The cases whose mean is estimated: all of them, or those with a verdict where no other has a label."""
    silent = table["status"] != "reached"
    number = int(silent.sum())
    if not number:
        return table, []
    if table.loc[silent, "reference"].notna().any():
        return table, [
            f"{attribute}: {number} verdicts are hung or not applicable; their cases are part of the estimate, but the jury adds no information about these cases"
        ]
    judged = table[~silent].reset_index(drop=True)
    return judged, [
        f"{attribute}: {number} verdicts are hung or not applicable and none of their cases has a label: the estimate is for the other "
        f"{len(judged)} cases with a verdict"
    ]


def _questions(
    verdicts: LabelledVerdicts, name: str, table: pd.DataFrame
) -> list[tuple[str, FloatArray, FloatArray, tuple[float, float] | None]]:
    """What is estimated of an attribute: its mean; the share of the higher of two values; the share of each word."""
    scale = verdicts.questions[name].scale
    labels, scores = table["reference"].to_numpy(float), table["score"].to_numpy(float)
    if scale.ordered and scale.level != "binary":
        low, high = (float(end) for end in scale.ends)
        return [("mean", labels, scores, (low, high))]
    values = list(scale.values) if scale.numeric else sorted(map(str, scale.values))
    numbers = (
        [float(value) for value in values] if scale.numeric else [float(at) for at in range(len(values))]
    )
    if scale.level == "binary":
        values, numbers = values[-1:], numbers[-1:]
    return [
        (
            f"share of {value}",
            np.where(np.isnan(labels), np.nan, labels == number),
            np.where(np.isnan(scores), np.nan, scores == number),
            (0.0, 1.0),
        )
        for value, number in zip(values, numbers, strict=True)
    ]


def _of_quantile(question: _Asked, share: float) -> RunEstimate:
    rectified = rectified_quantile(question.labels, question.scores, question.labelling, share)
    scores = question.scores[~np.isnan(question.scores)]
    value = float(np.quantile(scores, share, method="inverted_cdf")) if len(scores) else math.nan
    jury = Estimate(value, math.nan, math.nan, len(scores), ALONE)
    return question.estimate(f"quantile {share:g}", rectified, jury)


def _of_slope(question: _Asked, table: pd.DataFrame, column: str, numbers: dict[str, float]) -> RunEstimate:
    if question.labelling.design != "random":
        raise VenireError(
            f"--slope needs cases that were drawn at random, but these were drawn by the design {question.labelling.design}",
            remedy="draw the cases to label with --design random, or leave out --slope",
        )
    x = table["case"].map(numbers).to_numpy(float)
    has_number = ~np.isnan(x)
    if not has_number.any() or np.ptp(x[has_number]) == 0:
        raise VenireError(
            f"{column!r} is not a number in any case, or has the same value in all",
            remedy="give the name of a numeric metadata field that varies, or output_length",
        )
    columns = np.column_stack([np.ones(len(x)), np.where(has_number, x, 0.0)])
    labels, scores = (np.where(has_number, values, np.nan) for values in (question.labels, question.scores))
    rectified = rectified_slopes(labels, scores, columns, question.labelling)[1]
    usable = has_number & ~np.isnan(scores)
    fit = np.linalg.lstsq(columns[usable], scores[usable], rcond=None)[0][1]
    jury = Estimate(float(fit), math.nan, math.nan, int(usable.sum()), ALONE)
    return question.estimate(f"slope on {column}", rectified, jury)


def _of_systems(query: _Asked, table: pd.DataFrame, systems: tuple[str, str]) -> RunEstimate:
    names = [str(name) for name in table["system"].dropna().unique()]
    for name in systems:
        if name not in names:
            raise VenireError(f"no case was written by the system {name!r}", remedy=nearest(name, names) if names else "give cases a `system`")  # fmt: skip
    side_a, side_b = ((table["system"].astype(str) == name).to_numpy(bool) for name in systems)
    rectified = rectified_difference(query.labels, query.scores, query.labelling, side_a, side_b)
    means = [np.nanmean(query.scores[side]) if (~np.isnan(query.scores[side])).any() else np.nan for side in (side_a, side_b)]  # fmt: skip
    jury = Estimate(float(means[0] - means[1]), math.nan, math.nan, int((side_a | side_b).sum()), ALONE)
    of = f"{systems[0]} minus {systems[1]}"
    estimate = query.estimate(of if query.of == "mean" else f"{query.of}, {of}", rectified, jury)
    return replace(estimate, cases=int((side_a | side_b).sum()))


def _of_arms(
    verdicts: LabelledVerdicts, arm: Arm, rival: Arm, name: str, table: pd.DataFrame, labelling: Labelling
) -> RunEstimate:
    """How much further from people the first arm is: its error less the other's, in steps or as a share of wrong words.

    Where both say the same the difference is nothing without any label: where they differ is what the scores tell.
    """
    theirs = verdicts.of(rival.name, name).set_index("case")["score"].reindex(table["case"]).to_numpy(float)
    scores, truth = table["score"].to_numpy(float), table["reference"].to_numpy(float)
    if verdicts.questions[name].scale.ordered:
        gap = np.abs(scores - truth) - np.abs(theirs - truth)
    else:
        gap = np.where(np.isnan(truth), np.nan, (scores != truth).astype(float) - (theirs != truth))
    shared = ~np.isnan(scores) & ~np.isnan(theirs)
    gap = np.where(shared, gap, np.nan)
    differ = np.where(shared, (scores != theirs).astype(float), np.nan)
    rectified = rectified_mean(gap, differ, labelling, clip=(-math.inf, math.inf))
    jury_alone = undefined(
        "without people's labels the errors of arms are unknown", method=ALONE, n=int(shared.sum())
    )
    return RunEstimate(
        name,
        f"error of {arm.name} minus {rival.name}",
        rectified,
        jury_alone,
        int(shared.sum()),
        labelling.design,
    )


def _case_numbers(store: Store, column: str) -> dict[str, float]:
    """By case, the number of that name in its metadata, or how many words its output has."""
    numbers: dict[str, float] = {}
    for name in store.case_ids():
        case = store.case(name)
        if case is None:
            continue
        if column == "output_length" and not store.redacted:
            numbers[name] = float(len(case.output.split()))
            continue
        try:
            numbers[name] = float(case.metadata[column])
        except (KeyError, TypeError, ValueError):
            continue
    return numbers


def estimates_json(run: str, found: RunEstimates) -> dict[str, Any]:
    """The estimates as JSON; NaN is null, with a note."""
    sentences = [e.sentence for e in found.estimates]
    rows = list(map(_estimate_json, found.estimates))
    return answer_json(run, found.arm, "estimates", rows, sentences, found.notes)


def estimates_answer(found: RunEstimates) -> Section:
    """A row for each estimate: with the jury, labels alone, the jury alone, and what the jury is worth."""
    rows = [
        (
            e.attribute,
            e.of,
            estimate_words(e.found.estimate),
            estimate_words(e.found.labels_alone),
            estimate_words(e.jury_alone),
            e.found.labels_alone.n,
            "" if math.isnan(e.found.worth) else f"{e.found.worth:.0f}",
        )
        for e in found.estimates
    ]
    columns = [
        "attribute",
        "estimate",
        "labels and jury",
        "labels alone",
        "jury alone",
        "labels",
        "equivalent labels",
    ]
    sentences = tuple(e.sentence for e in found.estimates)
    table = pd.DataFrame(rows, columns=columns)
    return Section("estimate", "What people would say", sentences, {"": table}, notes=found.notes)


def _estimate_json(e: RunEstimate) -> dict[str, Any]:
    worth, power = e.found.worth, e.found.power
    return {
        "attribute": e.attribute,
        "of": e.of,
        "estimate": estimate_json(e.found.estimate),
        "labels_alone": estimate_json(e.found.labels_alone),
        "jury_alone": estimate_json(e.jury_alone),
        "labels": e.found.labels_alone.n,
        "cases": e.cases,
        "design": e.design,
        "power": None if math.isnan(power) else power,
        "worth_in_labels": None if math.isnan(worth) else worth,
    }
