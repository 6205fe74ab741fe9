"""Recorded outputs: what systems answered elsewhere, by scenario, system and case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...rubrics.errors import InvalidFile, count_words
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
    recorded: Recorded = {}
    notes = []
    for name, files, scenario, columns in systems:
        for unknown in set(columns) - set(COLUMNS):
            raise InvalidFile(
                f"{suite}: columns: outputs have no column {unknown!r}", remedy=nearest(unknown, COLUMNS)
            )
        for file in files:
            elsewhere = _read(file, name, scenario, columns, scenarios, recorded)
            if elsewhere:
                notes.append(
                    f"{file.name}: {count_words(elsewhere, 'output')} left out, because the suite does not have the named scenario"
                )
    return recorded, notes


def _read(
    file: Path,
    name: str,
    scenario: str | None,
    columns: Mapping[str, str],
    scenarios: Sequence[str],
    recorded: Recorded,
) -> int:
    """Add a file's rows to `recorded`; how many belong to other scenarios."""
    headings = {column: columns.get(column, column) for column in COLUMNS}
    required = tuple(headings[column] for column in ("case", "output", *(() if name else ("system",))))
    elsewhere = 0
    for line, row in read_rows(file, required=required):
        place = f"{file}:{line}"
        if headings["scenario"] in row and str(row[headings["scenario"]] or "").strip():
            at = str(row[headings["scenario"]]).strip()
        else:
            at = scenario or (scenarios[0] if len(scenarios) == 1 else "")
        if not at:
            raise InvalidFile(
                f"{place}: it is not said which scenario the output belongs to",
                remedy="add a column scenario, or in the suite file write scenario: NAME beside outputs:",
            )
        if at not in scenarios:
            elsewhere += 1
            continue
        system, case = name or _text(place, row, headings["system"]), _text(place, row, headings["case"])
        if row.get(headings["output"]) is None:
            raise InvalidFile(
                f"{place}: {headings['output']!r} is missing",
                remedy=f"{near_column('output', row)}give every row a cell for the output; leave it blank if there was no output",
            )
        outputs = recorded.setdefault(at, {}).setdefault(system, {})
        if case in outputs:
            raise InvalidFile(
                f"{place}: {system!r} has two outputs for case {case!r} of {at!r}",
                remedy="keep one of the two rows",
            )
        outputs[case] = RecordedOutput(
            str(row[headings["output"]]),
            _tokens(place, row, headings["prompt_tokens"]),
            _tokens(place, row, headings["completion_tokens"]),
        )
    return elsewhere


def _text(place: str, row: Mapping[str, Any], column: str) -> str:
    cell = str(row.get(column) if row.get(column) is not None else "").strip()
    if not cell:
        raise InvalidFile(
            f"{place}: {column!r} is missing",
            remedy=f"{near_column(column, row)}give every row a value for {column}",
        )
    return cell


def _tokens(place: str, row: Mapping[str, Any], column: str) -> int | None:
    cell = row.get(column)
    if cell is None or not str(cell).strip():
        return None
    try:
        number = float(str(cell))
    except ValueError:
        number = -1.0
    if not (number.is_integer() and number >= 0):
        raise InvalidFile(
            f"{place}: {cell!r} is not a number of tokens",
            remedy=f"write {column} as a whole number, or leave the cell blank",
        )
    return int(number)
