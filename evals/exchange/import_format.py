"""Import formats: what `venire import NAME` looks up. A plug-in registers one under `venire.imports`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

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
    """What a reader found in a tool's file: texts, ratings, and what it left out."""

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
    found: ImportFormat = plugged_in(GROUP, name, "import format")
    return found
