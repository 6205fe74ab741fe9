"""The cut-off that turns a score into yes or no: a run's scores beside people's answers, the choice inside folds, its optimism."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from rich.table import Table

from ...orchestration.counting.claims import MEASURES, SHARE_NAMES
from ...orchestration.reading.export import verdicts
from ...orchestration.record import Arm, Store
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ...rubrics.scale import Scale
from ..ratings.folds import cluster_numbers, folds
from ..ratings.people import check_ratings, without_stray_words
from ..ratings.question import Question, rubric_questions
from ..ratings.reference import reference
from ..report.section import estimate_json, records
from ..statistics.classification import YES_NO_METRICS, YesNoMetric, yes_no_estimates, yes_no_values
from ..statistics.draws import Draws
from ..statistics.estimate import Estimate
from ..statistics.jackknife import Jackknife
from ..statistics.matrix import FloatArray, IntArray
from ..statistics.roc import roc_auc, roc_curve
from .figures import cards, case_groups

_ZERO_OR_ONE = Question(Scale(level="binary", anchors={0: "No", 1: "Yes"}), "high")


class LabelledCases(NamedTuple):
    """Cases that have both a score and a majority of people, in order."""

    cases: list[str]
    scores: FloatArray
    truth: npt.NDArray[np.bool_]
    cluster: IntArray
    arm: str
    attribute: str
    fixed: float
    """The threshold in the jury file; of a score that is no share of claims, the middle of its scale."""
    notes: tuple[str, ...]


def labelled_cases(
    store: Store, human: pd.DataFrame, score: str, *, arm: str | None = None, attribute: str | None = None
) -> LabelledCases:
    """The run's `score` of each case, and what most people say of its yes-or-no `attribute`.

    Args:
        score: An attribute of the rubric; of a run that checked claims also any measure or share of them.
        attribute: People's question; the only one of two values, unless it is named.

    Raises:
        VenireError: There is no such arm, score or question, or nothing in common.
    """
    chosen_arm = _arm(store, arm, score)
    scores = _scores(store, chosen_arm, score)
    name, question = _yes_no_question(human, attribute, chosen_arm)
    judged = list(dict.fromkeys(verdict.case for _, verdict in verdicts(store, arm=chosen_arm.name)))
    usable, check = check_ratings(
        human, {**rubric_questions(chosen_arm.rubric), name: question}, cases=judged
    )
    answers = reference(usable[usable["attribute"].astype(str) == name], {name: question})
    high = question.scale.ends[1]
    truth = {
        str(case): str(value) == str(high) if isinstance(high, str) else float(value) == float(high)
        for case, value in zip(answers.table["case"], answers.table["value"], strict=True)
    }
    shared = [case for case in scores if case in truth]
    if not shared:
        raise VenireError(
            f"no case has both {score!r} of {chosen_arm.name} and people's answer to {name!r}",
            remedy="check that the ratings use the run's case ids",
        )
    notes = [*check.notes, *answers.notes]
    if missing := len(set(judged) - scores.keys()):
        notes.append(f"{_cases(missing)} left out, because the jury is hung or there is no {score}")
    if missing := len(scores.keys() - truth.keys()):
        notes.append(f"{_cases(missing)} left out, because people have no majority")
    return LabelledCases(
        shared,
        np.array([scores[case] for case in shared]),
        np.array([truth[case] for case in shared]),
        cluster_numbers(pd.Series(shared, dtype=object), case_groups(store)),
        chosen_arm.name,
        name,
        _fixed_threshold(chosen_arm, score),
        tuple(notes),
    )


def _cases(count: int) -> str:
    return "1 case" if count == 1 else f"{count} cases"


def _arm(store: Store, arm: str | None, score: str) -> Arm:
    arms = store.arms()
    if arm is not None and arm not in [a.name for a in arms]:
        raise VenireError(f"no arm named {arm!r} in this run", remedy=nearest(arm, [a.name for a in arms]))
    candidates = [a for a in arms if arm in (None, a.name)]
    match = next((a for a in candidates if score in _known_scores(a)), None)
    if match is None:
        names = dict.fromkeys(name for a in candidates for name in _known_scores(a))
        raise VenireError(f"no score named {score!r} in this run", remedy=nearest(score, names))
    return match


def _known_scores(arm: Arm) -> list[str]:
    claims = (*MEASURES, *SHARE_NAMES) if arm.jury.protocol == "decompose-verify" else ()
    ordered_names = [name for name in arm.rubric.names if arm.rubric.scale_of(name).ordered]
    return list(dict.fromkeys((*ordered_names, *arm.rubric.composites, *arm.rubric.reversed_names, *claims)))


def _scores(store: Store, arm: Arm, score: str) -> dict[str, float]:
    """By case; a case without the score is not there."""
    if arm.jury.protocol == "decompose-verify" and score in (*MEASURES, *SHARE_NAMES):
        values: dict[str, object] = {}
        for verdict, card in cards(store, arm, arm.jury.claims):
            shares = card.findings
            if score in MEASURES:
                values[verdict.case] = shares.measure(score).value
            elif shares.measure("precision").value is not None:
                values[verdict.case] = getattr(shares.of, score)
    else:
        values = {}
        for _, verdict in verdicts(store, arm=arm.name, written=True):
            outcome = verdict.outcomes.get(score)
            values[verdict.case] = outcome.value if outcome else verdict.derived.get(score)
    return {case: float(value) for case, value in values.items() if isinstance(value, int | float)}


def _fixed_threshold(arm: Arm, score: str) -> float:
    if arm.jury.protocol == "decompose-verify" and score in (*MEASURES, *SHARE_NAMES):
        return arm.jury.claims.threshold
    scales = {name: arm.rubric.scale_of(name) for name in arm.rubric.names}
    middles = {name: sum(map(float, scale.ends)) / 2 for name, scale in scales.items() if scale.ordered}
    # What is derived is a sum: its middle is made of the others' middles.
    return {**middles, **arm.rubric.derived_scores(middles)}[score]


def _yes_no_question(human: pd.DataFrame, attribute: str | None, arm: Arm) -> tuple[str, Question]:
    """The question of two values that people answered: as the rubric has it, else answered by 0 and 1."""
    names = human["attribute"].astype(str)
    if attribute is not None and attribute not in set(names):
        raise VenireError(f"people did not rate {attribute!r}", remedy=nearest(attribute, sorted(set(names))))
    questions = rubric_questions(arm.rubric)
    yes_no: dict[str, Question] = {}
    for name in dict.fromkeys(names) if attribute is None else [attribute]:
        if name in questions:
            question: Question | None = questions[name]
        else:
            numbers = pd.to_numeric(without_stray_words(human[names == name])[0]["value"], errors="coerce")
            question = _ZERO_OR_ONE if numbers.isin([0, 1]).all() else None
        if question is not None and question.scale.level == "binary":
            yes_no[name] = question
    if len(yes_no) != 1:
        several = f"{len(yes_no)} of the questions that people answered have just two values (0 and 1, or the rubric's own two), but the threshold is chosen for exactly one question"
        raise VenireError(
            f"{attribute!r} is not a yes-or-no question: its answers are not 0 and 1"
            if attribute
            else several,
            remedy="name the yes-or-no question with --attribute",
        )
    return next(iter(yes_no.items()))


BoolArray = npt.NDArray[np.bool_]
Aim = Literal["kappa", "f1", "youden", "costs"]
FOLDS = 10
_SCORE, _TRUTH = "score", "people"


class Costs(NamedTuple):
    """What a wrong yes and a wrong no cost."""

    false_positive: float
    false_negative: float


@dataclass(frozen=True, slots=True)
class ThresholdArm:
    """One way to decide, and how its answers stand against people's."""

    name: str
    """`chosen in folds`, `chosen on all cases`, or `fixed at X`."""
    thresholds: tuple[float, ...]
    """The cut-off of each fold that has one, or the one of all."""
    metrics: Mapping[YesNoMetric, Estimate]
    counts: tuple[int, int, int, int]
    """True positives, false positives, false negatives, true negatives."""
    cost: float | None
    """Mean cost of a case, where costs are given."""


@dataclass(frozen=True, slots=True)
class ThresholdReport:
    """A cut-off, what it is worth on cases it was not chosen on, and how much better it looked on its own."""

    score: str
    aim: Aim
    threshold: float
    """Chosen on all cases: the one to use."""
    out_of_fold: ThresholdArm
    in_sample: ThresholdArm
    fixed: ThresholdArm
    auc: Estimate
    roc: pd.DataFrame
    """Columns `threshold`, `false_positive_rate`, `true_positive_rate`."""
    cases: int
    groups: int
    positives: int
    folds: int
    notes: tuple[str, ...] = ()

    @property
    def arms(self) -> tuple[ThresholdArm, ...]:
        return self.out_of_fold, self.in_sample, self.fixed

    @property
    def optimism(self) -> dict[YesNoMetric, float]:
        """How much better each metric looks on the cases that the cut-off was chosen on."""
        inside, outside = self.in_sample.metrics, self.out_of_fold.metrics
        return {name: inside[name].value - outside[name].value for name in inside}


def threshold_report(
    scores: FloatArray,
    truth: BoolArray,
    cluster: IntArray,
    *,
    score: str = _SCORE,
    aim: Aim = "kappa",
    costs: Costs | None = None,
    fixed: float = 0.8,
    number: int = FOLDS,
    draws: Draws | None = None,
    notes: tuple[str, ...] = (),
) -> ThresholdReport:
    """The cut-off that serves `aim` best, chosen on all cases, and what choosing one is worth on cases left out.

    In each fold a cut-off is chosen on the others and applied to it; groups of cases stay whole. A case is yes where its
    score is at or above the cut-off. Cut-offs lie halfway between neighbouring scores; of several that are equally good
    the middle one is taken.

    Raises:
        VenireError: There are fewer than four groups of cases, or people give one answer throughout.
    """
    seeded = draws or Draws()
    groups = len(np.unique(cluster))
    if groups < 4:
        raise VenireError(
            f"{groups} cases (or groups of cases) with a score and people's answer are too few to choose a threshold",
            remedy="give four or more cases or groups",
        )
    if truth.all() or not truth.any():
        raise VenireError(
            f"people answered {'yes' if truth.all() else 'no'} for every case",
            remedy="give ratings that answer yes for some cases and no for others",
        )
    aim = "costs" if costs is not None else aim
    threshold = best_threshold(scores, truth, aim, costs)
    parts = folds(cluster, number, seeded.rng())
    answers, has_answer = np.zeros(len(scores), dtype=bool), np.zeros(len(scores), dtype=bool)
    cuts: list[float] = []
    for part in parts:
        cut = best_threshold(scores[part.chosen_on], truth[part.chosen_on], aim, costs)
        if not np.isnan(cut):
            answers[part.held_out], has_answer[part.held_out] = scores[part.held_out] >= cut, True
            cuts.append(cut)
    if unanswered := int((~has_answer).sum()):
        notes = (
            *notes,
            f"{unanswered} of {len(scores)} cases have no answer out of fold: without these cases people give only one "
            f"answer, so no threshold has a defined {aim}",
        )

    def arm(
        name: str, thresholds: tuple[float, ...], yes: BoolArray, rows: BoolArray | None = None
    ) -> ThresholdArm:
        rows = np.ones(len(yes), dtype=bool) if rows is None else rows
        counts = _counts(yes[rows], truth[rows])
        spent = None if costs is None else (costs[0] * counts[1] + costs[1] * counts[2]) / sum(counts)
        metrics = yes_no_estimates(yes[rows], truth[rows], cluster[rows])
        return ThresholdArm(name, thresholds, metrics, counts, spent)

    table = _pairs(scores, truth, cluster)
    raters = (_SCORE, _TRUTH)
    return ThresholdReport(
        score=score,
        aim=aim,
        threshold=threshold,
        out_of_fold=arm("chosen in folds", tuple(cuts), answers, has_answer),
        in_sample=arm("chosen on all cases", (threshold,), scores >= threshold),
        fixed=arm(f"fixed at {fixed:g}", (fixed,), scores >= fixed - 1e-9),
        auc=roc_auc(table, raters=raters, jackknife=Jackknife(by="cluster")),
        roc=roc_curve(table, raters=raters),
        cases=len(scores),
        groups=groups,
        positives=int(truth.sum()),
        folds=len(parts),
        notes=notes,
    )


def best_threshold(scores: FloatArray, truth: BoolArray, aim: Aim, costs: Costs | None = None) -> float:
    """The cut-off that serves `aim` best on these cases; of several, the middle one; NaN where none has a value of it."""
    values = np.unique(scores)
    cuts = np.concatenate([[values[0]], (values[1:] + values[:-1]) / 2, [np.nextafter(values[-1], np.inf)]])
    yes = scores[None, :] >= cuts[:, None]
    tp, fp = (yes & truth).sum(axis=1), (yes & ~truth).sum(axis=1)
    fn, tn = truth.sum() - tp, (~truth).sum() - fp
    metrics = yes_no_values(tp, fp, fn, tn)
    if aim == "costs":
        assert costs is not None
        worth = -(costs.false_positive * fp + costs.false_negative * fn).astype(float)
    elif aim == "youden":
        worth = metrics["sensitivity"] + metrics["specificity"] - 1
    else:
        worth = metrics[aim]
    if np.isnan(worth).all():
        return np.nan
    equal = np.flatnonzero(worth >= np.nanmax(worth) - 1e-12)
    return float(cuts[equal[len(equal) // 2]])


def _counts(yes: BoolArray, truth: BoolArray) -> tuple[int, int, int, int]:
    return (
        int((yes & truth).sum()),
        int((yes & ~truth).sum()),
        int((~yes & truth).sum()),
        int((~yes & ~truth).sum()),
    )


def _pairs(scores: FloatArray, truth: BoolArray, cluster: IntArray) -> pd.DataFrame:
    """Scores and people's answers as two raters, for the ROC."""
    cases = np.arange(len(scores))
    parts = [
        pd.DataFrame({"case": cases, "rater": rater, "value": values, "cluster": cluster})
        for rater, values in ((_SCORE, scores), (_TRUTH, truth.astype(float)))
    ]
    return pd.concat(parts, ignore_index=True)


_SHOWN = tuple(name for name in YES_NO_METRICS if name != "recall")


def threshold_json(run: str, found: LabelledCases, report: ThresholdReport) -> dict[str, Any]:
    """The report as JSON; NaN is null, with a note."""
    return {
        "run": run,
        "arm": found.arm,
        "score": report.score,
        "attribute": found.attribute,
        "maximise": report.aim,
        "threshold": report.threshold,
        "cases": report.cases,
        "groups": report.groups,
        "positives": report.positives,
        "folds": report.folds,
        "out_of_fold": _arm_json(report.out_of_fold),
        "in_sample": _arm_json(report.in_sample),
        "fixed": _arm_json(report.fixed),
        "optimism": {
            name: value if math.isfinite(value) else None for name, value in report.optimism.items()
        },
        "auc": estimate_json(report.auc),
        "roc": records(report.roc),
        "notes": list(report.notes),
    }


def threshold_table(report: ThresholdReport) -> Table:
    """A row for each metric: out of fold, on the cases it was chosen on, the optimism, and the fixed threshold."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("", "out of fold", "chosen on all cases", "optimism", report.fixed.name):
        table.add_column(column)
    for name in _SHOWN:
        optimism = report.optimism[name]
        table.add_row(
            name,
            _cell(report.out_of_fold.metrics[name]),
            _cell(report.in_sample.metrics[name]),
            f"{optimism:+.3f}" if math.isfinite(optimism) else "",
            _cell(report.fixed.metrics[name]),
        )
    if report.out_of_fold.cost is not None:
        table.add_row(
            "cost per case", *(f"{arm.cost:.3f}" for arm in report.arms[:2]), "", f"{report.fixed.cost:.3f}"
        )
    return table


def threshold_lines(found: LabelledCases, report: ThresholdReport) -> list[str]:
    """What was chosen, on what, and how well the score ranks."""
    cuts = report.out_of_fold.thresholds
    cut_range = f"{min(cuts):.3f} to {max(cuts):.3f}" if cuts else "none"
    grouped = f" in {report.groups} groups" if report.groups < report.cases else ""
    return [
        f"{report.score} of {found.arm} against people's {found.attribute}: {report.cases} cases{grouped}; people say yes on {report.positives} of the cases",
        f"the threshold {report.threshold:.3f} has the best {report.aim} on all cases; thresholds chosen with one of {report.folds} folds left out: {cut_range}",
        f"ROC AUC {_cell(report.auc)}",
        *(f"note: {note}" for note in report.notes),
    ]


def _arm_json(arm: ThresholdArm) -> dict[str, Any]:
    tp, fp, fn, tn = arm.counts
    return {
        "name": arm.name,
        "thresholds": list(arm.thresholds),
        "counts": {"tp": tp, "fp": fp, "fn": fn, "tn": tn},
        **{name: estimate_json(estimate) for name, estimate in arm.metrics.items()},
        **({} if arm.cost is None else {"cost": arm.cost}),
    }


def _cell(estimate: Estimate) -> str:
    if not estimate.defined:
        return "undefined"
    interval = f" ({estimate.low:.2f} to {estimate.high:.2f})" if math.isfinite(estimate.low) else ""
    return f"{estimate.value:.3f}{interval}"
