"""How many jurors are enough, and how harsh each of them is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .options import JSON, RUN, console, location, print_json, say


@click.command(short_help="How many jurors and repeats are enough, and what they cost.")
@RUN
@click.option("--arm", help="The jury; without it, the first of two seats or more.")
@click.option("--attribute", help="Only this attribute.")
@JSON
def dstudy(run: Path | str, arm: str | None, attribute: str | None, as_json: bool) -> None:
    """Where the variance of RUN's scores comes from, and what more or fewer jurors and repeats would give.

    First ballots and final ones are analysed apart: after a round, jurors are no longer independent.
    """
    from ..evals.inference.run_dstudy import run_dstudy
    from ..evals.pages.dstudy_tables import components_table, designs_table, dstudy_json

    found = run_dstudy(run, arm=arm, attribute=attribute)
    if as_json:
        print_json(dstudy_json(str(run), found))
        return
    console().print(components_table(found))
    for each in found.studies:
        say(f"\n{each.attribute}, {each.stage} ballots")
        console().print(designs_table(each))
        if each.components.note:
            say(f"  note: {each.components.note}")
    for each in found.studies:
        say(f"- {each.sentence}")
    for note in found.notes:
        say(f"  note: {note}")


@click.command(short_help="How harsh each juror is and how good each case, in one model.")
@click.argument("source", metavar="RUN|RATINGS", type=location)
@click.option("--arm", help="Of a run: the jury; without it, the first of two seats or more.")
@click.option(
    "--human", type=click.Path(path_type=Path), help="Of a run: people's ratings, as further raters."
)
@click.option("--wide", is_flag=True, help="The ratings have one column an attribute.")
@click.option("--stage", type=click.Choice(["first", "final"]), default="final", show_default=True, help="Of a run: which ballots.")  # fmt: skip
@click.option("--model", type=click.Choice(["rating-scale", "partial-credit"]), default="rating-scale", show_default=True, help="One set of steps, or one for each attribute.")  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE.html", help="A page with the Wright map."
)
@JSON
def facets(source: Path | str, human: Path | None, wide: bool, output: Path | None, as_json: bool, **options: Any) -> None:  # fmt: skip
    """How harsh each juror or person is, how hard each attribute and how good each case, on one scale.

    Reads a run's ballots or a table of ratings. Raters who share no case with the others are refused.
    """
    from ..evals import load_ratings
    from ..evals.inference.run_facets import facets_section, rating_facets, run_facets
    from ..evals.pages.facet_tables import facets_json, facets_page, severity_table
    from ..orchestration.record.atomic_write import write_atomically

    if isinstance(source, Path) and source.is_file():
        found = rating_facets(load_ratings(source, wide=wide), model=options["model"])
    else:
        people = load_ratings(human, wide=wide) if human else None
        found = run_facets(
            source, arm=options["arm"], human=people, stage=options["stage"], model=options["model"]
        )
    if output is not None:
        write_atomically(output, facets_page(str(source), found))
        say(f"written: {output}", err=True)
    if as_json:
        print_json(facets_json(str(source), found))
        return
    console().print(severity_table(found))
    section = facets_section(found)
    for sentence in section.sentences:
        say(f"- {sentence}")
    for note in section.notes:
        say(f"  note: {note}")
