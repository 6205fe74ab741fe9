"""Import format `promptfoo`: the results that `promptfoo eval --output FILE.json` or `.jsonl`, and `promptfoo export`, write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...rubrics.errors import InvalidFile
from .import_format import Item, ToolRecords
from .json_files import read_tool_json
from .tool_scores import add_score, free_id

_RATER = "promptfoo"
_HUMAN = "human"
"""The type of assertion that a person's own mark in promptfoo's viewer is."""

_NOTHING_ASSERTED = "No assertions"
"""The reason beside the 1 that promptfoo gives where nothing was asked."""


def read_promptfoo(path: Path) -> ToolRecords:
    """Each result as an item, its variables among its texts, and each assertion as a rating by promptfoo, or by a person.

    An assertion's metric, or its type, is the attribute; its score from 0 to 1 the value. Results that ended in an error are counted and left out.
    """
    records = ToolRecords()
    taken: set[str] = set()
    for result in _results(path):
        prompt, provider = (_mapping(result.get(name)) for name in ("prompt", "provider"))
        system = str(provider.get("label") or provider.get("id") or result.get("provider") or "")
        where = f"{result.get('testIdx', len(taken))}/{result.get('promptIdx', 0)}/{system}"
        name = free_id(where, taken)
        taken.add(name)
        output = _mapping(result.get("response")).get("output")
        if output in (None, ""):
            why = "results that ended in an error" if result.get("error") else "results without an output"
            records.skip(why, name)
            continue
        given = _mapping(result.get("vars"))
        texts = {"output": output, "question": prompt.get("raw") or prompt.get("label"), "system": system}
        texts |= {"group": str(result["testIdx"])} if "testIdx" in result else {}
        variables = {key if key not in texts else f"var_{key}": value for key, value in given.items()}
        records.items.append(Item(name, {**variables, **texts}))
        _read_assertions(name, result, records)
    return records


def _results(path: Path) -> Iterator[Mapping[str, Any]]:
    """The results in any of the shapes that promptfoo writes: an export, a summary, a line each."""
    found = read_tool_json(path)
    while isinstance(found, Mapping) and "results" in found:
        found = found["results"]
    listed = [found] if isinstance(found, Mapping) and "prompt" in found else found
    if not isinstance(listed, list) or not all(
        isinstance(each, Mapping) and "prompt" in each for each in listed
    ):
        raise InvalidFile(
            f"{path}: no list of promptfoo's results in it",
            remedy="write them with promptfoo eval --output results.json",
        )
    yield from listed


def _read_assertions(name: str, result: Mapping[str, Any], records: ToolRecords) -> None:
    grading = _mapping(result.get("gradingResult"))
    parts = [each for each in grading.get("componentResults") or () if isinstance(each, Mapping)]
    named: list[str] = []
    for part in parts:
        assertion = _mapping(part.get("assertion"))
        kind = str(assertion.get("type") or "assertion")
        attribute = free_id(str(assertion.get("metric") or kind), named).replace("#", "_")
        named.append(attribute)
        value = part["score"] if part.get("score") is not None else part.get("pass")
        add_score(records, name, _HUMAN if kind == _HUMAN else _RATER, attribute, value, part.get("reason"))
    if not parts and grading.get("reason") == _NOTHING_ASSERTED:
        records.skip("results of which nothing was asserted", name)
    elif not parts and grading:
        value = grading["score"] if grading.get("score") is not None else grading.get("pass")
        add_score(records, name, _RATER, "score", value, grading.get("reason"))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
