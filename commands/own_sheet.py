"""A person's own sheet, read for `venire new`: the questions about it, and how it was understood."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import console, say

if TYPE_CHECKING:
    from ..rubrics.sheet_columns import SheetColumns

_MANY_SCORES = 20
"""Scores among which a scale's highest is not missing by chance."""


def read_own_sheet(
    sheet: Path,
    attributes: Sequence[str],
    named: Sequence[str],
    scales: Sequence[str],
    people: Sequence[str],
    yes: bool,
) -> tuple[list[dict[str, str]], SheetColumns]:
    """The rows of a sheet and what its columns hold; what cannot be told is asked, or with `yes` refused."""
    from ..rubrics.sheet import read_sheet

    rows, columns = read_sheet(
        sheet,
        attributes=attributes,
        named=named,
        scales=scales,
        people=people,
        ask=None if yes else _ask,
        say=lambda words: say(words, err=True),
    )
    columns = _settle_scales(sheet, columns, rows, yes)
    _show_columns(columns, rows)
    return rows, columns


def _ask(question: str, choices: Sequence[str]) -> str:
    if choices == ("yes", "no"):
        return "yes" if click.confirm(question, err=True) else "no"
    return click.prompt(question, type=click.Choice(choices), err=True)


def _show_columns(columns: SheetColumns, rows: Sequence[Mapping[str, str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    from ..rubrics.errors import safe
    from ..rubrics.sheet_columns import MEANING
    from ..rubrics.sheet_scores import scales_of

    scales = scales_of(_rating_cells(columns, rows))
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("column", overflow="fold")
    table.add_column("is taken as", no_wrap=True)
    table.add_column("which is", overflow="fold")
    table.add_column("for example", no_wrap=True, overflow="ellipsis", max_width=24)
    for column, role in columns.roles.items():
        example = next((row[column] for row in rows if row.get(column)), "")
        style = "dim" if role in ("kept", "left out") else "bold green"
        meaning = MEANING[role]
        if role == "rating":
            low, high, _ = scales[column]
            meaning = f"people's scores, from {low} to {high}"
        table.add_row(safe(column), Text(role, style), meaning, Text(safe(" ".join(example.split())), "dim"))
    console(stderr=True).print(table)


def _settle_scales(
    sheet: Path, columns: SheetColumns, rows: Sequence[dict[str, str]], yes: bool
) -> SheetColumns:
    """Asks for the scale of columns whose highest score nobody gave in many ratings; where there are few ratings it is assumed and said."""
    from ..rubrics.errors import VenireError
    from ..rubrics.sheet import rename_columns
    from ..rubrics.sheet_scores import doubtful_scales, without_scale

    for names, (low, high, _), top in doubtful_scales(_rating_cells(columns, rows)):
        problem = f"no score in {', '.join(f'{column!r}' for column in names)} is above {top:g}"
        remedy = f"--scale {low}-{math.ceil(top)}"
        given = Counter(float(row[name]) for row in rows for name in names if row.get(name))
        if _ends_at(top, low, given):
            say(
                f"{problem}, which is often given; the scale is taken to end there; if it does not, give --scale {low}-{high}",
                err=True,
            )
            columns = rename_columns(
                columns, rows, {name: f"{without_scale(name)} ({low}-{top:g})" for name in names}
            )
            continue
        if given.total() < _MANY_SCORES or high == 10:
            say(
                f"{problem}; the scale is assumed to be {low} to {high}; if the scale is another, give {remedy}",
                err=True,
            )
            continue
        if yes:
            raise VenireError(
                f"{sheet}: {problem}, so the scale may end there or at {high}",
                remedy=f"say which: {remedy} or --scale {low}-{high}",
            )
        scale = click.prompt(
            f"{problem[0].upper()}{problem[1:]}. Which is the highest score of the scale?",
            type=click.Choice([str(number) for number in range(math.ceil(top), high + 1)]),
            err=True,
        )
        columns = rename_columns(
            columns, rows, {name: f"{without_scale(name)} ({low}-{scale})" for name in names}
        )
    return columns


def _ends_at(top: float, low: int, given: Mapping[float, int]) -> bool:
    """Whether a scale ends at the highest score of many: every step up to it was given, and it no less than half as often as the others."""
    steps = [given.get(float(step), 0) for step in range(low, math.ceil(top) + 1)]
    return (
        top % 1 == 0
        and all(steps)
        and steps[-1] >= 5
        and 2 * steps[-1] * len(steps) >= sum(given.values()) >= _MANY_SCORES
    )


def _rating_cells(columns: SheetColumns, rows: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
    return {name: [row[name] for row in rows if row.get(name)] for name in columns.of("rating")}


def confirm_columns(columns: SheetColumns, rows: Sequence[Mapping[str, str]]) -> SheetColumns:
    """The columns as the person says they are."""
    from ..rubrics.sheet_columns import ROLES

    while not click.confirm("Is this what the columns hold?", default=True, err=True):
        column = click.prompt("Which column is wrong?", type=click.Choice(list(columns.roles)), err=True)
        role = click.prompt(
            f"What does the column {column!r} hold?",
            type=click.Choice(ROLES),
            default=columns.roles[column],
            err=True,
        )
        columns = columns.with_role(column, role)
        _show_columns(columns, rows)
    return columns


def many(number: int, singular: str, plural: str = "") -> str:
    return f"{number} {singular if number == 1 else plural or singular + 's'}"
