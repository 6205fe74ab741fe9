"""Metrics against people: does a metric call worse what people call severe?"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ...rubrics.rubric import Rubric
from ..ratings.folds import cluster_numbers
from ..ratings.people import check_ratings, last_round, without_stray_words
from ..ratings.question import Question, assumed_question, rubric_questions
from ..ratings.reference import Rule, reference
from ..statistics.roc import Tracking, severity_tracking
from .measuring import MeasuredMetric, TextPair

Sign = Literal["+", "-"]


@dataclass(frozen=True, slots=True)
class PeopleLabels:
    """What people say of each case, and which end of it is the bad one."""

    attribute: str
    values: Mapping[str, float]
    """By case."""
    severe: float
    """People's worst value."""
    none: float
    """Their best."""
    assumed: bool
    """Whether the bad end was taken to be the high one, as no rubric said."""
    notes: tuple[str, ...] = ()
    """What of the ratings could not be used."""

    @property
    def worse(self) -> Literal["high", "low"]:
        return "high" if self.severe > self.none else "low"


@dataclass(frozen=True, slots=True)
class TrackedMetric:
    """A metric and how it follows people."""

    metric: MeasuredMetric
    tracking: Tracking

    @property
    def expected(self) -> Sign:
        """The sign of delta and tau in a metric that follows severity: plus for an error rate."""
        return "+" if self.metric.direction == "low" else "-"

    def has_wrong_sign(self, value: float) -> bool:
        return not math.isnan(value) and value != 0 and (value > 0) != (self.expected == "+")


def people_labels(
    ratings: pd.DataFrame,
    *,
    attribute: str | None = None,
    rubric: Rubric | None = None,
    rule: Rule | None = None,
    cases: Collection[str] | None = None,
) -> PeopleLabels:
    """One value a case from people's ratings of one attribute.

    Args:
        attribute: May be left out where there is only one.
        cases: The ids of the cases; without them, ratings of any case are kept.
        rubric: Says which end of the scale is good; without it the highest value is taken for the worst.
    """
    names = sorted(set(last_round(ratings)["attribute"].astype(str)))
    if attribute is None and len(names) != 1:
        raise VenireError(
            f"people rated {len(names)} attributes", remedy=f"choose one with --attribute: {', '.join(names)}"
        )
    name = attribute or names[0]
    if name not in names:
        raise VenireError(f"no person rated {name!r}", remedy=nearest(name, names))
    questions = rubric_questions(rubric) if rubric is not None else {}
    rows = ratings
    stray: tuple[str, ...] = ()
    if rubric is None:
        # Nobody said what else was asked, nor on which scales.
        rows, stray = without_stray_words(ratings[ratings["attribute"].astype(str) == name])
    question = _question(rows, name, rubric)
    if not question.scale.ordered:
        raise VenireError(
            f"the values of {name!r} have no order",
            remedy="choose an attribute with an order from good to bad",
        )
    usable, check = check_ratings(rows, {**questions, name: question}, cases=cases)
    table = reference(usable[usable["attribute"].astype(str) == name], {name: question}, rule=rule).table
    low, high = map(float, question.scale.ends)
    severe, none = (high, low) if rubric is None or question.better == "low" else (low, high)
    values = dict(zip(table["case"].astype(str), table["value"].astype(float), strict=True))
    return PeopleLabels(name, values, severe, none, rubric is None, (*stray, *check.notes))


def _question(ratings: pd.DataFrame, name: str, rubric: Rubric | None) -> Question:
    if rubric is not None:
        questions = rubric_questions(rubric)
        if name not in questions:
            raise VenireError(f"the rubric has no attribute {name!r}", remedy=nearest(name, questions))
        return questions[name]
    question = assumed_question(ratings["value"], None)
    if question is None:
        raise VenireError(
            f"people gave every case the same value of {name!r}",
            remedy="give ratings that differ between cases",
        )
    return question


def track(
    metrics: Sequence[MeasuredMetric], pairs: Sequence[TextPair], labels: PeopleLabels
) -> list[TrackedMetric]:
    """How each metric follows people; cases of one group are left out together."""
    cases = pd.Series([pair.case for pair in pairs], dtype=object)
    cluster = cluster_numbers(cases, {pair.case: pair.group for pair in pairs})
    turn = 1.0 if labels.worse == "high" else -1.0
    severity = turn * np.array([labels.values.get(pair.case, np.nan) for pair in pairs], dtype=float)
    return [
        TrackedMetric(
            metric,
            severity_tracking(
                np.array([metric.values[case] for case in cases], dtype=float),
                severity,
                cluster,
                severe=turn * labels.severe,
                none=turn * labels.none,
                low_is_good=metric.direction == "low",
            ),
        )
        for metric in metrics
    ]


def risk_table(metrics: Sequence[MeasuredMetric], worse: str, better: str) -> pd.DataFrame:
    """Whether each metric calls the first case worse than the second: `metric`, the two values, `aligned`."""
    rows = []
    for metric in metrics:
        for case in (worse, better):
            if case not in metric.values:
                raise VenireError(f"no case {case!r}", remedy=nearest(case, metric.values))
        worse_value, better_value = metric.values[worse], metric.values[better]
        gap = worse_value - better_value if metric.direction == "low" else better_value - worse_value
        aligned = "undefined" if math.isnan(gap) else "yes" if gap > 0 else "tie" if gap == 0 else "no"
        rows.append((metric.name, metric.family, metric.direction, worse_value, better_value, aligned))
    return pd.DataFrame(rows, columns=["metric", "family", "direction", "worse", "better", "aligned"])
