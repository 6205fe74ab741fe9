"""Sections and estimates as JSON documents, in the shapes that other programs read."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from ..figures.section import Section
from ..statistics.estimate import Estimate


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
