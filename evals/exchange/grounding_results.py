"""Results of tools that hold answers against retrieved passages: RAGAS, RefChecker, RAGChecker. A metric without a value is counted and left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...rubrics.errors import InvalidFile
from ...rubrics.rows import read_rows
from .import_format import Item, ToolRecords, add_score, free_id, read_objects, read_tool_json

_RAGAS = {
    "output": ("response", "answer"),
    "question": ("user_input", "question"),
    "reference": ("reference", "ground_truth", "ground_truths"),
    "source": ("retrieved_contexts", "contexts"),
}
"""The texts of a sample under their names in RAGAS 0.2 and later, then in 0.1."""
_RAGAS_OTHERS = ("reference_contexts", "rubrics", "rubric", "id", "index", "Unnamed: 0", "")


def read_ragas(path: Path) -> ToolRecords:
    """A result's `to_pandas()`, saved by pandas as CSV, JSON or JSONL: samples as items, metrics as ratings by `ragas`."""
    records = ToolRecords()
    known = {name for names in _RAGAS.values() for name in names}
    for number, row in enumerate(_ragas_rows(path), 1):
        texts = {role: _cell_list(next((row[name] for name in names if row.get(name)), None)) for role, names in _RAGAS.items()}  # fmt: skip
        if not texts["output"]:
            records.skip("samples without a response", f"sample-{number}")
            continue
        item = Item(f"sample-{number}", {role: text for role, text in texts.items() if text})
        records.items.append(item)
        for name, value in row.items():
            if name not in known and name not in _RAGAS_OTHERS:
                add_score(records, item.id, "ragas", str(name), _number(value))
    if not records.items:
        raise InvalidFile(
            f"{path}: no sample has a `response` or an `answer`",
            remedy="give a file with the table that evaluate(...).to_pandas() returns in Ragas",
        )
    return records


def _ragas_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    if path.suffix.lower() == ".csv":
        for _, row in read_rows(path):
            yield row
        return
    document = read_tool_json(path)
    if (
        isinstance(document, Mapping)
        and document
        and all(isinstance(each, Mapping) for each in document.values())
    ):
        # As pandas writes JSON unless told otherwise: by column, then by row.
        for key in next(iter(document.values())):
            yield {name: column.get(key) for name, column in document.items()}
        return
    yield from read_objects(path)


def _cell_list(value: Any) -> Any:
    """A list that pandas wrote into a cell of a CSV file; anything else as it is."""
    if isinstance(value, str) and value.startswith("["):
        try:
            return ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return value
    return value


def _number(value: Any) -> Any:
    """A number that stands in a CSV file as text; None for an empty cell."""
    if not isinstance(value, str):
        return value
    try:
        return float(value) if value.strip() else None
    except ValueError:
        return value


def read_refchecker(path: Path) -> ToolRecords:
    """What `refchecker-cli check` wrote: responses as items with their claims and labels as metadata, the aggregate as ratings by `refchecker`.

    A soft aggregate is a share for each label; a strict or major one is a label.
    """
    records, names = ToolRecords(), set[str]()
    for number, item in enumerate(read_objects(path), 1):
        name = free_id(str(item.get("id") or f"response-{number}"), names)
        names.add(name)
        if not item.get("response"):
            records.skip("items without a response", name)
            continue
        texts = {
            "output": item["response"],
            "question": item.get("question"),
            "source": item.get("reference"),
        }
        kept = {key: item[key] for key in ("claims", "triplets", "ys") if item.get(key)}
        records.items.append(Item(name, {key: text for key, text in texts.items() if text}, kept))
        aggregate = item.get("Y")
        shares = aggregate if isinstance(aggregate, Mapping) else {"label": aggregate}
        for label, share in shares.items():
            add_score(records, name, "refchecker", str(label).lower(), share)
    return records


def read_ragchecker(path: Path) -> ToolRecords:
    """The results that RAGChecker wrote: queries as items with their claims and labels as metadata, their metrics as ratings by `ragchecker`."""
    document = read_tool_json(path)
    results = document.get("results") if isinstance(document, Mapping) else None
    if not isinstance(results, list) or not all(isinstance(each, Mapping) for each in results):
        raise InvalidFile(
            f"{path}: this file holds no results of RAGChecker",
            remedy="give the file that RAGChecker wrote to its --output_path",
        )
    records, names = ToolRecords(), set[str]()
    for number, item in enumerate(results, 1):
        name = free_id(str(item.get("query_id") or f"query-{number}"), names)
        names.add(name)
        if not item.get("response"):
            records.skip("queries without a response", name)
            continue
        passages = [each.get("text") if isinstance(each, Mapping) else each for each in item.get("retrieved_context") or ()]  # fmt: skip
        texts = {"output": item["response"], "question": item.get("query"), "reference": item.get("gt_answer"), "source": list(map(str, filter(None, passages)))}  # fmt: skip
        kept = {key: value for key, value in item.items() if "2" in key or key.endswith("_claims")}
        records.items.append(Item(name, {key: text for key, text in texts.items() if text}, kept))
        metrics = item.get("metrics")
        for metric, value in (metrics if isinstance(metrics, Mapping) else {"metrics": None}).items():
            add_score(records, name, "ragchecker", str(metric), value)
    return records
