"""Recorded outputs: what systems answered elsewhere, by scenario, system and case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...rubrics.errors import InvalidFile
from ...rubrics.files import near_column, nearest
from ...rubrics.rows import read_rows

COLUMNS = ("scenario", "case", "system", "output", "prompt_tokens", "completion_tokens")


@dataclass(frozen=True, slots=True)
class RecordedOutput:
    """One answer, and the tokens that it took where the file says so."""

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


Recorded = dict[str, dict[str, dict[str, RecordedOutput]]]
"""By scenario, system and case."""


def load_recorded(
    suite: Path,
    systems: Sequence[tuple[str, Sequence[Path], str | None, Mapping[str, str]]],
    scenarios: Sequence[str],
) -> tuple[Recorded, list[str]]:
    """The outputs of all files, and notes on the rows that belong to no scenario of the suite.

    Args:
        systems: Name (blank where the file has a column for it), files, scenario where the file has none, column names.
    """
    found: Recorded = {}
    notes = []
    for name, files, scenario, columns in systems:
        for unknown in set(columns) - set(COLUMNS):
            raise InvalidFile(
                f"{suite}: columns: {unknown!r} is none that outputs have", remedy=nearest(unknown, COLUMNS)
            )
        for file in files:
            other = _read(file, name, scenario, columns, scenarios, found)
            if other:
                notes.append(f"{file.name}: {other} output(s) are of scenarios that are not in the suite")
    return found, notes


def _read(
    file: Path,
    name: str,
    scenario: str | None,
    columns: Mapping[str, str],
    scenarios: Sequence[str],
    found: Recorded,
) -> int:
    """Add a file's rows to `found`; how many belong to other scenarios."""
    called = {each: columns.get(each, each) for each in COLUMNS}
    required = tuple(called[each] for each in ("case", "output", *(() if name else ("system",))))
    other = 0
    for line, row in read_rows(file, required=required):
        where = f"{file}:{line}"
        if called["scenario"] in row and str(row[called["scenario"]] or "").strip():
            at = str(row[called["scenario"]]).strip()
        else:
            at = scenario or (scenarios[0] if len(scenarios) == 1 else "")
        if not at:
            raise InvalidFile(
                f"{where}: no scenario",
                remedy="add a column scenario, or write scenario: NAME beside outputs:",
            )
        if at not in scenarios:
            other += 1
            continue
        system, case = name or _text(where, row, called["system"]), _text(where, row, called["case"])
        if row.get(called["output"]) is None:
            raise InvalidFile(
                f"{where}: no {called['output']!r}",
                remedy=f"{near_column('output', row)}give every row an output; blank where there was none",
            )
        its = found.setdefault(at, {}).setdefault(system, {})
        if case in its:
            raise InvalidFile(
                f"{where}: {system!r} has two outputs for case {case!r} of {at!r}", remedy="keep one of them"
            )
        its[case] = RecordedOutput(
            str(row[called["output"]]),
            _tokens(where, row, called["prompt_tokens"]),
            _tokens(where, row, called["completion_tokens"]),
        )
    return other


def _text(where: str, row: Mapping[str, Any], column: str) -> str:
    given = str(row.get(column) if row.get(column) is not None else "").strip()
    if not given:
        raise InvalidFile(f"{where}: no {column!r}", remedy=f"{near_column(column, row)}give it in every row")
    return given


def _tokens(where: str, row: Mapping[str, Any], column: str) -> int | None:
    given = row.get(column)
    if given is None or not str(given).strip():
        return None
    try:
        number = float(str(given))
    except ValueError:
        number = -1.0
    if number < 0 or number != int(number):
        raise InvalidFile(
            f"{where}: {given!r} is no number of tokens",
            remedy=f"give {column} as a whole number, or leave it blank",
        )
    return int(number)
