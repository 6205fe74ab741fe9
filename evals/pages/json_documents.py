"""Sections and estimates as JSON documents, in the shapes that other programs read."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd

from ..figures.section import Section
from ..statistics.estimate import Estimate

_line = json.JSONEncoder(allow_nan=False).encode


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


def document_text(document: Any, indent: str = "") -> str:
    """The document as text: a line for each key and each row of a table, which can be read and compared line by line."""
    deeper = indent + " "
    if isinstance(document, dict) and any(isinstance(each, dict | list) for each in document.values()):
        rows = [f"{deeper}{_line(key)}: {document_text(each, deeper)}" for key, each in document.items()]
        return "\n".join(["{", ",\n".join(rows), f"{indent}}}"])
    if isinstance(document, list) and any(isinstance(each, dict | list) for each in document):
        return "\n".join(
            ["[", ",\n".join([deeper + document_text(each, deeper) for each in document]), f"{indent}]"]
        )
    return _line(document)


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table as JSON objects; NaN is null."""
    names = [str(name) for name in table.columns]
    columns = [list(map(_plain, table.iloc[:, place].tolist())) for place in range(len(names))]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _plain(value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    return (plain if math.isfinite(plain) else None) if isinstance(plain, float) else plain
