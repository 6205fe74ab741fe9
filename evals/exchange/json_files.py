"""Another tool's JSON: one document, or one object a line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...rubrics.errors import InvalidFile
from ...rubrics.files import read_text

LARGEST = 2**28
"""Bytes of one file."""


def read_tool_json(path: Path) -> Any:
    """What a tool's JSON file holds; a file of one object a line is a list of them.

    Raises:
        InvalidFile: It is not there, larger than `LARGEST`, or not JSON.
    """
    text = read_text(path, largest=LARGEST)
    try:
        return json.loads(text)
    except RecursionError:
        raise InvalidFile(f"{path}: nested too deep", remedy="export it again") from None
    except ValueError as error:
        if path.suffix.lower() not in (".jsonl", ".ndjson") and not _is_lines(text):
            raise InvalidFile(
                f"{path}: not JSON: {error}", remedy="export it again: it may be cut off"
            ) from None
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                found.append(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise InvalidFile(
                    f"{path}:{number}: not JSON: {error}", remedy="export it again: it may be cut off"
                ) from None
    return found


def read_objects(path: Path) -> list[Mapping[str, Any]]:
    """The objects in a file that is a list of them, one of them, or has one a line."""
    found = read_tool_json(path)
    listed = found if isinstance(found, list) else [found]
    for number, each in enumerate(listed, 1):
        if not isinstance(each, Mapping):
            raise InvalidFile(
                f"{path}: item {number} is a {type(each).__name__}, no object",
                remedy="name the file as the tool exported it",
            )
    return listed


def _is_lines(text: str) -> bool:
    """Whether the first line is a whole object: one object a line, under another name."""
    first = text.lstrip().split("\n", 1)[0]
    try:
        return isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False
