"""What other tools keep, as cases and ratings: import."""

from __future__ import annotations

from pathlib import Path

import click

from .options import JSON, print_json, say


@click.command(name="import", short_help="Cases and ratings out of another tool's files.")
@click.argument("kind", metavar="FORMAT")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="CASES",
    help="The cases: .jsonl, .csv, .parquet or .arrow.",
)
@click.option(
    "--ratings",
    type=click.Path(path_type=Path),
    help="What people, or the tool's own scorers, said of them: .csv, .jsonl, .parquet or .arrow.",
)
@click.option(
    "--rubric", help="Turn words into its values, and leave out and name what is on no scale of it."
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="ROLE=NAME",
    help="What one of the tool's texts is, such as output=summary; may be repeated.",
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
    """Read FILE as another tool wrote it: label-studio, argilla, inspect, helm, promptfoo, deepeval, openai-evals.

    Everything that cannot be read, or that the tool itself does not count, is counted and named.
    """
    from ..evals.exchange.importing import import_records
    from ..evals.exchange.row_files import check_target, write_cases_file, write_ratings_file
    from ..rubrics.rubric import load_rubric

    if output is None and ratings is None:
        raise click.UsageError(
            "name a file for the cases, -o cases.jsonl, or for the ratings, --ratings ratings.csv"
        )
    for path in filter(None, (output, ratings)):
        check_target(path)
    found = import_records(kind, file, columns=columns, rubric=load_rubric(rubric) if rubric else None)
    if output is not None:
        write_cases_file(found.cases, output)
        say(f"{len(found.cases)} cases written to {output}", err=True)
    if ratings is not None:
        write_ratings_file(found.ratings, ratings)
        say(f"{len(found.ratings)} ratings written to {ratings}", err=True)
    for note in found.notes:
        say(f"- {note}", err=True)
    if as_json:
        print_json({"format": kind, "file": str(file), **found.to_json()})
