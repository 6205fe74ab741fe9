"""The first steps: new (a folder that can be run, from a sheet or a few questions) and import."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from .options import BASE_URL, JSON, print_json, say, sheet_option
from .own_sheet import confirm_columns, many, read_own_sheet

if TYPE_CHECKING:
    from ..rubrics.sheet_columns import SheetColumns
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
    short_help="Import another tool's cases, ratings and deliberations.",
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
            f"{many(number, 'deliberation')} written to {output}; to read them, run: venire show {quote(str(output))}",
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
        say(f"{many(len(imported.cases), 'case')} written to {output}", err=True)
    if ratings is not None:
        write_ratings_file(imported.ratings, ratings)
        say(f"{many(len(imported.ratings), 'rating')} written to {ratings}", err=True)
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
@click.option(
    "--scale",
    "scales",
    multiple=True,
    metavar="[COLUMN=]LOW-HIGH",
    help="The scale of people's scores, such as 1-4, of one column or of all; repeatable.",
)
@click.option(
    "--rater",
    "people",
    multiple=True,
    metavar="NAME",
    help="A person who rated, as the names of columns have it: Smith for 'Accuracy Smith'; repeatable.",
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
            remedy="answer the questions at a terminal, or accept all guesses with --yes",
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
    scales: Sequence[str],
    people: Sequence[str],
) -> Project:
    from ..personas.jury import load_jury
    from ..rubrics.rubric import load_rubric
    from ..rubrics.sheet import sheet_ratings
    from ..rubrics.sheet_columns import SheetColumns, attribute_names
    from .project_files import EXAMPLES, Project, blank_ratings, cases_of, rubric_yaml

    own_rubric = load_rubric(rubric) if rubric else None
    rows: Sequence[Mapping[str, str]] = EXAMPLES
    columns = SheetColumns(
        {"id": "id", "output": "output", "source": "source", "group": "group", "system": "system"}
    )
    if sheet is not None:
        rows, columns = read_own_sheet(
            sheet, own_rubric.names if own_rubric else (), named, scales, people, yes
        )
        columns = columns if yes else confirm_columns(columns, rows)
    cases = cases_of(rows, columns, sheet or folder)
    _say_unseen(rows, columns)
    ratings = sheet_ratings(rows, columns) or blank_ratings(cases)
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


def _say_unseen(rows: Sequence[Mapping[str, str]], columns: SheetColumns) -> None:
    """Name the rows that are no cases, and say where jurors are given nothing to hold the texts against."""
    from ..rubrics.sheet import sheet_case_ids

    empty = [row for row, case in zip(rows, sheet_case_ids(rows, columns), strict=True) if case is None]
    if lost := sum(any(cell.strip() for cell in row.values()) for row in empty):
        text_column = columns.one("output")
        say(
            f"{many(lost, 'row')} left out, because the column {text_column!r} has no text there",
            err=True,
        )
    if columns.one("id") is None and columns.of("kept"):
        say(
            "no column is taken as the texts' ids, so they are numbered: case-1, case-2 and so on; if one holds them, give --column id=NAME",
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
    from ..rubrics.sheet_scores import noted_steps, scales_of, without_scale
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
    scales = scales_of({name: [row.get(name, "") for row in rows] for name in names})
    if columns.of("rating") and any(scales[name].high > 1 and not noted_steps(name) for name in names):
        say(
            "the highest score is taken as the best; if it is the worst, correct the words of the scale in rubric.yaml",
            err=True,
        )
    for name, attribute in attribute_names(names).items():
        quality = without_scale(name).rstrip("?")
        question = (
            f"How {quality} is the text?" if _ADJECTIVE.fullmatch(quality)
            else f"Which score does the text deserve for: {quality}?"
        )  # fmt: skip
        if not yes:
            question = click.prompt(f"The question for {name!r}", default=question, err=True)
        questions.append(Asked(attribute, question, scales[name], noted_steps(name)))
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


def _say_next(folder: Path, project: Project) -> None:
    raters = len({row["rater"] for row in project.ratings})
    say(
        f"{many(len(project.cases), 'case')}, {many(len(project.attributes), 'attribute')}, {many(project.rated, 'rating')}"
        + (f" by {many(raters, 'person', 'people')}" if project.rated else " yet")
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
