"""The first steps: new (a folder that can be run, from a sheet or a few questions) and import."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from .options import BASE_URL, JSON, console, print_json, say, sheet_option

if TYPE_CHECKING:
    from ..rubrics.sheet_columns import Role, SheetColumns
    from .project_files import Asked, Project


class _Import(click.Command):
    """A command whose help ends with the formats that are registered."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from ..rubrics.plugins import registered_plugins

        formatter.write_paragraph()
        formatter.write_text(f"Formats: {', '.join(registered_plugins('venire.imports'))}.")


@click.command(
    name="import",
    cls=_Import,
    short_help="Import cases, ratings and deliberations from another tool's files.",
)
@click.argument("kind", metavar="FORMAT")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="CASES|RUN",
    help="File for the cases: .jsonl, .csv, .parquet or .arrow. For deliberations: the folder of a new run.",
)
@click.option(
    "--ratings",
    type=click.Path(path_type=Path),
    help="Write the ratings in FILE, by people or by the scorers of the tool it comes from, to this .csv, .jsonl, .parquet or .arrow file.",
)
@click.option(
    "--rubric",
    help="Convert ratings that are words to this rubric's values; words that do not fit are listed and left out.",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="ROLE=NAME",
    help="Say which field of FILE to use, such as output=summary; repeatable.",
)
@JSON
def import_(
    kind: str,
    file: Path,
    output: Path | None,
    ratings: Path | None,
    rubric: str | None,
    columns: tuple[str, ...],
    as_json: bool,
) -> None:
    """Import FILE, which another tool wrote in FORMAT.

    Whatever cannot be read, or is not counted by the tool itself, is counted and listed.
    """
    from ..evals.exchange.importing import (
        check_target,
        import_deliberations,
        import_records,
        write_cases_file,
        write_ratings_file,
    )
    from ..rubrics.rubric import load_rubric

    if output is not None and not output.suffix and ratings is None:
        number = import_deliberations(kind, file, output)
        say(
            f"{_many(number, 'deliberation')} written to {output}; to read them, run: venire show {quote(str(output))}",
            err=True,
        )
        if as_json:
            print_json({"format": kind, "file": str(file), "deliberations": number})
        return
    if output is None and ratings is None:
        raise click.UsageError(
            "name a file for the cases, -o cases.jsonl, or for the ratings, --ratings ratings.csv"
        )
    for path in filter(None, (output, ratings)):
        check_target(path)
    imported = import_records(kind, file, columns=columns, rubric=load_rubric(rubric) if rubric else None)
    if output is not None:
        write_cases_file(imported.cases, output)
        say(f"{_many(len(imported.cases), 'case')} written to {output}", err=True)
    if ratings is not None:
        write_ratings_file(imported.ratings, ratings)
        say(f"{_many(len(imported.ratings), 'rating')} written to {ratings}", err=True)
    for note in imported.notes:
        say(f"- {note}", err=True)
    if as_json:
        print_json({"format": kind, "file": str(file), **imported.to_json()})


@click.command(short_help="Make a folder to start from: cases, rubric, jury, study, ratings.")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--from",
    "sheet",
    type=click.Path(path_type=Path),
    metavar="SHEET",
    help="Your own table: .xlsx, .xls, .ods, .csv, .jsonl or .parquet.",
)
@click.option("--rubric", help="A rubric file or name, instead of one made from your questions.")
@click.option("--jury", help="A jury file or name (default: you are asked).")
@click.option(
    "--model",
    help="Model, such as openai/gpt-4o-mini, for every juror and orchestrator whose model the jury file does not name.",
)
@BASE_URL
@click.option(
    "--column",
    "named",
    multiple=True,
    metavar="ROLE=COLUMN",
    help="Say what a column holds, such as output='AI summary'; repeatable.",
)
@click.option(
    "--yes",
    is_flag=True,
    help="Accept everything that was guessed about the file, such as what each column holds, without asking.",
)
@sheet_option("sheet")
def new(folder: Path, sheet: Path | None, named: tuple[str, ...], yes: bool, **chosen: Any) -> None:
    """Make a folder with cases, rubric, jury, study and ratings to start from. Needs no programming."""
    from .project_files import write_project

    try:
        project = _project(folder, sheet, named, yes, **chosen)
    except click.Abort:
        from ..rubrics.errors import VenireError

        raise VenireError(
            "not all questions were answered: nothing was written",
            remedy="answer them at a terminal, or take the guesses with --yes",
        ) from None
    for path in write_project(folder, project):
        say(f"written: {path}", err=True)
    _say_next(folder, project)


def _project(
    folder: Path,
    sheet: Path | None,
    named: Sequence[str],
    yes: bool,
    *,
    rubric: str | None,
    jury: str | None,
    model: str | None,
    base_url: str | None,
) -> Project:
    from ..personas.jury import load_jury
    from ..rubrics.rubric import load_rubric
    from ..rubrics.sheet_columns import SheetColumns, attribute_names
    from .project_files import EXAMPLES, Project, cases_of, ratings_of, rubric_yaml

    own_rubric = load_rubric(rubric) if rubric else None
    rows: Sequence[Mapping[str, str]] = EXAMPLES
    columns = SheetColumns(
        {"id": "id", "output": "output", "source": "source", "group": "group", "system": "system"}
    )
    if sheet is not None:
        rows, columns = _read_sheet(sheet, own_rubric.names if own_rubric else (), named, yes)
        columns = columns if yes else _confirm_columns(columns, rows)
    cases = cases_of(rows, columns, sheet or folder)
    _say_unseen(rows, columns)
    ratings = ratings_of(rows, columns, cases)
    if own_rubric is not None:
        rated = set(attribute_names(columns.of("rating")).values())
        attributes = [name for name in own_rubric.names if name in rated] or list(own_rubric.names)
        text = _library_text("venire.rubrics", str(rubric))
    else:
        questions = _attributes(columns, rows, yes)
        attributes, text = [question.name for question in questions], rubric_yaml("questions", questions)
    if jury is None:
        jury = "stances" if yes else _choose_jury()
    if model is None and not yes and any(seat.model is None for seat in load_jury(jury).seats):
        model = click.prompt(
            "Which model should judge? (such as openai/gpt-4o-mini; `local` is a small embedded model for trying things out)",
            err=True,
        )
    load_jury(jury)
    single_jury = "lens-single" if jury == "lens-jury" else "single"
    return Project(
        cases=cases,
        ratings=ratings,
        attributes=attributes,
        rubric=text,
        jury=_library_text("venire.juries", jury),
        single=_library_text("venire.juries", single_jury),
        model=model or None,
        base_url=base_url,
    )


def _read_sheet(
    sheet: Path, attributes: Sequence[str], named: Sequence[str], yes: bool
) -> tuple[list[dict[str, str]], SheetColumns]:
    """The rows of a sheet as text, and what its columns seem to hold, corrected by what was `named`."""
    from ..rubrics.errors import InvalidFile, VenireError
    from ..rubrics.files import nearest
    from ..rubrics.ratings import scores_by_person, unclear_persons
    from ..rubrics.sheet_columns import ROLES, competing_texts, guess_columns, unplaced_texts, unread_scores
    from ..rubrics.sheet_scores import clear_stray_scores, is_form_status, odd_score
    from ..rubrics.sheet_table import carry_merged, ids_by_system, rows_by_attribute, rows_by_person

    numbered = _sheet_rows(sheet)
    rows = [row for _, row in numbered]
    if not rows:
        raise InvalidFile(
            f"{sheet}: no rows in it", remedy="put one text in each row, below a row of column names"
        )
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = guess_columns(names, rows, attributes=attributes)
    for pair in named:
        role, _, column = pair.partition("=")
        if role not in ROLES:
            raise VenireError(f"--column {pair}: no role named {role!r}", remedy=nearest(role, ROLES))
        if column not in columns.roles:
            raise VenireError(f"{sheet}: no column named {column!r}", remedy=nearest(column, names))
        columns = columns.with_role(column, role)  # type: ignore[arg-type]
    if not any(pair.startswith("output=") for pair in named) and (texts := competing_texts(columns, rows)):
        columns = columns.with_role(_judged_text(sheet, texts, yes), "output")
    for text in unplaced_texts(columns, rows):
        if f"kept={text}" not in named:
            columns = columns.with_role(text, _role_of_text(sheet, text, yes))
    carried = carry_merged(rows, columns)
    if carried:
        say(
            f"rows without an id and a text are read as further ratings of the case above them ({_many(carried, 'row')})",
            err=True,
        )
    for note in clear_stray_scores(numbered, columns.of("rating")):
        say(note, err=True)
    scores_by_column = {name: [row.get(name, "") for row in rows] for name in columns.of("rating")}
    for name in scores_by_column:
        if (odd := odd_score(name, scores_by_column)) is not None:
            _settle_odd(sheet, name, odd, numbered, yes)
    for name in columns.of("kept"):
        if is_form_status(name, cells := [row.get(name, "") for row in rows]) and any(cells):
            say(
                f"the column {name!r} is read as REDCap's status of a form, not as scores; if it holds scores, give --column rating={name!r}",
                err=True,
            )
    for unread in unread_scores(columns, rows):
        if f"kept={unread}" not in named:
            raise InvalidFile(
                f"{sheet}: {unread!r} seems to hold scores, but not as numbers from 0 to 10 or from 0 to 100",
                remedy=f"write numbers such as 4; if they are not scores, give --column kept={unread!r}",
            )
    if (by_attribute := rows_by_attribute(rows, columns)) is not None:
        rows, columns = by_attribute
        say(
            f"each row is read as one score of one attribute; the attributes are: {', '.join(columns.of('rating'))}",
            err=True,
        )
    if (by_system := ids_by_system(rows, columns)) is not None:
        system_column = columns.one("system")
        say(f"several texts share an id but differ in {system_column!r}, which is now added to each text's id; the shared id is used as the group", err=True)  # fmt: skip
        rows, columns = by_system
    ratings = columns.of("rating") if columns.one("rater") is None else ()
    if scores := scores_by_person(ratings):
        people, subjects = (
            ", ".join(dict.fromkeys(pair[side] for pair in scores.values())) for side in (0, 1)
        )
        say(
            f"{len(scores)} columns are read as people's scores (attributes: {subjects}; people: {people})",
            err=True,
        )
        rows, columns = rows_by_person(rows, columns, scores)
    elif (unclear := unclear_persons(ratings)) and not any(f"rating={name}" in named for name in unclear):
        _refuse_unclear(sheet, unclear)
    _show_columns(columns, rows)
    _say_doubtful_scales(columns, rows)
    return rows, columns


def _sheet_rows(sheet: Path) -> list[tuple[int, dict[str, str]]]:
    """The rows of a person's table as text, with their lines; what stands above its header is said."""
    from ..rubrics.errors import InvalidFile
    from ..rubrics.files import is_workbook, split_sheet
    from ..rubrics.rows import read_grid, read_rows
    from ..rubrics.sheet_table import sheet_table

    file, _ = split_sheet(sheet)
    if not (is_workbook(file) or file.suffix.lower() in (".csv", ".tsv", ".txt")):
        return [
            (line, {str(name): _cell_text(cell) for name, cell in row.items()})
            for line, row in read_rows(sheet)
        ]
    try:
        rows, notes = sheet_table(read_grid(sheet), delimited=not is_workbook(file))
    except ValueError as error:
        raise InvalidFile(
            f"{sheet}: {error}", remedy="correct the sheet, and give each column its own name"
        ) from None
    for note in notes:
        say(note, err=True)
    return rows


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
            f"{sheet}: {text!r} may be the source, which jurors see, or something that they must not see",
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
            remedy=f"leave the cell empty if it holds no score; if it does, add the scale to the column's heading: '{column} ({ends})'",
        )
    if not click.confirm(f"{problem}. Is {odd} a score?", err=True):
        for _, row in cells:
            row[column] = ""


def _refuse_unclear(sheet: Path, columns: Sequence[str]) -> None:
    from ..rubrics.errors import VenireError

    shown = ", ".join(map(repr, columns[:4]))
    if not any(re.search(r"[\W\d_]", name) for name in columns):
        raise VenireError(
            f"{sheet}: are {shown} people who rated, or attributes?",
            remedy=f"name the columns of people as '{columns[0]}: ATTRIBUTE'; for attributes, give --column rating={columns[0]!r}",
        )
    raise VenireError(
        f"{sheet}: which part of {shown} is the person, and which the attribute?",
        remedy=f"name the columns as 'PERSON: ATTRIBUTE' or 'ATTRIBUTE (PERSON)'; if no part is a person, give --column rating={columns[0]!r}",
    )


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
    from ..rubrics.sheet_scores import scale_bounds

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
            low, high, _ = scale_bounds(column, [row.get(column, "") for row in rows])
            meaning = f"people's scores, from {low} to {high}"
        table.add_row(safe(column), Text(role, style), meaning, Text(safe(" ".join(example.split())), "dim"))
    console(stderr=True).print(table)


def _say_doubtful_scales(columns: SheetColumns, rows: Sequence[Mapping[str, str]]) -> None:
    """Name the columns whose highest score nobody gave, so that their scale may be a shorter one."""
    from ..rubrics.sheet_scores import noted_scale, scale_bounds

    names_by_scale: dict[tuple[int, int, float], list[str]] = {}
    for column in columns.of("rating"):
        cells = [row[column] for row in rows if row.get(column)]
        low, high, any_number = scale_bounds(column, cells)
        top = max(map(float, cells), default=high)
        if top < high and not any_number and noted_scale(column) is None:
            names_by_scale.setdefault((low, high, top), []).append(column)
    for (low, high, top), names in names_by_scale.items():
        say(
            f"no score in {', '.join(f'{column!r}' for column in names)} is above {top:g}; the scale is assumed to be {low} to {high}; "
            f"if the scale is another, write it after the column's name: '{names[0]} ({low}-{math.ceil(top)})'",
            err=True,
        )


def _confirm_columns(columns: SheetColumns, rows: Sequence[Mapping[str, str]]) -> SheetColumns:
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


def _say_unseen(rows: Sequence[Mapping[str, str]], columns: SheetColumns) -> None:
    """Name the rows that are no cases, and say where jurors are given nothing to hold the texts against."""
    from .project_files import case_ids

    empty = [row for row, case in zip(rows, case_ids(rows, columns), strict=True) if case is None]
    if lost := sum(any(cell.strip() for cell in row.values()) for row in empty):
        text_column = columns.one("output")
        say(
            f"{_many(lost, 'row')} left out, because the column {text_column!r} has no text there",
            err=True,
        )
    if not (columns.of("source") or columns.of("reference")):
        say(
            "no column holds the source (what the text was made from), so jurors see only the text; if there is one, give --column source=NAME",
            err=True,
        )


_ADJECTIVE = re.compile(
    r"(?!content)[a-z]+(ate|ough|ear|ful|ete|able|ible|ent|ant|ive|ous|ise|ect|ual|ic|al|afe|ite|ised|ized)"
)
"""Lower-case English words that fit after "how", by their endings; `accuracy` does not."""


def _attributes(columns: SheetColumns, rows: Sequence[Mapping[str, str]], yes: bool) -> list[Asked]:
    """The attributes that people rated in the sheet, or those that the person names."""
    from ..rubrics.sheet_columns import attribute_names
    from ..rubrics.sheet_scores import scale_bounds, without_scale
    from .project_files import Asked

    names = list(columns.of("rating"))
    if not names:
        default = "accurate, thorough, clear"
        typed = (
            default
            if yes
            else click.prompt(
                "Which qualities should be scored from 1 to 5 (separated by commas)?",
                default=default,
                err=True,
            )
        )
        names = [name.strip() for name in typed.split(",") if name.strip()]
    questions = []
    for name, attribute in attribute_names(names).items():
        quality = without_scale(name).rstrip("?")
        question = (
            f"How {quality} is the text?" if _ADJECTIVE.fullmatch(quality)
            else f"Which score does the text deserve for: {quality}?"
        )  # fmt: skip
        if not yes:
            question = click.prompt(f"The question for {name!r}", default=question, err=True)
        questions.append(Asked(attribute, question, scale_bounds(name, [row.get(name, "") for row in rows])))
    return questions


def _choose_jury() -> str:
    from ..rubrics.plugins import library

    return click.prompt(
        "Which jury? (`venire juries` describes them)",
        type=click.Choice(sorted(library("venire.juries"))),
        default="stances",
        show_choices=False,
        err=True,
    )


def _library_text(group: str, name: str) -> str:
    """The YAML of a rubric or jury: a file of the person's own, or the library's."""
    from ..rubrics.plugins import library_file

    path = Path(name)
    is_file = path.suffix in (".yaml", ".yml") or path.exists()
    text = (path if is_file else library_file(group, name, "file")).read_text(encoding="utf-8")
    # The path to its schema leads from the library's folder, not from the user's.
    return re.sub(r"\A# yaml-language-server: .*\n", "", text)


def _many(number: int, singular: str, plural: str = "") -> str:
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def _say_next(folder: Path, project: Project) -> None:
    raters = len({row["rater"] for row in project.ratings})
    say(
        f"{_many(len(project.cases), 'case')}, {_many(len(project.attributes), 'attribute')}, {_many(project.rated, 'rating')}"
        + (f" by {_many(raters, 'person', 'people')}" if project.rated else " yet")
    )
    ratings = folder / "ratings.csv"
    steps = [] if project.rated else [f"fill in {ratings}: one score for each case, person and attribute"]
    study = quote(str(folder / "study.yaml"))
    steps += [
        f"venire study plan {study}     shows what the study will ask and cost; spends nothing",
        f"venire study {study}          runs the study, and reports which jury to use",
    ]
    for number, step in enumerate(steps, 1):
        say(f"{number}. {step}")
