"""A threshold and what it is worth, for the terminal and as JSON."""

from __future__ import annotations

import math
from typing import Any

from rich.table import Table

from ..claims.labelled_cases import LabelledCases
from ..claims.threshold import ThresholdArm, ThresholdReport
from ..statistics.estimate import Estimate
from ..statistics.yes_no import YES_NO_METRICS
from .json_documents import estimate_json, records

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
    for column in ("", "out of fold", "chosen on all", "optimism", report.fixed.name):
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
            "cost a case", *(f"{arm.cost:.3f}" for arm in report.arms[:2]), "", f"{report.fixed.cost:.3f}"
        )
    return table


def threshold_lines(found: LabelledCases, report: ThresholdReport) -> list[str]:
    """What was chosen, on what, and how well the score ranks."""
    cuts = report.out_of_fold.thresholds
    chosen = f"{min(cuts):.3f} to {max(cuts):.3f}" if cuts else "none"
    grouped = f" in {report.groups} groups" if report.groups < report.cases else ""
    return [
        f"{report.score} of {found.arm} against people's {found.attribute}: {report.cases} cases{grouped}, {report.positives} yes",
        f"threshold {report.threshold:.3f} (best {report.aim} on all cases); in {report.folds} folds {chosen}",
        f"ROC AUC {_cell(report.auc)}",
        *(f"note: {note}" for note in report.notes),
    ]


def _arm_json(arm: ThresholdArm) -> dict[str, Any]:
    tp, fp, fn, tn = arm.counts
    return {
        "name": arm.name,
        "thresholds": list(arm.thresholds),
        "counts": {"tp": tp, "fp": fp, "fn": fn, "tn": tn},
        **{name: estimate_json(found) for name, found in arm.metrics.items()},
        **({} if arm.cost is None else {"cost": arm.cost}),
    }


def _cell(found: Estimate) -> str:
    if not found.defined:
        return "undefined"
    interval = f" ({found.low:.2f} to {found.high:.2f})" if math.isfinite(found.low) else ""
    return f"{found.value:.3f}{interval}"
