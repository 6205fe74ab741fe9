"""Import format `openai-evals`: lines of OpenAI's evals, as the API lists a run's output items or as the open framework logs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...rubrics.errors import InvalidFile
from .import_format import Item, ToolRecords
from .json_files import read_objects
from .tool_scores import add_score, free_id

_RATER = "openai"
_TEXTS = ("output", "question", "system")


def read_openai_evals(path: Path) -> ToolRecords:
    """Each output item, logged sample or `{item, sample}` line as an item, and each grader's score as a rating.

    The grader's name is the attribute. In the framework's logs a `match` is 1 or 0, and `metrics` are ratings by their names.
    """
    rows = read_objects(path)
    rows = [each for row in rows for each in (row["data"] if isinstance(row.get("data"), list) else [row])]
    if any("sample_id" in row and "type" in row for row in rows):
        return _logged_samples(rows)
    if not any("sample" in row or "datasource_item" in row or "item" in row for row in rows):
        raise InvalidFile(
            f"{path}: no output items and no logged samples in it",
            remedy="name the lines of a run's output items, or a log of the evals framework",
        )
    return _output_items(rows)


def _output_items(rows: Sequence[Mapping[str, Any]]) -> ToolRecords:
    records = ToolRecords()
    taken: set[str] = set()
    for number, row in enumerate(rows, 1):
        item = _mapping(row.get("datasource_item", row.get("item")))
        sample = _mapping(row.get("sample"))
        given = row.get("datasource_item_id", item.get("id", row.get("id", f"item-{number}")))
        name = free_id(str(given), taken)
        taken.add(name)
        output = _model_text(sample.get("output")) or str(sample.get("output_text") or "")
        if not output:
            why = (
                "items that ended in an error"
                if _mapping(sample.get("error")).get("message")
                else "items without an output"
            )
            records.skip(why, name)
            continue
        texts = {"output": output, "question": sample.get("input"), "system": sample.get("model")}
        variables = {
            f"item_{key}" if key in _TEXTS else key: value for key, value in item.items() if key != "id"
        }
        records.items.append(Item(name, {**variables, **{key: text for key, text in texts.items() if text}}))
        for result in row.get("results") or ():
            if isinstance(result, Mapping):
                value = result["score"] if result.get("score") is not None else result.get("passed")
                add_score(
                    records, name, _RATER, str(result.get("name") or "score"), value, result.get("reason")
                )
    return records


def _logged_samples(rows: Sequence[Mapping[str, Any]]) -> ToolRecords:
    """The events of the framework's log, by sample: what was sampled, and what was recorded of it."""
    records = ToolRecords()
    system = next(
        (str(_completion_fn(row["spec"])) for row in rows if isinstance(row.get("spec"), Mapping)), ""
    )
    sampled: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        if row.get("type") == "sampling":
            sampled.setdefault(str(row["sample_id"]), _mapping(row.get("data")))
    expected = {str(row["sample_id"]): _mapping(row.get("data")).get("expected") for row in rows if row.get("type") == "match"}  # fmt: skip
    for name, data in sampled.items():
        output = _model_text(data.get("sampled"))
        if not output:
            records.skip("samples without an output", name)
            continue
        texts = {
            "output": output,
            "question": data.get("prompt"),
            "reference": expected.get(name),
            "system": system,
        }
        records.items.append(Item(name, {key: text for key, text in texts.items() if text}))
    for row in rows:
        name, data = str(row.get("sample_id")), _mapping(row.get("data"))
        if row.get("type") == "match":
            add_score(records, name, _RATER, "match", data.get("correct"))
        elif row.get("type") == "metrics":
            for key, value in data.items():
                if isinstance(value, bool | int | float | None):
                    add_score(records, name, _RATER, key, value)
                else:
                    records.skip("recorded beside the metrics", f"{name}: {key}")
    return records


def _completion_fn(spec: Mapping[str, Any]) -> Any:
    names = spec.get("completion_fns")
    return names[0] if isinstance(names, list) and names else spec.get("model", "")


def _model_text(value: Any) -> str:
    """What a model wrote: a text, a list of texts, or messages whose content it is."""
    if isinstance(value, str):
        return value
    parts = value if isinstance(value, list) else []
    return "\n".join(
        str(part.get("content") or "") if isinstance(part, Mapping) else str(part) for part in parts
    ).strip()


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
