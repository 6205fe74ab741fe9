"""Every metric of every case: read, normalised, measured, with a note wherever there is no value; and does a metric call worse what people call severe?"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from ...rubrics.errors import InvalidFile, MissingExtra, VenireError
from ...rubrics.files import nearest
from ...rubrics.plugins import BrokenPlugin
from ...rubrics.rows import cell_number, read_rows
from ...rubrics.rubric import Rubric
from ..ratings.folds import cluster_numbers
from ..ratings.people import check_ratings, last_round, without_stray_words
from ..ratings.question import Question, assumed_question, rubric_questions
from ..ratings.reference import Rule, reference
from ..statistics.roc import Tracking, severity_tracking
from .metric import Metric, Progress, chosen_metrics
from .normalisation import Normalisation

GIVEN = "given"
"""The family of scores that came in a file."""


@dataclass(frozen=True, slots=True)
class TextPair:
    """What was said and what was heard."""

    case: str
    reference: str
    output: str
    group: str | None = None


@dataclass(frozen=True, slots=True)
class MeasuredMetric:
    """One metric's values, by case."""

    name: str
    title: str
    family: str
    direction: Literal["high", "low"]
    bounds: tuple[float, float]
    values: Mapping[str, float]
    """NaN where there is none; `notes` says why."""
    notes: Mapping[str, str] = field(default_factory=dict)


def read_pairs(path: Path) -> list[TextPair]:
    """The texts of a file of cases, as `text_pairs` takes them."""
    return text_pairs(path, read_rows(path, required=("id",)))


def text_pairs(path: Path, rows: Iterable[tuple[int, Mapping[str, Any]]]) -> list[TextPair]:
    """The texts of numbered rows of cases, of which a missing one is empty.

    Unlike `load_cases` it allows an empty output: speech of which nothing was heard is a case. A row marked `missed`, as
    `venire align --cases` writes it, has one whatever stands there for a jury to read.
    """
    pairs: list[TextPair] = []
    line_by_id: dict[str, int] = {}
    for line, row in rows:
        case = _text(row.get("id"))
        if not case.strip():
            raise InvalidFile(f"{path}:{line}: 'id' is missing", remedy="give every case an id of its own")
        if case in line_by_id:
            raise InvalidFile(
                f"{path}:{line}: the id {case!r} was already used on line {line_by_id[case]}",
                remedy="give every case an id of its own",
            )
        line_by_id[case] = line
        output = "" if row.get("missed") in (True, "true", "True") else _text(row.get("output"))
        pairs.append(TextPair(case, _text(row.get("reference")), output, _text(row.get("group")) or None))  # fmt: skip
    if not pairs:
        raise InvalidFile(
            f"{path}: no cases were found", remedy="write one case per line: id, reference, output"
        )
    if not any(pair.reference.strip() for pair in pairs):
        raise InvalidFile(
            f"{path}: no case has a reference",
            remedy="add the column 'reference': what was really said, or a known good text",
        )
    return pairs


def differing_pairs(pairs: Sequence[TextPair], normal: Normalisation) -> list[TextPair]:
    """The pairs whose two texts are not the same after normalisation.

    Raises:
        VenireError: There is none.
    """
    differing = [pair for pair in pairs if normal(pair.output) != normal(pair.reference)]
    if not differing:
        raise VenireError(
            "every output equals its reference word for word, so --differing leaves no case",
            remedy="leave out --differing",
        )
    return differing


def measure(
    pairs: Sequence[TextPair],
    metrics: Iterable[Metric] | None = None,
    *,
    normal: Normalisation,
    progress: Progress | None = None,
) -> list[MeasuredMetric]:
    """Each metric of each pair after normalisation; of all registered ones, where none is named.

    Raises:
        MissingExtra: None of them can be measured here. Where some can, the others have a note and no value.
    """
    metrics_used = list(metrics) if metrics is not None else chosen_metrics()
    texts = [(normal(pair.output), normal(pair.reference)) for pair in pairs]
    readings: dict[int, Mapping[str, Sequence[float]] | MissingExtra] = {}
    results: list[MeasuredMetric] = []
    for metric in metrics_used:
        if id(metric.measure) not in readings:
            try:
                readings[id(metric.measure)] = metric.measure(texts, progress)
            except MissingExtra as absent:
                readings[id(metric.measure)] = absent
        columns = readings[id(metric.measure)]
        if isinstance(columns, MissingExtra):
            reason = f"{columns.problem} ({columns.remedy})"
            values = {pair.case: math.nan for pair in pairs}
            results.append(_metric_values(metric, values, {pair.case: reason for pair in pairs}))
            continue
        column = columns[metric.value] if metric.value else next(iter(columns.values()))
        if len(column) != len(pairs):
            raise BrokenPlugin(
                f"the metric {metric.name!r} gave {len(column)} values instead of {len(pairs)}",
                remedy="report this to the authors of the metric's package",
            )
        values = {pair.case: float(value) for pair, value in zip(pairs, column, strict=True)}
        notes = {
            pair.case: reason
            for pair, (output, reference) in zip(pairs, texts, strict=True)
            if (reason := _note(metric, pair, output, reference))
        }
        results.append(_metric_values(metric, values, notes))
    missing = [reading for reading in readings.values() if isinstance(reading, MissingExtra)]
    if missing and len(missing) == len(readings):
        raise missing[0]
    return results


def read_scores(
    path: Path, cases: Sequence[str], measured: Collection[str] = ()
) -> tuple[list[MeasuredMetric], list[str]]:
    """Scores that another program made (`case,metric,value`, optionally `family` and `direction`), and what was left out.

    Args:
        measured: Names that are taken.
    """
    values: dict[str, dict[str, float]] = {}
    kinds: dict[str, tuple[str, Literal["high", "low"]]] = {}
    strangers: list[str] = []
    case_ids = set(cases)
    for line, row in read_rows(path, required=("case", "metric", "value")):
        case, name, value = _text(row["case"]), _text(row["metric"]), _text(row["value"]).strip()
        if name in measured:
            raise InvalidFile(
                f"{path}:{line}: the name is taken, because venire itself computes a metric named {name!r}",
                remedy="give the metric in this file another name",
            )
        if case not in case_ids:
            strangers.append(case)
            continue
        direction = _text(row.get("direction")) or "high"
        if direction not in ("high", "low"):
            raise InvalidFile(
                f"{path}:{line}: the direction {direction!r} is unknown",
                remedy="write high if high values are good, and low if low values are good",
            )
        number = cell_number(value, f"{path}:{line}") if value else math.nan
        if number is None:
            raise InvalidFile(
                f"{path}:{line}: {value!r} is not a number", remedy="write a number, or leave the cell blank"
            )
        if math.isinf(number):
            raise InvalidFile(f"{path}:{line}: the value is infinite", remedy="leave the cell blank")
        if case in values.setdefault(name, {}):
            raise InvalidFile(
                f"{path}:{line}: {name!r} of case {case!r} is given twice", remedy="keep one of the two rows"
            )
        values[name][case] = number
        kinds.setdefault(name, (_text(row.get("family")) or GIVEN, "low" if direction == "low" else "high"))
    notes = [f"{path}: scores left out, because their cases are not among the measured cases: {len(strangers)}, such as {strangers[0]!r}"] if strangers else []  # fmt: skip
    ends = (-math.inf, math.inf)
    given_metrics = []
    for name, case_scores in values.items():
        scores = {case: case_scores.get(case, math.nan) for case in cases}
        notes_by_case = {
            case: "the file of scores has no score for this case"
            for case, value in scores.items()
            if math.isnan(value)
        }
        given_metrics.append(MeasuredMetric(name, name, *kinds[name], ends, scores, notes_by_case))
    return given_metrics, notes


def _metric_values(metric: Metric, values: Mapping[str, float], notes: Mapping[str, str]) -> MeasuredMetric:
    assert metric.family is not None
    return MeasuredMetric(
        metric.name, metric.title, metric.family, metric.direction, metric.bounds, values, notes
    )


def _note(metric: Metric, pair: TextPair, output: str, reference: str) -> str:
    if not pair.reference.strip():
        return "the reference is empty"
    if not reference:
        return "the reference text is empty after normalisation"
    return metric.note(output, reference) if metric.note else ""


def _text(value: Any) -> str:
    """A cell as text; null and NaN are empty, and never words."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return str(value)


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
            f"people rated {len(names)} attributes, but only one can be compared with the metrics",
            remedy=f"choose one with --attribute: {', '.join(names)}",
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
                raise VenireError(f"there is no case {case!r}", remedy=nearest(case, metric.values))
        worse_value, better_value = metric.values[worse], metric.values[better]
        gap = worse_value - better_value if metric.direction == "low" else better_value - worse_value
        aligned = "undefined" if math.isnan(gap) else "yes" if gap > 0 else "tie" if gap == 0 else "no"
        rows.append((metric.name, metric.family, metric.direction, worse_value, better_value, aligned))
    return pd.DataFrame(rows, columns=["metric", "family", "direction", "worse", "better", "aligned"])
