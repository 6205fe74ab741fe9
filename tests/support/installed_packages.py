"""Third parties' packages as an installer leaves them: a module on the path, its entry points beside it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from venire.orchestration.protocols import protocol
from venire.rubrics.plugins import plugins_by_group

Groups = Mapping[str, Mapping[str, str]]
"""Entry points by group and name."""


def put_package(folder: Path, name: str, groups: Groups, **modules: str) -> None:
    """Write a package's modules into `folder`, and what an installer records of it."""
    about = folder / f"{name.replace('-', '_')}-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    lines = [
        f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in points.items())
        for group, points in groups.items()
    ]
    (about / "entry_points.txt").write_text("".join(lines))
    for module, source in modules.items():
        (folder / f"{module}.py").write_text(source)


@contextmanager
def on_the_path(folder: Path, *modules: str) -> Iterator[None]:
    """Have the packages in `folder` found, as if this process had begun with them; `modules` are forgotten after."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        _read_anew()
        try:
            yield
        finally:
            for module in modules:
                sys.modules.pop(module, None)
    _read_anew()


def _read_anew() -> None:
    plugins_by_group.cache_clear()
    protocol.cache_clear()
