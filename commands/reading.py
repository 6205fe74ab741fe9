"""Reading what was said: show, export, inspect."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import click

from .options import JSON, RUN, Registered, console, report, say, sheet_option
from .replaying import show_control_run


@click.command(short_help="A run, or one deliberation of it, in the terminal.")
@RUN
@click.argument("case", required=False)
@click.option("--arm", help="Only this jury's deliberation.")
@click.option(
    "--summary",
    is_flag=True,
    help="Who moved towards whom, who conforms, what splits juries, what to look at.",
)
@click.option(
    "--human", type=click.Path(path_type=Path), help="People's ratings, of which those of CASE are shown."
)
@click.option("--wide", is_flag=True, help="The ratings have one column an attribute.")
@JSON
@sheet_option("human")
def show(
    run: Path | str,
    case: str | None,
    arm: str | None,
    summary: bool,
    human: Path | None,
    wide: bool,
    as_json: bool,
) -> None:
    """One deliberation in the terminal; without CASE, a summary of the run."""
    from ..orchestration.reading.side_by_side import holds_controls
    from ..orchestration.reading.terminal import show_case, show_summary
    from ..rubrics.ratings import read_ratings

    if summary and holds_controls(run):
        show_control_run(run, as_json=as_json)
    elif summary:
        if case is not None or as_json:
            raise click.UsageError(
                "--summary is of the whole run, and for reading: leave out CASE and --json"
            )
        show_summary(run, console())
    elif holds_controls(run):
        show_control_run(run, as_json=as_json, case=case)
    elif case is None:
        report(run, as_json=as_json)
    else:
        people = read_ratings(human, wide=wide) if human else ()
        show_case(run, case, arm, None if as_json else console(), sys.stdout, people)


@click.command()
@RUN
@click.option(
    "--to",
    cls=Registered,
    group="venire.exports",
    required=True,
    help="The format, some of them of the graph",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A file; stdout without it.")
@click.option("--count", cls=Registered, group="venire.counting", help="Recount by this rule")
@click.option("--case", help="Only this case.")
@click.option("--arm", help="Only this jury's deliberations.")
def export(
    run: Path | str, to: str, output: Path | None, count: str | None, case: str | None, arm: str | None
) -> None:
    """The run in a format other programs read. Makes no model call."""
    from ..orchestration.reading.terminal import export_run

    written = export_run(run, to, output, sys.stdout, count, case, arm)
    if output is not None:
        say(f"{written} deliberations written to {output}", err=True)


@click.command(short_help="A run in the browser, on this machine only.")
@RUN
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="A port of your choice; any free one without it."
)
@click.option("--no-open", is_flag=True, help="Print the address, open no browser.")
@click.option("--human", type=click.Path(path_type=Path), help="People's ratings, shown beside the scores.")
@click.option("--wide", is_flag=True, help="The ratings have one column an attribute.")
@click.option(
    "--alignment",
    "alignments",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="A.json",
    help="What was said and heard, as venire align wrote it; may be repeated.",
)
@sheet_option("human")
def inspect(
    run: Path | str, port: int, no_open: bool, human: Path | None, wide: bool, alignments: tuple[Path, ...]
) -> None:
    """Read RUN in the browser: served on this machine only, and only shown."""
    from ..evals.transcripts.alignment import read_alignment
    from ..rubrics.ratings import read_ratings
    from ..web.server import inspect as show_in_browser

    ratings = list(read_ratings(human, wide=wide)) if human else None
    talks = [read_alignment(path) for path in alignments]
    show_in_browser(
        run, port=port, opened=not no_open, say=partial(say, err=True), ratings=ratings, talks=talks
    )
