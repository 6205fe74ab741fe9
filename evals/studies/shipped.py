"""Study files that come with the package, or with a plug-in: named like a shipped jury, run in the working directory."""

from __future__ import annotations

from pathlib import Path

from ...rubrics.plugins import library, library_file

LIBRARY = Path(__file__).parent / "library"
GROUP = "venire.studies"


def study_path(named: Path) -> Path:
    """The file or run that is named; where there is none, the shipped study of that name, with or without `.yaml`."""
    if named.exists() or named.parent != Path():
        return named
    name = named.stem if named.suffix in (".yaml", ".yml") else str(named)
    return library_file(GROUP, name, "study")


def is_shipped(path: Path) -> bool:
    """Whether a file is one of a library's."""
    return path in library(GROUP).values()
