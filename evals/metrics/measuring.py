"""Every metric of every case: read, normalised, measured, with a note wherever there is no value."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ...rubrics.errors import InvalidFile, MissingExtra, VenireError
from ...rubrics.plugins import BrokenPlugin
from ...rubrics.rows import cell_number, read_rows
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
                f"{path}:{line}: the id {case!r} was used on line {line_by_id[case]}",
                remedy="give every case an id of its own",
            )
        line_by_id[case] = line
        output = "" if row.get("missed") in (True, "true", "True") else _text(row.get("output"))
        pairs.append(TextPair(case, _text(row.get("reference")), output, _text(row.get("group")) or None))  # fmt: skip
    if not pairs:
        raise InvalidFile(f"{path}: no cases in it", remedy="write one case per line: id, reference, output")
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
        raise VenireError("every output is its reference, word for word", remedy="leave out --differing")
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
                f"the metric {metric.name!r} gave {len(column)} values where {len(pairs)} are wanted",
                remedy="report it to the authors of its package",
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
                f"{path}:{line}: venire itself computes a metric named {name!r}",
                remedy="give it another name in the file",
            )
        if case not in case_ids:
            strangers.append(case)
            continue
        direction = _text(row.get("direction")) or "high"
        if direction not in ("high", "low"):
            raise InvalidFile(
                f"{path}:{line}: the direction {direction!r} is unknown",
                remedy="write high or low, whichever end is good",
            )
        number = cell_number(value, f"{path}:{line}") if value else math.nan
        if number is None:
            raise InvalidFile(
                f"{path}:{line}: {value!r} is not a number", remedy="write a number, or leave it blank"
            )
        if math.isinf(number):
            raise InvalidFile(f"{path}:{line}: the value is infinite", remedy="leave it blank")
        if case in values.setdefault(name, {}):
            raise InvalidFile(
                f"{path}:{line}: {name!r} of case {case!r} is given twice", remedy="keep one of the two"
            )
        values[name][case] = number
        kinds.setdefault(name, (_text(row.get("family")) or GIVEN, "low" if direction == "low" else "high"))
    notes = [f"{path}: left out: {len(strangers)} scores of cases that were not measured, such as {strangers[0]!r}"] if strangers else []  # fmt: skip
    ends = (-math.inf, math.inf)
    given_metrics = []
    for name, case_scores in values.items():
        scores = {case: case_scores.get(case, math.nan) for case in cases}
        notes_by_case = {case: "no score in the file" for case, value in scores.items() if math.isnan(value)}
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
        return "the reference is empty after normalisation"
    return metric.note(output, reference) if metric.note else ""


def _text(value: Any) -> str:
    """A cell as text; null and NaN are empty, and never words."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return str(value)
