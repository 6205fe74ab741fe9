"""Plug-ins: what packages register by entry point. The one look-up of every group; venire's own take it too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import Distribution, EntryPoint, distributions, entry_points
from pathlib import Path
from traceback import walk_tb
from typing import Any

from .errors import VenireError
from .files import nearest

OWN = "venire"
"""The package whose plug-ins are venire's own."""


class BrokenPlugin(VenireError):
    """An installed package registers something that cannot be used."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """A name that is registered under a group, not yet imported."""

    name: str
    group: str
    points: Mapping[str, EntryPoint]
    """By the name of the package that registers it: more than one is a clash."""

    def load(self) -> Any:
        """Import what is registered.

        Raises:
            BrokenPlugin: Two packages register the name, or the one that does cannot be imported.
        """
        packages = list(self.points)
        if len(packages) > 1:
            raise BrokenPlugin(
                f"the packages {' and '.join(packages)} both register {self.name!r} under {self.group}",
                remedy=f"remove one of them: pip uninstall {packages[-1]}",
            )
        try:
            return self.points[packages[0]].load()
        except VenireError:
            raise
        except Exception as error:
            # Anything may go wrong in somebody else's module; in venire's own it is a bug, and keeps its traceback.
            if packages == [OWN]:
                raise
            reason = (str(error).splitlines() or [""])[0]
            raise BrokenPlugin(
                f"{self.name!r} ({self.group}) of the package {packages[0]} cannot be imported: "
                f"{type(error).__name__}: {reason}",
                remedy=f"repair or upgrade {packages[0]}, or remove it: pip uninstall {packages[0]}",
            ) from error


def registered_plugins(group: str) -> Mapping[str, Plugin]:
    """Everything registered under `group`, by name; nothing is imported."""
    if group not in plugins_by_group():
        raise VenireError(
            f"no plug-in is registered under {group!r}, not even venire's own",
            remedy="install venire again with pip (in a checkout: pip install -e .)",
        )
    return plugins_by_group()[group]


@cache
def plugins_by_group() -> Mapping[str, Mapping[str, Plugin]]:
    """What every installed package registers for venire. Read once, for all groups: a new plug-in needs a new process."""
    installed = entry_points()
    groups = [group for group in installed.groups if group.startswith(f"{OWN}.")]
    return {group: _plugins(group, installed.select(group=group)) for group in groups}


def _plugins(group: str, points: Iterable[EntryPoint]) -> Mapping[str, Plugin]:
    points_by_name: dict[str, dict[str, EntryPoint]] = {}
    # A package that stands on the path twice, as a checkout does beside its installation, registers once.
    for point in sorted(points, key=lambda p: (p.name, _package(p) != OWN, _package(p))):
        points_by_name.setdefault(point.name, {}).setdefault(_package(point), point)
    return {name: Plugin(name, group, named) for name, named in points_by_name.items()}


def plugged_in(group: str, name: str, noun: str) -> Any:
    """What is registered under `name`, imported; an error that names the nearest one when there is nothing."""
    plugins = registered_plugins(group)
    if name not in plugins:
        raise unknown(group, name, noun)
    return plugins[name].load()


def unknown(group: str, name: str, noun: str) -> VenireError:
    """The error for a name that no package registers: the nearest known one, and how another is added."""
    return VenireError(
        f"no {noun} named {name!r}",
        remedy=f"{nearest(name, registered_plugins(group))} (installed packages can add more, with the entry point group {group})",
    )


def load_all(group: str) -> dict[str, Any]:
    """Everything registered under `group`, imported, for a list; what cannot be is there as its `BrokenPlugin`."""
    plugins: dict[str, Any] = {}
    for name, plugin in registered_plugins(group).items():
        try:
            plugins[name] = plugin.load()
        except BrokenPlugin as broken:
            plugins[name] = broken
    return plugins


def plugin_fault(error: Exception) -> BrokenPlugin | None:
    """The error of the package whose plug-in raised `error`, with the place in it; None where no other package than venire has a hand in it."""
    packages = {
        point.module.partition(".")[0]: _name(package)
        for package in distributions()
        for point in package.entry_points
        if point.group.startswith(f"{OWN}.")
    }
    for frame, line in reversed(list(walk_tb(error.__traceback__))):
        module = str(frame.f_globals.get("__name__"))
        package = packages.get(module.partition(".")[0], OWN)
        if package != OWN:
            reason = (str(error).splitlines() or [""])[0]
            return BrokenPlugin(
                f"the plug-in {module}.{frame.f_code.co_name} failed at line {line}: {type(error).__name__}: {reason}",
                remedy=f"report this to the authors of {package}, or remove the package: pip uninstall {package}; answers that were paid for are in the record",
            )
    return None


def library(group: str) -> dict[str, Path]:
    """The YAML files in the folders registered under `group`, by name, as far as the folders can be loaded.

    Each entry point loads to the `Path` of a folder. Where two folders have a file of the same name, venire's own
    counts, and then the one whose entry point comes first by name.
    """
    files: dict[str, Path] = {}
    for folder in _folders(group):
        if not isinstance(folder, BrokenPlugin):
            files = {**{path.stem: path for path in sorted(folder.glob("*.yaml"))}, **files}
    return files


def library_file(group: str, name: str, noun: str) -> Path:
    """The library's file for `name`; an error that names the nearest one when there is none."""
    files = library(group)
    if name in files:
        return files[name]
    for folder in _folders(group):
        if isinstance(folder, BrokenPlugin):
            raise folder
    raise VenireError(f"no {noun} named {name!r}, in the library or as a file", remedy=nearest(name, files))


def _folders(group: str) -> list[Path | BrokenPlugin]:
    """The folders of a library, venire's own first; the error of each that cannot be loaded in its place."""
    folders = sorted(load_all(group).items(), key=lambda entry: (entry[0] != OWN, entry[0]))
    return [folder if isinstance(folder, BrokenPlugin) else Path(folder) for _, folder in folders]


def _package(point: EntryPoint) -> str:
    return _name(point.dist) if point.dist is not None else "(unknown)"


@cache
def _name(package: Distribution) -> str:
    """The package's name, parsed from its metadata: once, as all its entry points share one object."""
    return package.name
