"""CONTRIBUTING's table of changes: the files that it names are there, and so are the entry points."""

from __future__ import annotations

import re
import tomllib

import pytest
from checkout import ROOT

CHANGES = """a counting rule, a client, a protocol, a coefficient, an audit, an export format, an import format, a metric, a scorer, a figure,
an executor, a rubric, a command, a page of the inspector, a host plug-in"""


def rows() -> list[list[str]]:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = page[page.index("| to add |") :].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def paths(cell: str) -> list[str]:
    return [name for name in re.findall(r"`([^`]+)`", cell) if "/" in name]


def test_it_has_the_fifteen() -> None:
    wanted = [" ".join(change.split()) for change in CHANGES.split(",")]

    assert len(wanted) == len(rows()) == 15
    for change, (named, *_) in zip(wanted, rows(), strict=True):
        assert named.startswith(change)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_each_names_files_that_are_there_and_at_most_two_to_write(row: list[str]) -> None:
    _, write, model, _ = row

    assert len([path for path in paths(write) if "NAME" in path]) <= 2
    for path in paths(write) + paths(model):
        there = ROOT / path
        assert there.parent.is_dir() if "NAME" in path else there.exists(), path


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_each_names_entry_points_that_are_there(row: list[str]) -> None:
    registered = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]

    assert set(re.findall(r"`(venire\.\w+)`", row[3])) <= set(registered)


def test_five_of_them_at_least_are_shown_in_the_example_package() -> None:
    package = ROOT / "examples/plugin-package/pyproject.toml"
    shown = set(tomllib.loads(package.read_text())["project"]["entry-points"])
    claimed = [set(re.findall(r"`(venire\.\w+)`", row[3])) for row in rows() if "(*)" in row[2]]

    assert len(claimed) >= 5 and all(groups & shown for groups in claimed)
