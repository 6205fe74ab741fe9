"""Import formats, which a plug-in registers under `venire.imports`, and what their readers share: JSON files, ids, scores."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from ...orchestration.reading.transcript_format import SavedDeliberation
from ...rubrics.errors import InvalidFile
from ...rubrics.files import read_text
from ...rubrics.plugins import plugged_in
from ...rubrics.ratings import Rating

GROUP = "venire.imports"


@dataclass(frozen=True, slots=True)
class Item:
    """One text that a tool kept, under the tool's own names."""

    id: str
    fields: Mapping[str, Any]
    """Its texts by name. Those named as a case's (`output`, `source`, ...) need no guess."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Kept with the case, shown to no juror."""


@dataclass(slots=True)
class ToolRecords:
    """What a reader found in a tool's file: texts, ratings or deliberations, and what it left out."""

    items: list[Item] = field(default_factory=list)
    ratings: list[Rating] = field(default_factory=list)
    """A second rating by the same person of the same attribute of an item comes after the first."""
    skipped: dict[str, list[str]] = field(default_factory=dict)
    """By reason: what the tool itself does not count, such as cancelled annotations, and where it stood."""
    unreadable: dict[Literal["case", "rating"], dict[str, list[str]]] = field(
        default_factory=lambda: {"case": {}, "rating": {}}
    )
    """By what was lost and the reason: where it stood."""
    notes: list[str] = field(default_factory=list)
    deliberations: list[SavedDeliberation] = field(default_factory=list)
    """Whole debates, to be written as a run."""

    def skip(self, why: str, where: str) -> None:
        """Count something that the tool itself does not count as an answer."""
        self.skipped.setdefault(why, []).append(where)

    def lose(self, what: Literal["case", "rating"], why: str, where: str) -> None:
        """Count something that should have been read and could not be."""
        self.unreadable[what].setdefault(why, []).append(where)


class ImportFormat(Protocol):
    """Reads a tool's file or folder."""

    def __call__(self, path: Path) -> ToolRecords:
        """Everything in `path` that is a text to judge or a rating of one.

        Raises:
            InvalidFile: The file cannot be read at all, or is of another kind.
        """
        ...


def import_format(name: str) -> ImportFormat:
    """The format registered under `name`; an error that names the nearest one when there is none."""
    plugin: ImportFormat = plugged_in(GROUP, name, "import format")
    return plugin


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
        raise InvalidFile(f"{path}: the JSON is nested too deeply", remedy="export the file again") from None
    except ValueError as error:
        if path.suffix.lower() not in (".jsonl", ".ndjson") and not _is_lines(text):
            raise InvalidFile(
                f"{path}: this is not valid JSON: {error}",
                remedy="export the file again: it may have been cut off",
            ) from None
    objects = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                objects.append(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise InvalidFile(
                    f"{path}:{number}: this is not valid JSON: {error}",
                    remedy="export the file again: it may have been cut off",
                ) from None
    return objects


def read_objects(path: Path) -> list[Mapping[str, Any]]:
    """The objects in a file that is a list of them, one of them, or has one a line."""
    document = read_tool_json(path)
    listed = document if isinstance(document, list) else [document]
    for number, entry in enumerate(listed, 1):
        if not isinstance(entry, Mapping):
            raise InvalidFile(
                f"{path}: item {number} is a {type(entry).__name__}, not an object",
                remedy="give the file that the tool exported, unchanged",
            )
    return listed


def _is_lines(text: str) -> bool:
    """Whether the first line is a whole object: one object a line, under another name."""
    first_line = text.lstrip().split("\n", 1)[0]
    try:
        return isinstance(json.loads(first_line), dict)
    except (ValueError, RecursionError):
        return False


def free_id(name: str, taken: Collection[str], *, mark: str = "#") -> str:
    """`name`, or `name#2` and so on where it is taken."""
    candidate, number = name, 1
    while candidate in taken:
        number += 1
        candidate = f"{name}{mark}{number}"
    return candidate


def score_number(value: Any) -> float | None:
    """A score as a number, true as 1 and false as 0; None where there is none, or it is not finite."""
    if not isinstance(value, bool | int | float):
        return None
    return float(value) if math.isfinite(value) else None


def add_score(
    records: ToolRecords, case: str, rater: str, attribute: str, value: Any, rationale: Any = None
) -> None:
    """Add a tool's own score as a rating; one that is not a number is counted: skipped where there is none, else unreadable."""
    number = score_number(value)
    words = str(rationale) if rationale else None
    if number is not None:
        records.ratings.append(Rating(case, rater, attribute, number, rationale=words))
    elif isinstance(value, str) and value.strip():
        records.ratings.append(Rating(case, rater, attribute, value.strip(), rationale=words))
    elif value is None or isinstance(value, float | str):
        records.skip("no score was given", f"{case}: {attribute}")
    else:
        records.lose("rating", "no single value", f"{case}: {attribute}")
