"""Import format `inspect`: the samples and scores of an Inspect log, `.json` read as it is, `.eval` by Inspect itself."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ...rubrics.errors import InvalidFile, MissingExtra
from ..exchange.import_format import Item, ToolRecords, add_score, read_tool_json

_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0}
"""What Inspect's own metrics make of correct, partially correct and incorrect; N, no answer, is no score."""


def read_inspect(path: Path) -> ToolRecords:
    """Each sample and epoch as an item, and each score as a rating by its scorer.

    A scorer that gives one value is the attribute, one that gives several has an attribute for each. Samples that ended in an
    error and scores without a value are counted and left out: neither is 0.
    """
    log = _log(path)
    samples = [each for each in log.get("samples") or () if isinstance(each, Mapping)]
    if not samples:
        raise InvalidFile(
            f"{path}: the log has no samples", remedy="use a complete log, not one that holds the header only"
        )
    system = str(_mapping(log.get("eval")).get("model") or "")
    several = any(sample.get("epoch", 1) != 1 for sample in samples)
    records = ToolRecords()
    for sample in samples:
        asked = str(sample.get("id"))
        name = f"{asked}#{sample.get('epoch', 1)}" if several else asked
        output = _completion(_mapping(sample.get("output")))
        if not output.strip():
            records.skip(
                "samples that ended in an error" if sample.get("error") else "samples without an output", name
            )
            continue
        target = sample.get("target")
        texts = {
            "output": output,
            "question": sample.get("input"),
            "reference": "\n".join(map(str, target)) if isinstance(target, list) else target,
            "system": system,
            "group": asked if several else None,
        }
        kept = {text: value for text, value in texts.items() if value}
        records.items.append(Item(name, kept, _mapping(sample.get("metadata"))))
        for scorer, score in _mapping(sample.get("scores")).items():
            _read_score(name, scorer, _mapping(score), records)
    return records


def _read_score(name: str, scorer: str, score: Mapping[str, Any], records: ToolRecords) -> None:
    value, why = score.get("value"), score.get("explanation")
    for attribute, given in (value if isinstance(value, Mapping) else {scorer: value}).items():
        if given == "N":
            records.skip("scores of N (Inspect's mark for no answer)", f"{name}: {attribute}")
        else:
            number = _LETTERS.get(given, given) if isinstance(given, str) else given
            add_score(records, name, scorer, str(attribute), number, why)


def _completion(output: Mapping[str, Any]) -> str:
    if output.get("completion"):
        return str(output["completion"])
    choices = output.get("choices") or [{}]
    content = _mapping(_mapping(choices[0]).get("message")).get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    return str(content or "")


def _log(path: Path) -> Mapping[str, Any]:
    if path.suffix.lower() != ".eval":
        found = read_tool_json(path)
        if not isinstance(found, Mapping) or "eval" not in found:
            raise InvalidFile(
                f"{path}: this is not a log of Inspect",
                remedy="give a .json or .eval file from Inspect's logs folder",
            )
        return found
    if not path.is_file():
        raise InvalidFile(f"{path}: no such file", remedy="check the path")
    if find_spec("inspect_ai") is None:
        raise MissingExtra(
            f"{path}: Inspect's .eval files need inspect-ai",
            remedy="pip install 'venire[inspect]', or inspect log convert --to json --output-dir DIR FILE",
        )
    read = import_module("inspect_ai.log").read_eval_log
    try:
        log: Mapping[str, Any] = read(str(path)).model_dump(mode="json")
    except Exception as error:
        # Whatever another package finds wrong with its own file.
        raise InvalidFile(
            f"{path}: Inspect cannot read this file: {type(error).__name__}", remedy="copy the file again"
        ) from error
    return log


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
