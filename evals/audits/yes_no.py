"""Yes-or-no questions as a part of a comparison: each rater against people's majority, and against each other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from ...rubrics.rubric import Rubric
from ...rubrics.scale import Scale
from ..ratings.evidence import Evidence
from ..ratings.folds import cluster_numbers
from ..report.charts import forest_figure
from ..report.drawing import Figure
from ..report.section import Section, estimate_cells, estimate_phrase
from ..statistics.chance import fleiss_kappa
from ..statistics.classification import YES_NO_METRICS, YesNoMetric, yes_no_estimates
from ..statistics.estimate import Estimate
from ..statistics.proportion import wilson
from .audit import Audit

TITLE = "Yes-or-no questions: agreement with the majority of people"
MAJORITY = "majority of people"
METHODS: tuple[YesNoMetric, ...] = ("accuracy", "f1", "kappa")
"""What the figure of methods has a panel for."""
_CAPTION = (
    "Each arm and each person compared with the majority of people on {attribute}: accuracy, F1 and Cohen's kappa with 95% intervals. Each "
    "person's own answer counts in the majority."
)


@dataclass(frozen=True, slots=True)
class _Answers:
    """Everyone's answers to one question: a row a case, a column a rater, NaN where there is none."""

    table: pd.DataFrame
    people: tuple[str, ...]
    arms: tuple[str, ...]
    cluster: pd.Series

    @property
    def raters(self) -> tuple[str, ...]:
        return MAJORITY, *self.people, *self.arms


def yes_no_section(evidence: Evidence) -> Section | None:
    """Every binary question that people answered; None where there is none."""
    rated_names = set(evidence.people["attribute"].astype(str))
    scales = {
        name: question.scale
        for name, question in evidence.questions.items()
        if question.scale.level == "binary" and name in rated_names
    }
    if not scales:
        return None
    sentences: list[str] = []
    metrics: list[dict[str, object]] = []
    pairs: list[dict[str, object]] = []
    people: list[dict[str, object]] = []
    figures: dict[str, Figure] = {}
    for name, scale in scales.items():
        answers = _answers(evidence, name, scale)
        estimates_by_rater = {rater: _against(answers, rater, MAJORITY) for rater in answers.raters}
        for rater, estimates in estimates_by_rater.items():
            start = {"attribute": name, "rater": rater, "kind": _kind(rater, evidence, answers)}
            counts = _counts(answers, rater)
            metrics += [
                {**start, **counts, "metric": metric, **estimate_cells(estimate)}
                for metric, estimate in estimates.items()
            ]
        for one, two in combinations(answers.raters, 2):
            kappa = _against(answers, one, two, ("kappa",))["kappa"]
            pairs.append({"attribute": name, "first": one, "second": two, **estimate_cells(kappa)})
        row, words = _panel(answers, name)
        people.append(row)
        sentences += [*words, *_sentences(name, answers, estimates_by_rater)]
        shown_estimates: dict[str, dict[str, Estimate]] = {
            r: {m: estimates_by_rater[r][m] for m in METHODS} for r in estimates_by_rater if r != MAJORITY
        }
        if any(estimate.defined for of in shown_estimates.values() for estimate in of.values()):
            figures[_CAPTION.format(attribute=name)] = forest_figure(
                shown_estimates, f"{name}, against the majority of people"
            )
    conditional, conditional_sentences = _conditional(evidence)
    tables = {
        "metrics": pd.DataFrame(metrics),
        "pairs": pd.DataFrame(pairs),
        "people": pd.DataFrame(people),
        **({"conditional": conditional} if len(conditional) else {}),
    }
    methods = (
        "Yes-or-no questions: the reference is the value that more than half of the people gave; a tie has no reference. "
        "Intervals of accuracy, sensitivity, specificity, precision, recall, F1 and Cohen's kappa are jackknife intervals over cases or groups. "
        "Kappa's interval is computed on Fisher's z scale. The intervals of the other figures are Wilson intervals for the effective number of cases: the number that gives the jackknife's standard error. Shares of 0 or 1 have plain Wilson intervals.",
    )
    return Section("yes_no", TITLE, (*sentences, *conditional_sentences), tables, figures, methods)


def _answers(evidence: Evidence, name: str, scale: Scale) -> _Answers:
    """Truth values of everyone on one question, the majority of people a rater of its own."""

    def of(table: pd.DataFrame) -> pd.DataFrame:
        rows = table[table["attribute"].astype(str) == name].astype({"case": str, "rater": str})
        yes = [_truth(value, scale) for value in rows["value"]]
        return rows.assign(yes=pd.Series(yes, rows.index, float)).pivot(
            index="case", columns="rater", values="yes"
        )

    people, arms = of(evidence.people), of(evidence.arms)
    is_judged = people.index.isin(set(evidence.arms["case"].astype(str)))
    people = people[is_judged]
    mean = people.mean(axis=1)
    majority = pd.Series(np.where(mean == 0.5, np.nan, mean > 0.5).astype(float), people.index).where(
        mean.notna()
    )
    table = people.join(arms, how="left").assign(**{MAJORITY: majority})
    cluster = pd.Series(
        cluster_numbers(pd.Series(table.index, dtype=object), evidence.groups), table.index, dtype=np.int64
    )
    return _Answers(table, tuple(map(str, people.columns)), tuple(map(str, arms.columns)), cluster)


def _truth(value: object, scale: Scale) -> float:
    """1 for the higher value of the scale, 0 for the lower; NaN for what lies halfway, as a tied jury's mean does."""
    low, high = scale.ends
    if isinstance(low, str) or isinstance(high, str):
        return float(str(value) == str(high)) if str(value) in (str(low), str(high)) else math.nan
    number = _number(value)
    middle = (float(low) + float(high)) / 2
    return math.nan if math.isnan(number) or number == middle else float(number > middle)


def _against(
    answers: _Answers, rater: str, reference: str, metrics: Sequence[YesNoMetric] = YES_NO_METRICS
) -> dict[YesNoMetric, Estimate]:
    predicted, actual = (answers.table[name].to_numpy(float) for name in (rater, reference))
    has_both = ~np.isnan(predicted + actual)
    return yes_no_estimates(
        predicted[has_both] > 0, actual[has_both] > 0, answers.cluster.to_numpy(np.int64)[has_both], metrics
    )


def _counts(answers: _Answers, rater: str) -> dict[str, int]:
    majority = answers.table[MAJORITY]
    answered = answers.table[rater]
    has_both = answered.notna() & majority.notna()
    yes, truly = answered[has_both] > 0, majority[has_both] > 0
    return {
        "tp": int((yes & truly).sum()),
        "fp": int((yes & ~truly).sum()),
        "fn": int((~yes & truly).sum()),
        "tn": int((~yes & ~truly).sum()),
    }


def _panel(answers: _Answers, name: str) -> tuple[dict[str, object], list[str]]:
    """How far the people agree among themselves: Fleiss' kappa, and how often all of them say the same."""
    people_answers = answers.table[list(answers.people)]
    row: dict[str, object] = {
        "attribute": name,
        "people": len(answers.people),
        "cases": len(people_answers),
        "yes_by_majority": int((answers.table[MAJORITY] == 1).sum()),
        "no_by_majority": int((answers.table[MAJORITY] == 0).sum()),
        "tied": int((people_answers.notna().any(axis=1) & answers.table[MAJORITY].isna()).sum()),
    }
    if len(answers.people) < 2:
        return row, [f"{name}: only one person answered, so agreement among people cannot be measured."]
    long = people_answers.reset_index().melt("case", var_name="rater", value_name="value").dropna()
    fleiss = fleiss_kappa(long)
    full = people_answers.dropna()
    same = int((full.nunique(axis=1) == 1).sum())
    low, high = wilson(same / len(full), len(full), 0.95) if len(full) else (math.nan, math.nan)
    row |= {
        "fleiss": fleiss.value, "fleiss_low": fleiss.low, "fleiss_high": fleiss.high, "fleiss_n": fleiss.n,
        "unanimous": same, "rated_by_all": len(full),
        "unanimous_share": same / len(full) if len(full) else math.nan,
        "unanimous_low": low, "unanimous_high": high,
    }  # fmt: skip
    coefficients = (
        f"Fleiss' kappa {estimate_phrase(fleiss)}"
        if fleiss.defined
        else f"Fleiss' kappa is undefined ({fleiss.note})"
    )
    share = (
        f"; all of them gave the same answer on {same} of the {len(full)} cases that all of them answered ({same / len(full):.1%})"
        if len(full)
        else ""
    )
    return row, [
        f"{name}: agreement among {len(answers.people)} people on {fleiss.n} cases: {coefficients}{share}."
    ]


def _sentences(
    name: str, answers: _Answers, estimates_by_rater: Mapping[str, Mapping[YesNoMetric, Estimate]]
) -> Iterator[str]:
    for arm in answers.arms:
        own = estimates_by_rater[arm]
        if not own["accuracy"].defined:
            yield f"{name}: {arm} and people's majority have no case in common."
            continue
        counts = _counts(answers, arm)
        yes_answers, no_answers = counts["tp"] + counts["fp"], counts["tn"] + counts["fn"]
        figures = ", ".join(
            f"{metric} {estimate_phrase(own[metric])}" for metric in YES_NO_METRICS if metric != "recall"
        )
        yield (
            f"{name}: {arm} compared with the majority of people: {figures}. {arm} said yes {yes_answers} times ({counts['tp']} right, "
            f"{counts['fp']} wrong) and no {no_answers} times ({counts['tn']} right, {counts['fn']} wrong)."
        )


def _conditional(evidence: Evidence) -> tuple[pd.DataFrame, list[str]]:
    """People's answers to questions that are asked only where another has a certain answer: shares with Wilson's interval."""
    rubric_by_name: dict[str, Rubric] = {}
    for rubric in evidence.rubrics.values():
        for attribute in rubric.attributes:
            if attribute.asked_if:
                rubric_by_name.setdefault(attribute.name, rubric)
    rows: list[dict[str, object]] = []
    sentences: list[str] = []
    for name, rubric in rubric_by_name.items():
        answers = _where_asked(evidence.people, name, rubric)
        if answers.empty:
            continue
        for rater, values in (("all", answers["value"]), *answers.groupby("rater")["value"]):
            rows += _shares(name, str(rater), values, rubric.scale_of(name))
        conditions = ", ".join(f"{c} is {v}" for c, v in rubric.by_name[name].asked_if.items())
        shares = ", ".join(
            f"{row['value']} {row['share']:.1%} ({row['low']:.1%} to {row['high']:.1%})"
            for row in rows
            if row["attribute"] == name and row["rater"] == "all"
        )
        sentences.append(
            f"{name} (asked only if {conditions}): people gave {len(answers)} answers: {shares}."
        )
    return pd.DataFrame(rows), sentences


def _where_asked(people: pd.DataFrame, name: str, rubric: Rubric) -> pd.DataFrame:
    """The answers to a conditional question of those people who themselves gave what it is asked on."""
    answers = people[people["attribute"].astype(str) == name]
    for condition, required_value in rubric.by_name[name].asked_if.items():
        conditions = people[people["attribute"].astype(str) == condition]
        gave = {
            (str(case), str(rater))
            for case, rater, value in conditions[["case", "rater", "value"]].itertuples(index=False)
            if _same(value, required_value)
        }
        at = [
            (str(case), str(rater)) in gave
            for case, rater in answers[["case", "rater"]].itertuples(index=False)
        ]
        answers = answers[at]
    return answers


def _shares(name: str, rater: str, values: pd.Series, scale: Scale) -> list[dict[str, object]]:
    legal: Sequence[object] = scale.values or sorted(set(values))
    rows: list[dict[str, object]] = []
    for value in legal:
        times, n = sum(_same(answer, value) for answer in values), len(values)
        low, high = wilson(times / n, n, 0.95)
        rows.append(
            {"attribute": name, "rater": rater, "value": value, "count": times, "n": n, "share": times / n, "low": low, "high": high}
        )  # fmt: skip
    return rows


def _same(answer: object, value: object) -> bool:
    if isinstance(value, str):
        return str(answer) == value
    return _number(answer) == _number(value)


def _number(value: object) -> float:
    """A value as a number; NaN where it is none."""
    try:
        return float(str(value))
    except ValueError:
        return math.nan


def _kind(rater: str, evidence: Evidence, answers: _Answers) -> str:
    if rater == MAJORITY:
        return "majority"
    return "person" if rater in answers.people else evidence.kinds[rater]


YES_NO = Audit("yes_no", lambda inputs, draws: yes_no_section(inputs.evidence), 5)
