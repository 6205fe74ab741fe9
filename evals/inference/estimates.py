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
    """What is estimated: `mean`, `share of WORD`, `quantile 0.5`, `slope on COLUMN`, `A less B`."""
    found: Rectified
    jury_alone: Estimate
    cases: int
    design: str

    @property
    def sentence(self) -> str:
        """The estimate in words, and what the jury's scores were worth in labels."""
        made, alone = self.found.estimate, self.found.labels_alone
        if not made.defined:
            return f"{self.attribute}, {self.of}: not estimated: {made.note}."
        told = f"{self.attribute}, {self.of}: {estimate_phrase(made, bounds='.3f')}"
        worth = self.found.worth
        if alone.n >= self.cases:
            return (
                f"{told} from {alone.n} labels: every case has one, and nothing is left for the jury to add."
            )
        if math.isnan(worth):
            return f"{told} from {alone.n} labels and the jury."
        if worth < alone.n * 1.02:
            return f"{told}: the jury's scores add nothing to the {alone.n} labels."
        return f"{told}: {alone.n} labels and the jury are as good as {worth:.0f} labels alone."


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
        found = labelled_verdicts(store, human, rule=reference)
        numbers = {name: _case_numbers(store, name) for name in slopes}
    finally:
        if store is not run:
            store.release()
    chosen = found.arm(arm)
    other = found.arm(against) if against is not None else None
    estimates: list[RunEstimate] = []
    notes = list(found.notes)
    for name in found.attributes(chosen, attribute):
        table, told = _estimand(found.of(chosen.name, name), name)
        labelling, more = labelling_of(table, draw, _strata_ways(found, chosen, name, draw))
        notes += [*told, *more]
        if other is not None:
            estimates.append(_of_arms(found, chosen, other, name, table, labelling))
            continue
        for of, labels, scores, ends in _questions(found, name, table):
            asked = _Asked(name, of, labels, scores, ends, labelling)
            if systems is not None:
                estimates.append(_of_systems(asked, table, systems))
            elif quantiles or slopes:
                estimates += [_of_quantile(asked, share) for share in quantiles]
                estimates += [_of_slope(asked, table, column, values) for column, values in numbers.items()]
            else:
                estimates.append(asked.estimate(of, rectified_mean(labels, scores, labelling, ends=ends)))
    return RunEstimates(chosen.name, tuple(estimates), tuple(dict.fromkeys(notes)))


@dataclass(frozen=True, slots=True)
class _Asked:
    attribute: str
    of: str
    labels: FloatArray
    scores: FloatArray
    ends: tuple[float, float] | None
    labelling: Labelling

    def estimate(self, of: str, found: Rectified, jury: Estimate | None = None) -> RunEstimate:
        alone = jury_mean(self.scores, self.labelling) if jury is None else jury
        return RunEstimate(self.attribute, of, found, alone, len(self.labels), self.labelling.design)


def jury_mean(scores: FloatArray, labelling: Labelling) -> Estimate:
    """The mean of the scores as they are, which is of what the jury says and not of what people would."""
    heard = ~np.isnan(scores)
    if heard.sum() < 2:
        return undefined("the jury reached fewer than two verdicts", method=ALONE, n=int(heard.sum()))
    everyone = Labelling.random(heard, labelling.cluster)
    made = rectified_mean(scores, np.zeros(len(scores)), everyone, power=0.0).labels_alone
    return Estimate(made.value, made.low, made.high, made.n, ALONE, made.confidence, made.note, se=made.se)


def _strata_ways(found: LabelledVerdicts, arm: Arm, attribute: str, draw: pd.DataFrame | None) -> pd.Series:
    """By case, how the deliberation went on the attribute that the draw was made by; without a draw, on this one."""
    made_by = (arm.name, attribute)
    if draw is not None and draw["attribute"].iloc[0]:
        made_by = found.arm(draw["arm"].iloc[0] or None).name, draw["attribute"].iloc[0]
    return found.of(*made_by).set_index("case")["way"]


def _estimand(table: pd.DataFrame, attribute: str) -> tuple[pd.DataFrame, list[str]]:
    """The cases whose mean is estimated: all of them, or those with a verdict where no other has a label."""
    silent = table["status"] != "reached"
    number = int(silent.sum())
    if not number:
        return table, []
    if table.loc[silent, "reference"].notna().any():
        return table, [
            f"{attribute}: {number} verdicts are hung or not applicable; their cases are among those estimated, and the jury adds nothing there"
        ]
    kept = table[~silent].reset_index(drop=True)
    return kept, [
        f"{attribute}: {number} verdicts are hung or not applicable and none of their cases has a label: the estimate is of the "
        f"{len(kept)} cases with a verdict"
    ]


def _questions(
    found: LabelledVerdicts, name: str, table: pd.DataFrame
) -> list[tuple[str, FloatArray, FloatArray, tuple[float, float] | None]]:
    """What is estimated of an attribute: its mean; the share of the higher of two values; the share of each word."""
    scale = found.questions[name].scale
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


def _of_quantile(asked: _Asked, share: float) -> RunEstimate:
    found = rectified_quantile(asked.labels, asked.scores, asked.labelling, share)
    heard = asked.scores[~np.isnan(asked.scores)]
    value = float(np.quantile(heard, share, method="inverted_cdf")) if len(heard) else math.nan
    jury = Estimate(value, math.nan, math.nan, len(heard), ALONE)
    return asked.estimate(f"quantile {share:g}", found, jury)


def _of_slope(asked: _Asked, table: pd.DataFrame, column: str, numbers: dict[str, float]) -> RunEstimate:
    if asked.labelling.design != "random":
        raise VenireError(
            f"slopes are estimated from labels drawn at random, and these are {asked.labelling.design}",
            remedy="draw labels with --design random, or leave --slope out",
        )
    x = table["case"].map(numbers).to_numpy(float)
    known = ~np.isnan(x)
    if not known.any() or np.ptp(x[known]) == 0:
        raise VenireError(
            f"no case has a number {column!r}, or all have the same",
            remedy="name a number in the cases' metadata, or output_length",
        )
    columns = np.column_stack([np.ones(len(x)), np.where(known, x, 0.0)])
    labels, scores = (np.where(known, values, np.nan) for values in (asked.labels, asked.scores))
    found = rectified_slopes(labels, scores, columns, asked.labelling)[1]
    heard = known & ~np.isnan(scores)
    fit = np.linalg.lstsq(columns[heard], scores[heard], rcond=None)[0][1]
    jury = Estimate(float(fit), math.nan, math.nan, int(heard.sum()), ALONE)
    return asked.estimate(f"slope on {column}", found, jury)


def _of_systems(asked: _Asked, table: pd.DataFrame, systems: tuple[str, str]) -> RunEstimate:
    known = [str(name) for name in table["system"].dropna().unique()]
    for name in systems:
        if name not in known:
            raise VenireError(f"no case is of the system {name!r}", remedy=nearest(name, known) if known else "give cases a `system`")  # fmt: skip
    first, second = ((table["system"].astype(str) == name).to_numpy(bool) for name in systems)
    found = rectified_difference(asked.labels, asked.scores, asked.labelling, first, second)
    means = [np.nanmean(asked.scores[side]) if (~np.isnan(asked.scores[side])).any() else np.nan for side in (first, second)]  # fmt: skip
    jury = Estimate(float(means[0] - means[1]), math.nan, math.nan, int((first | second).sum()), ALONE)
    of = f"{systems[0]} less {systems[1]}"
    estimate = asked.estimate(of if asked.of == "mean" else f"{asked.of}, {of}", found, jury)
    return replace(estimate, cases=int((first | second).sum()))


def _of_arms(
    found: LabelledVerdicts, first: Arm, second: Arm, name: str, table: pd.DataFrame, labelling: Labelling
) -> RunEstimate:
    """How much further from people the first arm is: its error less the other's, in steps or as a share of wrong words.

    Where both say the same the difference is nothing without any label: where they differ is what the scores tell.
    """
    beside = found.of(second.name, name).set_index("case")["score"].reindex(table["case"]).to_numpy(float)
    mine, truth = table["score"].to_numpy(float), table["reference"].to_numpy(float)
    if found.questions[name].scale.ordered:
        gap = np.abs(mine - truth) - np.abs(beside - truth)
    else:
        gap = np.where(np.isnan(truth), np.nan, (mine != truth).astype(float) - (beside != truth))
    both = ~np.isnan(mine) & ~np.isnan(beside)
    gap = np.where(both, gap, np.nan)
    differ = np.where(both, (mine != beside).astype(float), np.nan)
    rectified = rectified_mean(gap, differ, labelling, clip=(-math.inf, math.inf))
    nothing = undefined("arms cannot judge themselves", method=ALONE, n=int(both.sum()))
    return RunEstimate(
        name,
        f"error of {first.name} less {second.name}",
        rectified,
        nothing,
        int(both.sum()),
        labelling.design,
    )


def _case_numbers(store: Store, column: str) -> dict[str, float]:
    """By case, the number of that name in its metadata, or how many words its output has."""
    found: dict[str, float] = {}
    for name in store.case_ids():
        case = store.case(name)
        if case is None:
            continue
        if column == "output_length" and not store.redacted:
            found[name] = float(len(case.output.split()))
            continue
        try:
            found[name] = float(case.metadata[column])
        except (KeyError, TypeError, ValueError):
            continue
    return found


def estimates_json(run: str, found: RunEstimates) -> dict[str, Any]:
    """The estimates as JSON; NaN is null, with a note."""
    sentences = [each.sentence for each in found.estimates]
    rows = list(map(_estimate_json, found.estimates))
    return answer_json(run, found.arm, "estimates", rows, sentences, found.notes)


def estimates_answer(found: RunEstimates) -> Section:
    """A row for each estimate: with the jury, labels alone, the jury alone, and what the jury is worth."""
    rows = [
        (
            each.attribute,
            each.of,
            estimate_words(each.found.estimate),
            estimate_words(each.found.labels_alone),
            estimate_words(each.jury_alone),
            each.found.labels_alone.n,
            "" if math.isnan(each.found.worth) else f"{each.found.worth:.0f}",
        )
        for each in found.estimates
    ]
    columns = ["attribute", "of", "labels and jury", "labels alone", "jury alone", "labels", "worth"]
    sentences = tuple(each.sentence for each in found.estimates)
    table = pd.DataFrame(rows, columns=columns)
    return Section("estimate", "What people would say", sentences, {"": table}, notes=found.notes)


def _estimate_json(each: RunEstimate) -> dict[str, Any]:
    worth, power = each.found.worth, each.found.power
    return {
        "attribute": each.attribute,
        "of": each.of,
        "estimate": estimate_json(each.found.estimate),
        "labels_alone": estimate_json(each.found.labels_alone),
        "jury_alone": estimate_json(each.jury_alone),
        "labels": each.found.labels_alone.n,
        "cases": each.cases,
        "design": each.design,
        "power": None if math.isnan(power) else power,
        "worth_in_labels": None if math.isnan(worth) else worth,
    }
