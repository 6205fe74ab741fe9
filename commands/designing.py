"""How many jurors are enough, and how harsh each of them is."""

from __future__ import annotations

from pathlib import Path

import click

from .options import JSON, RUN, console, print_json, say


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
