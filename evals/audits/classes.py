"""Class by class: F1, confusion and mean reward of every rater against people, as a part of a comparison."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ...rubrics.scale import Scale
from ..ratings.evidence import Evidence
from ..ratings.question import RewardTable, class_places
from ..ratings.score_tables import Sheet, lay_out
from ..report.charts import confusion_figure
from ..report.drawing import Figure
from ..report.section import Section, estimate_cells, estimate_phrase
from ..statistics.classification import (
    ABSTAINED,
    ClassAnswers,
    best_constant,
    class_scores,
    mean_reward,
    reward_over_constant,
)
from ..statistics.estimate import Estimate
from ..statistics.matrix import IntArray
from .audit import Audit

TITLE = "Class by class: F1, confusion matrix and reward"
PERFECT = "always right"
NO_ANSWER = "no answer"
METRICS = {"reward": "mean reward", "over_constant": "above the best constant", "accuracy": "accuracy", "f1_macro": "macro F1"}  # fmt: skip
_CAPTION = "{attribute}: each arm's scores (rows) against people's scores (columns). The shade of a cell is its share of the column."


@dataclass(frozen=True, slots=True)
class _Rater:
    """One rater's classes on the cases that it was asked about and people have a value for."""

    name: str
    kind: str
    answers: ClassAnswers

    @property
    def abstained(self) -> int:
        return int((self.answers.said == ABSTAINED).sum())


def classes_section(evidence: Evidence) -> Section | None:
    """Every attribute of a few classes that people rated; None where there is none."""
    sheet = lay_out(_with_hung_rows(evidence))
    sentences: list[str] = []
    scores: list[dict[str, object]] = []
    classes: list[dict[str, object]] = []
    confusion: list[dict[str, object]] = []
    figures: dict[str, Figure] = {}
    for name, question in sheet.questions.items():
        scale = question.scale
        if not _has_classes(scale) or sheet.reference(name).notna().sum() == 0:
            continue
        raters = list(_raters(sheet, evidence, name, scale))
        table = RewardTable.of(scale)
        constant = best_constant(raters[-1].answers.truth, table.worth) if table else 0
        scored: dict[str, dict[str, Estimate]] = {}
        for rater in raters:
            estimates = class_scores(rater.answers, len(scale.values))
            scored[rater.name] = {metric: estimates[metric] for metric in ("accuracy", "f1_macro")}
            if table is not None:
                cost = (table.worth, table.abstention)
                scored[rater.name] |= {
                    "reward": mean_reward(rater.answers, *cost),
                    "over_constant": reward_over_constant(rater.answers, *cost, constant),
                }
            start = {"attribute": name, "rater": rater.name, "kind": rater.kind}
            scores += [
                {
                    **start,
                    "metric": metric,
                    **estimate_cells(scored[rater.name][metric]),
                    "abstained": rater.abstained,
                }
                for metric in METRICS
                if metric in scored[rater.name]
            ]
            counts = rater.answers.counts(len(scale.values))
            classes += [
                {**start, "class": value, **_class_counts(counts, place), **_f1_cells(estimates[place])}
                for place, value in enumerate(scale.values)
            ]
            confusion += [
                {**start, "people_value": truth, "rater_value": answer, "count": int(counts[row, column])}
                for row, truth in enumerate(scale.values)
                for column, answer in enumerate((*scale.values, NO_ANSWER))
            ]
        sentences += _sentences(name, raters, scored, f"always {scale.values[constant]}" if table else None)
        figures[_CAPTION.format(attribute=name)] = confusion_figure(
            _arm_counts(confusion, name, sheet.arms, scale)
        )
    if not sentences:
        return None
    tables = {"scores": pd.DataFrame(scores), "classes": pd.DataFrame(classes), "confusion": pd.DataFrame(confusion)}  # fmt: skip
    methods = (
        "Class by class: a value between two classes counts as the nearer one, or as the lower one if it is in the middle. "
        "Arms and constants are compared with the reference of all people, and each person with the reference of the other people. "
        "A hung verdict counts as a miss in accuracy and F1. In the mean reward, it gets the reward that the scale's costs give to an abstention. "
        "Macro F1 is the unweighted mean of F1 over the classes that the rater or people used. Intervals: jackknife over cases or groups.",
    )
    return Section("classes", TITLE, tuple(sentences), tables, figures, methods)


def _with_hung_rows(evidence: Evidence) -> Evidence:
    """The evidence with a row without a value for each hung verdict: the case was heard, and has a reference."""
    if evidence.abstentions.empty:
        return evidence
    hung = evidence.abstentions[["case", "rater", "attribute"]]
    hung = hung.assign(value=pd.Series(np.nan, hung.index, object))
    return replace(evidence, arms=pd.concat([evidence.arms.astype({"value": object}), hung]))


def _has_classes(scale: Scale) -> bool:
    """Whether it is a scale of classes that are not two (they have a section of their own), or has costs."""
    return scale.level in ("ordinal", "nominal") or scale.costs is not None


def _raters(sheet: Sheet, evidence: Evidence, name: str, scale: Scale) -> Iterator[_Rater]:
    """The arms, the people (against each other), every constant, and last one who is always right."""
    rows = sheet.of(name)
    cluster = pd.factorize(rows["cluster"])[0].astype(np.int64)
    truth = class_places(sheet.reference(name), scale)
    hung = evidence.abstentions[evidence.abstentions["attribute"].astype(str) == name]

    def answers(places: IntArray, true_places: IntArray, is_asked: np.ndarray) -> ClassAnswers:
        use = is_asked & (true_places != ABSTAINED)
        return ClassAnswers(places[use], true_places[use], cluster[use])

    for arm in sheet.arms:
        places = class_places(rows[arm], scale)
        silent = set(hung.loc[hung["rater"] == arm, "case"].astype(str))
        asked = (places != ABSTAINED) | rows["case"].astype(str).isin(silent).to_numpy(bool)
        yield _Rater(arm, evidence.kinds[arm], answers(places, truth, asked))
    for person in sheet.people if len(sheet.people) > 1 else ():
        places = class_places(rows[person], scale)
        peer_places = class_places(sheet.reference(name, without=person), scale)
        yield _Rater(person, "person", answers(places, peer_places, places != ABSTAINED))
    everywhere = np.ones(len(rows), dtype=bool)
    for place, value in enumerate(scale.values):
        constant = np.full(len(rows), place, dtype=np.int64)
        yield _Rater(f"always {value}", "constant", answers(constant, truth, everywhere))
    yield _Rater(PERFECT, "ceiling", answers(truth, truth, everywhere))


def _sentences(
    name: str, raters: list[_Rater], scored: dict[str, dict[str, Estimate]], constant: str | None
) -> Iterator[str]:
    for rater in raters:
        if rater.kind in ("person", "constant", "ceiling"):
            continue
        evaluator, estimates = rater.name, scored[rater.name]
        if not estimates["accuracy"].defined:
            yield f"{name}: {evaluator} and people have no case in common."
            continue
        silence = (
            f"; no answer on {rater.abstained} of {len(rater.answers.said)} cases" if rater.abstained else ""
        )
        paid = f"mean reward {estimate_phrase(estimates['reward'])}, " if constant else ""
        yield (
            f"{name}: {evaluator} has {paid}macro F1 {estimate_phrase(estimates['f1_macro'])} and accuracy "
            f"{estimate_phrase(estimates['accuracy'])} against people, n = {estimates['accuracy'].n} cases{silence}."
        )
        if constant and (gain := estimates["over_constant"]).defined:
            doubt = "" if gain.low > 0 or gain.high < 0 else ", which is not statistically significant"
            comparative = "more" if gain.value >= 0 else "less"
            size = f"{abs(gain.value):.3f} {comparative}" + ("" if math.isnan(gain.low) else f" ({gain.low:+.2f} to {gain.high:+.2f})")  # fmt: skip
            yield f"{name}: {evaluator} earns {size} reward per case than always answering {constant!r}{doubt}."
    if constant:
        earnings = [
            f"{rater.name} earns {scored[rater.name]['reward'].value:.3f}"
            for rater in raters
            if rater.kind in ("constant", "ceiling")
        ]
        people = [f"{r.name} {scored[r.name]['reward'].value:.3f}" for r in raters if r.kind == "person"]
        people_words = f". Each person scored against the other people: {', '.join(people)}" if people else ""
        yield f"{name}: mean reward by the costs of its scale: {', '.join(earnings)}{people_words}. The best constant answer is {constant!r}."


def _class_counts(counts: IntArray, place: int) -> dict[str, int]:
    hit = int(counts[place, place])
    return {"by_people": int(counts[place].sum()), "by_rater": int(counts[:, place].sum()), "both": hit}


def _f1_cells(estimate: Estimate) -> dict[str, object]:
    return {"f1": estimate.value, "low": estimate.low, "high": estimate.high, "note": estimate.note}


def _arm_counts(
    confusion: list[dict[str, object]], name: str, arms: tuple[str, ...], scale: Scale
) -> pd.DataFrame:
    """The counts of one attribute's arms as the figure takes them, without what was not answered."""
    table = pd.DataFrame([row for row in confusion if row["attribute"] == name and row["rater"] in arms])
    table = table[table["rater_value"].isin(list(scale.values))]
    return table.rename(columns={"rater": "arm", "rater_value": "arm_value"})


CLASSES = Audit("classes", lambda inputs, draws: classes_section(inputs.evidence), 6)
