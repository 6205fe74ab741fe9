"""One part of a comparison's report: what was found, drawn, and said in words."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ..statistics.estimate import Estimate
from .drawing import Figure

if TYPE_CHECKING:
    import pandas as pd


class TableText(NamedTuple):
    """A table's title, what it shows, the heads of its columns in the order in which they stand, and what stands below it."""

    title: str
    caption: str
    heads: Mapping[str, str]
    notes: tuple[str, ...] = ()

    def used_heads(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
        """The heads without those of columns that are blank or `none` throughout."""
        return {
            column: head
            for column, head in self.heads.items()
            if not rows or any(row.get(column) not in ("", "none") for row in rows)
        }


@dataclass(frozen=True, slots=True)
class Section:
    """An analysis as `venire compare` shows it: in the terminal its sentences, in the report all of it."""

    name: str
    """The key in `--json`, and the start of the names of its tables and figures on disk."""
    title: str
    sentences: tuple[str, ...]
    """What it means, for somebody who reads nothing else. Never empty: what could not be told is said too."""
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    figures: Mapping[str, Figure] = field(default_factory=dict)
    """By caption."""
    methods: tuple[str, ...] = ()
    """The choices made, for the methods paragraph."""
    notes: tuple[str, ...] = ()
    """What could not be done, and why."""
    lead: str = ""
    """What a reader must know before the tables."""
    texts: Mapping[str, TableText] = field(default_factory=dict)
    """By table, its title, caption and heads; one without is headed by its own names."""


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


def answer_json(
    run: str, arm: str, name: str, rows: Sequence[Any], sentences: Sequence[str], notes: Sequence[str]
) -> dict[str, Any]:
    """What a command finds of one arm of a run, as JSON: its rows under `name`, and what is said of them."""
    return {"run": run, "arm": arm, name: list(rows), "sentences": list(sentences), "notes": list(notes)}


def estimate_cells(estimate: Estimate) -> dict[str, Any]:
    """An estimate as the cells of a table's row."""
    names = ("value", "low", "high", "n", "method", "note")
    return {name: getattr(estimate, name) for name in names}


def estimate_phrase(estimate: Estimate, style: str = ".3f", bounds: str = ".2f") -> str:
    """An estimate inside a sentence: its value with the interval, or with why there is none."""
    if not estimate.defined:
        return f"undefined ({estimate.note})"
    between = f"{estimate.low:{bounds}} to {estimate.high:{bounds}}"
    if math.isnan(estimate.low):
        between = estimate.note if estimate.note.startswith("no interval") else "no interval"
    return f"{estimate.value:{style}} ({between})"


def document_text(document: Any, indent: str = "") -> str:
    """The document as text: a line for each key and each row of a table, which can be read and compared line by line."""
    deeper = indent + " "
    if isinstance(document, dict) and any(isinstance(child, dict | list) for child in document.values()):
        rows = [f"{deeper}{_line(key)}: {document_text(child, deeper)}" for key, child in document.items()]
        return "\n".join(["{", ",\n".join(rows), f"{indent}}}"])
    if isinstance(document, list) and any(isinstance(child, dict | list) for child in document):
        return "\n".join(
            ["[", ",\n".join([deeper + document_text(child, deeper) for child in document]), f"{indent}]"]
        )
    return _line(document)


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table as JSON objects; NaN is null."""
    names = [str(name) for name in table.columns]
    columns = [list(map(_plain, table.iloc[:, place].tolist())) for place in range(len(names))]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _plain(value: Any) -> Any:
    plain = value.item() if hasattr(value, "item") else value
    return (plain if math.isfinite(plain) else None) if isinstance(plain, float) else plain
