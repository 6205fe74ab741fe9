"""Plug-ins: what is registered by entry point. What venire brings itself takes the same road as anyone's."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from .errors import VenireError
from .files import nearest


@cache
def registered(group: str) -> Mapping[str, EntryPoint]:
    """Everything registered under `group`, by name. Looked up once: a new plug-in needs a new process."""
    found = {point.name: point for point in sorted(entry_points(group=group), key=lambda point: point.name)}
    if not found:
        raise VenireError(
            f"nothing is registered under {group!r}, not even what venire brings itself",
            remedy="install venire again: pip install, with -e . in a checkout",
        )
    return found


def plugged_in(group: str, name: str, noun: str) -> Any:
    """What is registered under `name`; an error that names the nearest one when there is nothing."""
    found = registered(group)
    if name not in found:
        raise VenireError(f"no {noun} named {name!r}", remedy=nearest(name, found))
    return found[name].load()


def library(group: str) -> dict[str, Path]:
    """The YAML files in the folders registered under `group`, by name.

    Each entry point loads to the `Path` of a folder. Where two folders have a file of the same name, venire's own
    counts, and then the one whose entry point comes first by name.
    """
    folders = [(name != "venire", name, point.load()) for name, point in registered(group).items()]
    files: dict[str, Path] = {}
    for _, _, folder in sorted(folders):
        for path in sorted(Path(folder).glob("*.yaml")):
            files.setdefault(path.stem, path)
    return files


def library_file(group: str, name: str, noun: str) -> Path:
    """The library's file for `name`; an error that names the nearest one when there is none."""
    found = library(group)
    if name not in found:
        raise VenireError(
            f"no {noun} named {name!r}, in the library or as a file", remedy=nearest(name, found)
        )
    return found[name]
