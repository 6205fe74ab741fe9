"""Metrics of cases, and whether they follow people: terminal, JSON, page and CSV."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from rich.table import Table

from ..report.drawing import COLOURS, Figure, below, clip, decimal, legend
from ..report.files import write_folder
from ..report.html import figure, items, page, paragraph, section, table
from ..report.panel import Panel, Tick, name_axis, number_axis
from ..report.section import estimate_json, records
from ..report.terminal import interval_words
from ..statistics.estimate import Estimate
from .measuring import MeasuredMetric, PeopleLabels, TextPair, TrackedMetric
from .normalisation import Normalisation
from .overlap import CorpusErrors, corpus_errors

ROW = 20


class MetricDelta(NamedTuple):
    """One bar: the delta of a metric as quality, so that below zero is the right side for all."""

    title: str
    family: str
    delta: Estimate


def metric_deltas_figure(deltas: Sequence[MetricDelta]) -> Figure:
    """Bars from zero, each with its interval; the more to the left, the better a metric follows people."""
    bars = [bar for bar in deltas if bar.delta.defined]
    families = list(dict.fromkeys(bar.family for bar in bars))
    ends = [end for bar in bars for end in (bar.delta.low, bar.delta.high, bar.delta.value) if not math.isnan(end)]  # fmt: skip
    reach = math.ceil(max([0.1, *(abs(end) for end in ends)]) * 10) / 10
    x = number_axis(-reach, reach, about=6, lines=True)
    rows = name_axis([Tick(0, clip(bar.title), "plain") for bar in bars])
    panel = Panel(
        x, rows, 440, max(1, len(bars)) * ROW, title="Quality of severe cases minus quality of harmless cases"
    )
    for number, bar in enumerate(bars):
        colour = COLOURS[families.index(bar.family) % len(COLOURS)]
        panel.bar(number, bar.delta.value, colour)
        panel.interval((bar.delta.low, number), (bar.delta.high, number))
        panel.note(number, decimal(bar.delta.value, 3))
    panel.rule(x=0.0)
    key = legend(families, [COLOURS[number % len(COLOURS)] for number in range(len(families))])
    return Figure("Do metrics follow people?", [below([panel.picture(), key])])


_CAPTION = (
    "Each bar is a metric's mean score of the cases that people call severe minus its mean score of the cases that people call harmless. Error rates count as one minus the rate, so "
    "a metric that agrees with people has a bar below zero. Lines are 95% intervals of this difference."
)
_TRACKING = {"metric": "metric", "family": "family", "good_is": "good is", "statistic": "", "value": "value", "low": "low",
             "high": "high", "n": "n", "wrong_sign": "wrong sign", "note": ""}  # fmt: skip
_PAIR = {"metric": "metric", "family": "family", "direction": "good is", "worse": "worse case", "better": "better case",
         "aligned": "risk-aligned?"}  # fmt: skip
MOST = 50
"""Cases on the page."""


@dataclass(frozen=True, slots=True)
class MetricReport:
    """What `venire metrics` has to show."""

    pairs: Sequence[TextPair]
    metrics: Sequence[MeasuredMetric]
    normal: Normalisation
    labels: PeopleLabels | None = None
    tracked: Sequence[TrackedMetric] = ()
    risk: pd.DataFrame | None = None
    notes: Sequence[str] = ()

    @property
    def corpus(self) -> CorpusErrors | None:
        """The word errors of all cases together, where WER was measured."""
        measured = any(metric.name == "wer" and metric.family == "edit" and any(not math.isnan(v) for v in metric.values.values()) for metric in self.metrics)  # fmt: skip
        texts = ((self.normal(pair.output), self.normal(pair.reference)) for pair in self.pairs)
        return corpus_errors(texts) if measured else None

    def sentences(self) -> list[str]:
        """What a reader must know."""
        lines = [f"Texts were normalised by {self.normal.name}: {', '.join(self.normal.short_names)}."]
        empty = sum(not pair.output.strip() for pair in self.pairs)
        if empty:
            lines.append(f"{empty} of {len(self.pairs)} outputs are missing, and are scored as empty texts.")
        blank = sum(not self.normal(pair.reference) for pair in self.pairs)
        if blank:
            lines.append(
                f"{blank} references are empty after normalisation: no metric is computed for these cases."
            )
        if (corpus := self.corpus) is not None:
            words = corpus.words
            lines.append(
                f"Word error rate (WER) of the corpus: {corpus.rate:.4f}, from {corpus.substitutions} substitutions, {corpus.deletions} deletions and "
                f"{corpus.insertions} insertions in {words} reference words of {corpus.cases} cases."
            )
        if self.labels is not None:
            lines += self._people_sentences(self.labels)
        absent = {reason: metric.title for metric in self.metrics for reason in set(metric.notes.values()) if len(metric.notes) == len(self.pairs)}  # fmt: skip
        lines += [f"{title} has no value: {reason}." for reason, title in absent.items()]
        return [*lines, *(f"{note}." for note in self.notes)]

    def _people_sentences(self, labels: PeopleLabels) -> list[str]:
        ratings = [labels.values[pair.case] for pair in self.pairs if pair.case in labels.values]
        assumption = (
            " (assumed to be the worst value, because no rubric says which end is bad)"
            if labels.assumed
            else ""
        )
        groups = len({pair.group for pair in self.pairs if pair.group})
        units = f"{groups} groups" if groups else "cases"
        flips = [m.metric.title for m in self.tracked if m.has_wrong_sign(m.tracking.delta.value)]
        lines = [
            f"People rated {labels.attribute} in {len(ratings)} of the {len(self.pairs)} cases. Cases with the value {labels.severe:g} are severe{assumption} "
            f"({sum(value == labels.severe for value in ratings)} cases); cases with the value {labels.none:g} are harmless ({sum(value == labels.none for value in ratings)} cases). "
            f"Intervals are by the jackknife over {units}."
        ]
        lines += [f"People's ratings: {note}." for note in labels.notes]
        if flips:
            lines.append(
                f"Metrics that point the wrong way (better scores on cases in which people see harm): {', '.join(flips)}."
            )
        return lines


def metrics_json(report: MetricReport) -> dict[str, Any]:
    """The report in the shape that other programs read; a value that does not exist is null, with a note."""
    tracked = {metric.metric.name: metric for metric in report.tracked}
    document: dict[str, Any] = {
        "metrics": {
            metric.name: {
                "family": metric.family,
                "direction": metric.direction,
                "bounds": [None if math.isinf(end) else end for end in metric.bounds],
                "cases": {case: None if math.isnan(v) else v for case, v in metric.values.items()},
                "notes": dict(metric.notes),
                **(_tracking_json(tracked[metric.name]) if metric.name in tracked else {}),
            }
            for metric in report.metrics
        },
        "normal": report.normal.step_names,
        "normalisation": report.normal.name,
        "sentences": report.sentences(),
    }
    if (corpus := report.corpus) is not None:
        document["corpus"] = corpus._asdict() | {"wer": corpus.rate, "words": corpus.words}
    if report.labels is not None:
        labels = report.labels
        document["people"] = {"attribute": labels.attribute, "severe": labels.severe, "none": labels.none, "worse": labels.worse, "notes": list(labels.notes)}  # fmt: skip
    if report.risk is not None:
        document["pair"] = records(report.risk)
    return document


def _tracking_json(metric: TrackedMetric) -> dict[str, Any]:
    track = metric.tracking
    return {
        "delta": _signed_json(metric, track.delta) | {"as_quality": _number(_quality(metric))},
        "kendall": _signed_json(metric, track.kendall),
        "auc": estimate_json(track.auc) | {"wrong_sign": track.auc.defined and track.auc.value < 0.5},
        "auc_none": estimate_json(track.auc_none),
    }


def _signed_json(metric: TrackedMetric, estimate: Estimate) -> dict[str, Any]:
    return estimate_json(estimate) | {
        "expected": metric.expected,
        "wrong_sign": metric.has_wrong_sign(estimate.value),
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _quality(metric: TrackedMetric) -> float:
    """Delta with an error rate turned: below zero where a metric follows people."""
    return -metric.tracking.delta.value if metric.metric.direction == "low" else metric.tracking.delta.value


def metrics_table(report: MetricReport) -> Table:
    """Metrics as rows: the mean of their values or, beside people, delta, tau and AUC; `!` marks a wrong sign."""
    rich_table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    tracked = {t.metric.name: t for t in report.tracked}
    heads = ("delta", "tau-b", "AUC") if tracked else ("family", "cases", "mean")
    for column in ("metric", "good is", *heads):
        rich_table.add_column(column, overflow="fold")
    for metric in report.metrics:
        values = [value for value in metric.values.values() if not math.isnan(value)]
        mean = f"{sum(values) / len(values):.3f}" if values else "–"
        cells = [metric.name, metric.direction]
        if not tracked:
            cells += [metric.family, str(len(values)), mean]
        if metric.name in tracked:
            track = tracked[metric.name]
            for value in (track.tracking.delta, track.tracking.kendall):
                cells.append(_interval(value) + ("!" if track.has_wrong_sign(value.value) else ""))
            cells.append(_interval(track.tracking.auc))
        rich_table.add_row(*cells)
    return rich_table


def risk_terminal_table(risk: pd.DataFrame, worse: str, better: str) -> Table:
    """The two cases side by side, and whether each metric calls the first one worse."""
    rich_table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("metric", "good is", worse, better, "risk-aligned?"):
        rich_table.add_column(column, overflow="fold")
    for row in risk.to_dict("records"):
        values = ["–" if math.isnan(row[side]) else f"{row[side]:.4f}" for side in ("worse", "better")]
        rich_table.add_row(row["metric"], row["direction"], *values, row["aligned"])
    return rich_table


def _interval(estimate: Estimate) -> str:
    return interval_words(estimate.value, estimate.low, estimate.high) if estimate.defined else "–"


def tracking_table(report: MetricReport) -> pd.DataFrame:
    """One row for each metric and statistic."""
    rows = []
    for tracked in report.tracked:
        for name, estimate in zip(tracked.tracking._fields, tracked.tracking, strict=True):
            signed = name in ("delta", "kendall")
            rows.append(
                {
                    "metric": tracked.metric.name,
                    "family": tracked.metric.family,
                    "good_is": tracked.metric.direction,
                    "statistic": name,
                    "value": estimate.value,
                    "low": estimate.low,
                    "high": estimate.high,
                    "n": estimate.n,
                    "wrong_sign": tracked.has_wrong_sign(estimate.value) if signed else estimate.value < 0.5,
                    "note": estimate.note,
                }
            )
    return pd.DataFrame(rows)


def values_table(report: MetricReport) -> pd.DataFrame:
    """One row a case, one column a metric."""
    columns = {metric.name: metric.values for metric in report.metrics}
    return pd.DataFrame(columns).rename_axis("case").reset_index()


def write_metrics(report: MetricReport, folder: Path) -> Path:
    """The page, its figure, its tables as CSV and the JSON document in `folder`; gives the page's path."""
    body = [section("What can be said", items(report.sentences(), "said"))]
    tables, figures = {"values": values_table(report)}, {}
    if report.tracked:
        tables["tracking"] = tracking_table(report)
        figures["deltas"] = metric_deltas_figure([_bar(metric) for metric in report.tracked])
        chart = figure(figures["deltas"], _CAPTION)
        body.append(
            section("Do the metrics follow people?", chart, table("tracking", tables["tracking"], _TRACKING))
        )
    if report.risk is not None:
        tables["pair"] = report.risk
        body.append(section("Two cases", table("pair", report.risk, _PAIR)))
    first_rows = tables["values"].head(MOST)
    heads = {str(name): str(name) for name in first_rows.columns}
    caption = f"The table shows the first {len(first_rows)} of {len(report.pairs)} cases; all cases are in tables/values.csv."
    body.append(section("Values", paragraph(caption, "soft"), table("values", first_rows, heads)))
    subtitle = f"{len(report.pairs)} cases, {len(report.metrics)} metrics, normalised by {report.normal.name}"
    html = page("Metrics of texts", subtitle, body)
    return write_folder(folder, html, metrics_json(report), tables, figures, name="metrics")


def _bar(metric: TrackedMetric) -> MetricDelta:
    delta = metric.tracking.delta
    if metric.metric.direction == "low":
        delta = replace(delta, value=-delta.value, low=-delta.high, high=-delta.low)
    return MetricDelta(metric.metric.title, metric.metric.family, delta)
