"""A person's own sheet, read for `venire new`: shown as it was understood, and asked about where it can be understood in two ways."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import console, say

if TYPE_CHECKING:
    from ..rubrics.sheet_columns import Role, SheetColumns

_MANY_SCORES = 20
"""Scores among which a scale's highest is not missing by chance."""


def read_sheet(
    sheet: Path, attributes: Sequence[str], named: Sequence[str], scales: Sequence[str], yes: bool
) -> tuple[list[dict[str, str]], SheetColumns]:
    """The rows of a sheet as text, and what its columns seem to hold, corrected by what was `named`."""
    from ..rubrics.errors import InvalidFile, VenireError
    from ..rubrics.files import nearest
    from ..rubrics.ratings import scores_by_person
    from ..rubrics.sheet_columns import ROLES, guess_columns
    from ..rubrics.sheet_scores import clear_stray_scores, odd_score, read_fractions
    from ..rubrics.sheet_table import carry_merged, ids_by_system, rows_by_attribute, rows_by_person

    numbered, told_scale = _sheet_rows(sheet)
    rows = [row for _, row in numbered]
    if not rows:
        raise InvalidFile(
            f"{sheet}: the sheet has no rows", remedy="put one text in each row, below a row of column names"
        )
    fractions = read_fractions(rows)
    for column, with_scale in fractions.items():
        say(f"{column!r} holds scores such as 4/5 and is read as {with_scale!r}", err=True)
    _rename_cells(rows, fractions)
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = guess_columns(names, rows, attributes=attributes)
    for pair in named:
        role, _, column = pair.partition("=")
        if role not in ROLES:
            raise VenireError(f"--column {pair}: no role named {role!r}", remedy=nearest(role, ROLES))
        if column not in columns.roles:
            raise VenireError(f"{sheet}: no column named {column!r}", remedy=nearest(column, names))
        columns = columns.with_role(column, role)  # type: ignore[arg-type]
    columns = _settle_texts(sheet, columns, rows, named, yes)
    columns = _settle_words(sheet, columns, rows, named, yes)
    columns = _settle_raters(sheet, columns, rows, named, yes)
    carried = carry_merged(rows, columns)
    if carried:
        say(
            f"rows without an id and a text are read as further ratings of the case above them ({many(carried, 'row')})",
            err=True,
        )
    columns = _with_scales(sheet, columns, rows, scales, told_scale)
    for note in clear_stray_scores(numbered, columns.of("rating")):
        say(note, err=True)
    scores_by_column = {name: [row.get(name, "") for row in rows] for name in columns.of("rating")}
    for name in scores_by_column:
        if (odd := odd_score(name, scores_by_column)) is not None:
            _settle_odd(sheet, name, odd, numbered, yes)
    if (by_attribute := rows_by_attribute(rows, columns)) is not None:
        rows, columns = by_attribute
        say(
            f"each row is read as one score of one attribute; the attributes are: {', '.join(columns.of('rating'))}",
            err=True,
        )
    if (by_system := ids_by_system(rows, columns)) is not None:
        system_column = by_system[1].one("system")
        say(f"several texts share an id but differ in {system_column!r}, which is now added to each text's id; the shared id is used as the group", err=True)  # fmt: skip
        rows, columns = by_system
    ratings = columns.of("rating") if columns.one("rater") is None else ()
    if scores := scores_by_person(ratings) or _settle_people(sheet, ratings, named, yes):
        people, subjects = (
            ", ".join(dict.fromkeys(pair[side] for pair in scores.values())) for side in (0, 1)
        )
        say(
            f"{len(scores)} columns are read as people's scores (attributes: {subjects}; people: {people})",
            err=True,
        )
        rows, columns = rows_by_person(rows, columns, scores)
    columns = _settle_scales(sheet, columns, rows, yes)
    _show_columns(columns, rows)
    return rows, columns


def _sheet_rows(sheet: Path) -> tuple[list[tuple[int, dict[str, str]]], tuple[int, int] | None]:
    """The rows of a person's table as text, with their lines, and the scale that is told beside it; what stands above its header is said."""
    from ..rubrics.errors import InvalidFile
    from ..rubrics.files import is_workbook, split_sheet
    from ..rubrics.rows import read_grid, read_rows
    from ..rubrics.sheet_scores import told_scale
    from ..rubrics.sheet_table import sheet_table

    file, _ = split_sheet(sheet)
    if not (is_workbook(file) or file.suffix.lower() in (".csv", ".tsv", ".txt")):
        return [
            (line, {str(name): _cell_text(cell) for name, cell in row.items()})
            for line, row in read_rows(sheet)
        ], None
    try:
        rows, notes, beside = sheet_table(read_grid(sheet), delimited=not is_workbook(file))
    except ValueError as error:
        raise InvalidFile(
            f"{sheet}: {error}", remedy="correct the sheet, and give each column its own name"
        ) from None
    for note in notes:
        say(note, err=True)
    return rows, told_scale(beside)


def _settle_texts(
    sheet: Path, columns: SheetColumns, rows: Sequence[Mapping[str, str]], named: Sequence[str], yes: bool
) -> SheetColumns:
    """The columns with one text that is judged and a role for every other; what only a place tells is said."""
    from ..rubrics.sheet_columns import competing_texts, texts_by_place, unplaced_texts

    if not any(pair.startswith("output=") for pair in named) and (texts := competing_texts(columns, rows)):
        columns = columns.with_role(_judged_text(sheet, texts, yes), "output")
    for text in unplaced_texts(columns, rows):
        if f"kept={text}" not in named:
            columns = columns.with_role(text, _role_of_text(sheet, text, yes))
    for text in texts_by_place(columns, rows):
        if f"{columns.roles[text]}={text}" not in named:
            say(
                f"{text!r} stands before the judged text and is taken as its {columns.roles[text]}, which jurors see; if they must not, "
                f"give --column kept={text!r}",
                err=True,
            )
    return columns


def _settle_words(
    sheet: Path, columns: SheetColumns, rows: Sequence[Mapping[str, str]], named: Sequence[str], yes: bool
) -> SheetColumns:
    """The columns, where none holds scores that nobody was told of: words that may be scores are asked about, others refused."""
    from ..rubrics.errors import InvalidFile, VenireError
    from ..rubrics.sheet_columns import unread_scores, yes_no_answers
    from ..rubrics.sheet_scores import is_form_status

    for name in columns.of("kept"):
        if is_form_status(name, cells := [row.get(name, "") for row in rows]) and any(cells):
            say(
                f"the column {name!r} is read as REDCap's status of a form, not as scores; if it holds scores, give --column rating={name!r}",
                err=True,
            )
    for name in yes_no_answers(columns, rows):
        if f"kept={name}" in named:
            continue
        if yes:
            raise VenireError(
                f"{sheet}: the yes and no in {name!r} may be people's scores of the text, or a fact about the case",
                remedy=f"say which: --column rating={name!r} or --column kept={name!r}",
            )
        if click.confirm(f"Are the yes and no in {name!r} people's scores of the text?", err=True):
            columns = columns.with_role(name, "rating")
    for name in unread_scores(columns, rows):
        if f"kept={name}" not in named:
            raise InvalidFile(
                f"{sheet}: the column {name!r} seems to hold scores, but not as numbers from 0 to 10 or from 0 to 100",
                remedy=f"write numbers such as 4; if the column does not hold scores, give --column kept={name!r}",
            )
    return columns


def _settle_raters(
    sheet: Path, columns: SheetColumns, rows: Sequence[Mapping[str, str]], named: Sequence[str], yes: bool
) -> SheetColumns:
    """The columns with a role for each that may name who rated."""
    from ..rubrics.errors import VenireError
    from ..rubrics.sheet_columns import attribute_column, unplaced_people

    kept = columns.of("kept")
    subject = attribute_column(kept, {name: [row.get(name, "") for row in rows] for name in kept})
    for name in unplaced_people(columns, rows):
        if f"kept={name}" in named or name == subject:
            continue
        if yes:
            raise VenireError(
                f"{sheet}: {name!r} may name the people who rated, or something else",
                remedy=f"say which: --column rater={name!r}, --column system={name!r}, --column group={name!r} or --column kept={name!r}",
            )
        roles: tuple[Role, ...] = ("rater", "system", "group", "kept")
        columns = columns.with_role(
            name, click.prompt(f"What does the column {name!r} hold?", type=click.Choice(roles), err=True)
        )
    return columns


def _with_scales(
    sheet: Path,
    columns: SheetColumns,
    rows: Sequence[dict[str, str]],
    scales: Sequence[str],
    told: tuple[int, int] | None,
) -> SheetColumns:
    """The columns of scores with the scales that the command line or the sheet tells behind their names."""
    from ..rubrics.errors import VenireError
    from ..rubrics.files import nearest
    from ..rubrics.sheet_scores import noted_scale, without_scale

    ends_by_column: dict[str, tuple[int, int]] = {}
    if told and any(noted_scale(name) is None for name in columns.of("rating")):
        say(f"the sheet says that its scale is {told[0]} to {told[1]}", err=True)
        ends_by_column = {name: told for name in columns.of("rating") if noted_scale(name) is None}
    for scale in scales:
        column, _, ends = scale.rpartition("=")
        numbers = re.fullmatch(r"(\d{1,3})-(\d{1,3})", ends.strip())
        if numbers is None or int(numbers[1]) >= int(numbers[2]):
            raise VenireError(
                f"--scale {scale}: not a scale",
                remedy="write its ends, such as 1-4, or a column and its ends",
            )
        if column and column not in columns.of("rating"):
            raise VenireError(
                f"{sheet}: no column of scores named {column!r}", remedy=nearest(column, columns.of("rating"))
            )
        ends_by_column |= dict.fromkeys(
            [column] if column else columns.of("rating"), (int(numbers[1]), int(numbers[2]))
        )
    return _rename_columns(
        columns,
        rows,
        {name: f"{without_scale(name)} ({low}-{high})" for name, (low, high) in ends_by_column.items()},
    )


def _rename_columns(
    columns: SheetColumns, rows: Sequence[dict[str, str]], names: Mapping[str, str]
) -> SheetColumns:
    _rename_cells(rows, names)
    return replace(columns, roles={names.get(name, name): role for name, role in columns.roles.items()})


def _rename_cells(rows: Sequence[dict[str, str]], names: Mapping[str, str]) -> None:
    for row in rows:
        cells = {names.get(name, name): cell for name, cell in row.items()}
        row.clear()
        row.update(cells)


def _judged_text(sheet: Path, texts: Sequence[str], yes: bool) -> str:
    """Which of several columns of texts is judged: the person says, or the command line."""
    from ..rubrics.errors import VenireError

    if yes:
        raise VenireError(
            f"{sheet}: the text to judge could be in the column {' or '.join(map(repr, texts))}",
            remedy=f"say which: --column output={texts[0]!r}",
        )
    return click.prompt("Which column holds the text to judge?", type=click.Choice(texts), err=True)


def _role_of_text(sheet: Path, text: str, yes: bool) -> Role:
    """What a column of texts is whose name says nothing, where no other is the source."""
    from ..rubrics.errors import VenireError

    if yes:
        raise VenireError(
            f"{sheet}: the column {text!r} could be the source, which jurors see, or something that they must not see",
            remedy=f"say which: --column source={text!r} or --column kept={text!r}",
        )
    roles: tuple[Role, ...] = ("source", "reference", "question", "kept")
    return click.prompt(f"What does the column {text!r} hold?", type=click.Choice(roles), err=True)


def _settle_odd(
    sheet: Path, column: str, odd: str, rows: Sequence[tuple[int, dict[str, str]]], yes: bool
) -> None:
    """Blanks a score that alone widens a column's scale, if the person says that it is none."""
    from ..rubrics.errors import VenireError

    cells = [(line, row) for line, row in rows if row.get(column) == odd]
    others = [float(row[column]) for _, row in rows if row.get(column) not in ("", odd, None)]
    problem = f"line {cells[0][0]}, column {column!r}: {odd} is far from the other scores, which are {min(others):g} to {max(others):g}"
    if yes:
        ends = (
            f"{min(0, int(float(odd)))}-{max(10, int(float(odd)))}"
            if float(odd) > 1
            else f"{odd}-{max(others):g}"
        )
        raise VenireError(
            f"{sheet}: {problem}",
            remedy=f"leave the cell empty if it holds no score; if it does, give the scale: --scale {column!r}={ends}",
        )
    if not click.confirm(f"{problem}. Is {odd} a score?", err=True):
        for _, row in cells:
            row[column] = ""


def _settle_people(
    sheet: Path, ratings: Sequence[str], named: Sequence[str], yes: bool
) -> dict[str, tuple[str, str]]:
    """By column, whose scores it holds and of what, where that has to be asked; empty where they are nobody's by name."""
    from ..rubrics.errors import VenireError
    from ..rubrics.ratings import OVERALL, unclear_persons
    from ..rubrics.sheet_scores import without_scale

    parts = unclear_persons(ratings)
    if not parts or any(
        f"rating={without_scale(name)}" in named or f"rating={name}" in named for name in parts
    ):
        return {}
    first, shown = next(iter(parts)), ", ".join(map(repr, list(parts)[:4]))
    if not any(second for _, second in parts.values()):
        problem = f"are {shown} people who rated, or attributes?"
        if yes:
            raise VenireError(
                f"{sheet}: {problem}",
                remedy=f"name the columns of people as '{first}: ATTRIBUTE'; for attributes, give --column rating={first!r}",
            )
        answer = click.prompt(problem.capitalize(), type=click.Choice(("people", "attributes")), err=True)
        return {name: (name, OVERALL) for name in parts} if answer == "people" else {}
    if yes:
        raise VenireError(
            f"{sheet}: which part of the column names {shown} is the rater's name, and which the attribute?",
            remedy=f"name the columns as 'PERSON: ATTRIBUTE' or 'ATTRIBUTE (PERSON)'; if no part is a person, give --column rating={first!r}",
        )
    side = click.prompt(
        f"Which part of the column names {shown} is the rater's name?",
        type=click.Choice(("first", "second", "neither")),
        err=True,
    )
    if side == "neither":
        return {}
    return {name: pair if side == "first" else (pair[1], pair[0]) for name, pair in parts.items()}


def _cell_text(cell: Any) -> str:
    """A cell as text; several notes in one cell, as JSON may have them, are paragraphs."""
    if isinstance(cell, list):
        return "\n\n".join(map(str, cell))
    return "" if cell is None else str(cell)


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
    from ..rubrics.sheet_scores import doubtful_scales, without_scale

    for names, (low, high, _), top in doubtful_scales(_rating_cells(columns, rows)):
        problem = f"no score in {', '.join(f'{column!r}' for column in names)} is above {top:g}"
        remedy = f"--scale {low}-{math.ceil(top)}"
        given = sum(bool(row.get(name)) for row in rows for name in names)
        if given < _MANY_SCORES or high == 10:
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
        columns = _rename_columns(
            columns, rows, {name: f"{without_scale(name)} ({low}-{scale})" for name in names}
        )
    return columns


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
