"""Statistics in the terminal and as JSON: one place that says how a number is written."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
from rich.table import Table

from .agreement import Agreement
from .comparison import OVERALL, Comparison
from .statistics.bands import band
from .statistics.estimate import Estimate


def interval(estimate: Estimate, *, percent: bool = False) -> str:
    """A value with its interval, or that it is undefined."""
    if not estimate.defined:
        return "undefined"
    shown = [f"{x:.0%}" if percent else f"{x:.2f}" for x in (estimate.value, estimate.low, estimate.high)]
    return shown[0] if math.isnan(estimate.low) else f"{shown[0]} [{shown[1]}, {shown[2]}]"


def comparison_table(comparison: Comparison) -> Table:
    """Arms as rows: error and exact agreement with intervals, failures and cost beside them."""
    table = _table("arm", "n", "mean abs error", "offset", "exact", "hung", "calls", "cost")
    costs = comparison.costs.set_index("arm")
    for arm, attributes in comparison.agreement.items():
        overall = attributes[OVERALL]
        spent = costs.loc[arm] if arm in costs.index else None
        table.add_row(
            arm,
            str(overall["mae"].n),
            interval(overall["mae"]),
            interval(overall["offset"]),
            interval(overall["exact"], percent=True),
            "" if spent is None else f"{spent['hung']:.0f}",
            "0" if spent is None else f"{spent['calls']:.0f}",
            "$0" if spent is None else "unknown" if pd.isna(spent["usd"]) else f"${spent['usd']:.4f}",
        )
    return table


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    return {
        "arms": {
            arm: {name: {key: as_json(e) for key, e in found.items()} for name, found in attributes.items()}
            for arm, attributes in comparison.agreement.items()
        },
        "differences": [
            {"first": first, "second": second, **as_json(estimate)}
            for (first, second), estimate in comparison.differences.items()
        ],
        "costs": [
            {key: _number(value) if isinstance(value, float) else value for key, value in row.items()}
            for row in comparison.costs.to_dict("records")
        ],
        "sentences": comparison.sentences(),
    }


def agreement_table(agreement: Agreement) -> Table:
    """Each attribute's coefficients as far as they are defined, with the band that each falls in."""
    table = _table("attribute", "coefficient", "value", "n", "reads as")
    for name, found in {**agreement.attributes, "overall": agreement.overall}.items():
        for coefficient, estimate in found.items():
            if estimate.defined:
                reads = band(coefficient, estimate.value)
                told = f"{reads.word}, {reads.source}" if reads else ""
                table.add_row(name, coefficient, interval(estimate), str(estimate.n), told)
        table.add_section()
    return table


def as_json(estimate: Estimate) -> dict[str, Any]:
    """NaN is null, with a note."""
    return {
        "value": _number(estimate.value),
        "low": _number(estimate.low),
        "high": _number(estimate.high),
        "n": estimate.n,
        "method": estimate.method,
        "note": estimate.note,
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _table(*columns: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
