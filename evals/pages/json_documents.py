"""Comparisons, sections and estimates as JSON documents, in the shapes that other programs read."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..figures.section import Section
from ..statistics.estimate import Estimate
from .comparison_summary import comparison_summary

if TYPE_CHECKING:
    from ..comparison.comparison import Comparison


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """The comparison as JSON; NaN is null, with a note beside it."""
    tables = {name: records(table) for name, table in comparison.main_tables.items() if name != "agreement"}
    return {
        "arms": {
            arm: {
                name: {key: estimate_json(e) for key, e in found.items()}
                for name, found in attributes.items()
            }
            for arm, attributes in comparison.agreement.items()
        },
        "kinds": dict(comparison.kinds),
        **tables,
        "summary": _summary_json(comparison),
        "sentences": comparison.sentences(),
        "methods": list(comparison.methods),
        "notes": list(comparison.notes),
        "ratings": None if comparison.ratings is None else comparison.ratings.to_json(),
        "sections": {section.name: section_json(section) for section in comparison.sections},
    }


def _summary_json(comparison: Comparison) -> dict[str, str]:
    """The first page in words."""
    summary = comparison_summary(comparison)
    return {name: getattr(summary, name) for name in ("question", "answer", "cost", "certainty")}


def section_json(section: Section) -> dict[str, Any]:
    """A section as JSON: what it says, and the tables it rests on."""
    return {
        "title": section.title,
        "sentences": list(section.sentences),
        "tables": {name: records(table) for name, table in section.tables.items()},
        "notes": list(section.notes),
    }


def estimate_json(estimate: Estimate) -> dict[str, Any]:
    """An estimate as JSON; NaN is null, with a note."""
    return {
        "value": _plain(estimate.value),
        "low": _plain(estimate.low),
        "high": _plain(estimate.high),
        "n": estimate.n,
        "method": estimate.method,
        "few": estimate.few,
        "note": estimate.note,
    }


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table as JSON objects; NaN is null."""
    return [{str(key): _plain(value) for key, value in row.items()} for row in table.to_dict("records")]


def _plain(value: Any) -> Any:
    return (value if math.isfinite(value) else None) if isinstance(value, float) else value
