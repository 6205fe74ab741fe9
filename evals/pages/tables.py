"""Statistics in the terminal and as JSON: one place that says how a number is written."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd
from rich.table import Table

from ..figures.section import Section
from ..ratings.sheet import OVERALL
from ..statistics.bands import band
from ..statistics.estimate import Estimate

if TYPE_CHECKING:
    from ..agreement.coefficients import Agreement
    from ..comparison.comparison import Comparison


def interval(estimate: Estimate, *, percent: bool = False) -> str:
    """A value with its interval, or that it is undefined."""
    return bounded(estimate.value, estimate.low, estimate.high, percent=percent)


def bounded(value: float, low: float, high: float, *, percent: bool = False) -> str:
    """A value with its bounds, as far as they are known."""
    if math.isnan(value):
        return "undefined"
    shown = [f"{x:.0%}" if percent else f"{round(x, 2) + 0.0:.2f}" for x in (value, low, high)]
    return shown[0] if math.isnan(low) else f"{shown[0]} [{shown[1]}, {shown[2]}]"


def comparison_table(comparison: Comparison) -> Table:
    """Arms as rows: agreement and error with intervals, failures and cost beside them."""
    table = _table(
        "arm", "n", "ICC(3,k)", "Spearman", "mean abs error", "offset", "exact", "hung", "calls", "cost"
    )
    costs = comparison.costs.set_index("arm")
    for arm, attributes in comparison.agreement.items():
        overall = attributes[OVERALL]
        spent = costs.loc[arm] if arm in costs.index else None
        table.add_row(
            arm,
            str(overall["mae"].n or overall["spearman"].n),
            _cell(overall["icc3k"]),
            _cell(overall["spearman"]),
            _cell(overall["mae"]),
            _cell(overall["offset"]),
            _cell(overall["exact"], percent=True),
            "" if spent is None else f"{spent['hung']:.0f}",
            "" if spent is None else f"{spent['calls']:.0f}",
            "" if spent is None else "unknown" if pd.isna(spent["usd"]) else f"${spent['usd']:.4f}",
        )
    return table


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """The shape that other programs read; NaN is null, with a note beside it."""
    tables = {name: records(table) for name, table in comparison.main_tables.items() if name != "agreement"}
    return {
        "arms": {
            arm: {name: {key: as_json(e) for key, e in found.items()} for name, found in attributes.items()}
            for arm, attributes in comparison.agreement.items()
        },
        "kinds": dict(comparison.kinds),
        **tables,
        "sentences": comparison.sentences(),
        "methods": list(comparison.methods),
        "notes": list(comparison.notes),
        "sections": {section.name: section_json(section) for section in comparison.sections},
    }


def section_json(section: Section) -> dict[str, Any]:
    """What a section says, and the tables it rests on."""
    return {
        "title": section.title,
        "sentences": list(section.sentences),
        "tables": {name: records(table) for name, table in section.tables.items()},
        "notes": list(section.notes),
    }


def agreement_table(agreement: Agreement) -> Table:
    """Each attribute's coefficients as far as they are defined, with the band that each falls in."""
    table = _table("attribute", "coefficient", "value", "n", "reads as")
    for name, found in {**agreement.attributes, OVERALL: agreement.overall}.items():
        for coefficient, estimate in found.items():
            if estimate.defined:
                reads = band(coefficient, estimate.value)
                told = f"{reads.word}, {reads.source}" if reads else ""
                table.add_row(name, coefficient, interval(estimate), str(estimate.n), told)
        if not any(estimate.defined for estimate in found.values()):
            table.add_row(name, "all", "undefined", "", next(iter(found.values())).note)
        table.add_section()
    return table


def raters_table(agreement: Agreement) -> Table:
    """Each rater's harshness, and how much alpha would rise without them."""
    table = _table("attribute", "rater", "ratings", "severity", "alpha would rise by", "outlier")
    for row in agreement.raters.to_dict("records"):
        rise = bounded(row["rise"], row["low"], row["high"]) if not math.isnan(row["rise"]) else row["note"]
        severity = "" if math.isnan(row["severity"]) else f"{row['severity']:+.2f}"
        table.add_row(
            row["attribute"], row["rater"], str(row["n"]), severity, rise, "outlier" if row["outlier"] else ""
        )
    return table


def as_json(estimate: Estimate) -> dict[str, Any]:
    """NaN is null, with a note."""
    return {
        "value": _plain(estimate.value),
        "low": _plain(estimate.low),
        "high": _plain(estimate.high),
        "n": estimate.n,
        "method": estimate.method,
        "note": estimate.note,
    }


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table as JSON holds them."""
    return [{str(key): _plain(value) for key, value in row.items()} for row in table.to_dict("records")]


def _plain(value: Any) -> Any:
    return (value if math.isfinite(value) else None) if isinstance(value, float) else value


def _cell(estimate: Estimate, *, percent: bool = False) -> str:
    return interval(estimate, percent=percent) if estimate.defined else "-"


def _table(*columns: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
