"""Reading what was said: show, export, inspect."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import ARM, JSON, RUN, Registered, console, location, report, say, say_sealed, sheet_option
from .replaying import show_control_run

if TYPE_CHECKING:
    from ..orchestration.reading.analysis import Flag
    from ..orchestration.verdict import Verdict

CONTROLS = click.option(
    "--controls",
    type=location,
    metavar="CHILD",
    help="The run that holds the control runs made for RUN (default: the one next to RUN).",
)


@click.command(short_help="Show a run, or one deliberation, in the terminal.")
@RUN
@click.argument("case", required=False)
@click.option("--arm", help="Only this jury's deliberation.")
@click.option(
    "--summary",
    is_flag=True,
    help="Show who moved towards whom, who conforms, what jurors differ on and which deliberations to read first.",
)
@click.option(
    "--human", type=click.Path(path_type=Path), help="File of people's ratings; those of CASE are shown."
)
@CONTROLS
@JSON
@sheet_option("human")
def show(
    run: Path | str,
    case: str | None,
    arm: str | None,
    summary: bool,
    human: Path | None,
    controls: Path | str | None,
    as_json: bool,
) -> None:
    """Show one deliberation in the terminal; without CASE, a summary of the run."""
    from ..orchestration.reading.side_by_side import controlled_run, controls_beside
    from ..orchestration.reading.terminal import show_case, show_summary
    from ..rubrics.ratings import read_ratings

    if controlled_run(run) is not None:
        show_control_run(run, as_json=as_json, case=None if summary else case)
        return
    if summary and (case is not None or as_json):
        raise click.UsageError("--summary describes the whole run: leave out CASE and --json")
    if not summary and case is None:
        report(run, as_json=as_json)
        return
    controls = controls or controls_beside(run)
    reword = partial(_with_controls, controls) if controls else None
    if case is not None:
        people = read_ratings(human) if human else ()
        show_case(run, case, arm, None if as_json else console(), sys.stdout, people, reword)
        return
    show_summary(run, console(), reword)
    if controls:
        say(f"\ncontrols in {controls}")
        show_control_run(controls, as_json=False)


def _with_controls(controls: Path | str, verdict: Verdict, found: tuple[Flag, ...]) -> tuple[Flag, ...]:
    from ..evals.causes.controls import controlled_moves, with_controls

    return with_controls(verdict.arm, found, controlled_moves(controls, verdict.case))


@click.command()
@RUN
@click.option(
    "--to",
    cls=Registered,
    group="venire.exports",
    required=True,
    help="Format: site (the whole inspector as files), or one of these",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File to write (for site: a folder); default: stdout.",
)
@click.option("--count", cls=Registered, group="venire.counting", help="Count the votes again by this rule")
@click.option("--case", help="Only this case.")
@click.option(
    "--no-prompts",
    is_flag=True,
    help="For html and site: leave out the messages to models and their replies.",
)
@ARM
def export(
    run: Path | str,
    to: str,
    output: Path | None,
    count: str | None,
    case: str | None,
    no_prompts: bool,
    arm: str | None,
) -> None:
    """Write a run in a format for other programs. Makes no model call."""
    from ..orchestration.reading.terminal import export_run
    from ..rubrics.errors import count_words

    if to == "site":
        from ..web.standalone import write_site

        if output is None or count or case or arm:
            raise click.UsageError(
                "--to site writes the whole run: give -o FOLDER, without --count, --case and --arm"
            )
        say(f"{write_site(run, output, prompts=not no_prompts)} pages written to {output}", err=True)
        say_sealed(run)
        return
    count_written = export_run(run, to, output, sys.stdout, count, case, arm, prompts=not no_prompts)
    if output is not None:
        say(f"{count_words(count_written, 'deliberation')} written to {output}", err=True)
    say_sealed(run)


@click.command(short_help="Open a run, or a folder of runs, in the browser, on this machine only.")
@RUN
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on (default: any free one)."
)
@click.option("--no-open", is_flag=True, help="Print the address instead of opening a browser.")
@click.option("--human", type=click.Path(path_type=Path), help="People's ratings, shown beside the scores.")
@click.option(
    "--alignment",
    "alignments",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="A.json",
    help="An alignment file that `venire align` wrote; repeatable.",
)
@CONTROLS
@sheet_option("human")
def inspect(
    run: Path | str,
    port: int,
    no_open: bool,
    human: Path | None,
    alignments: tuple[Path, ...],
    controls: Path | str | None,
) -> None:
    """Read RUN in the browser, on this machine only. Nothing can be changed there.

    A folder of runs opens as a list: open one run, or see any two side by side.
    """
    from ..evals.transcripts.alignment import read_alignment
    from ..rubrics.ratings import read_ratings
    from ..web.folder import FolderInspector, runs_in
    from ..web.loopback import serve_until_interrupted
    from ..web.server import inspect as show_in_browser

    if isinstance(run, Path) and runs_in(run):
        if human or alignments or controls:
            raise click.UsageError(
                "--human, --alignment and --controls work with one run only: instead of the folder, name one of its runs"
            )
        folder = FolderInspector(run)
        serve_until_interrupted(folder, str(run), port=port, opened=not no_open, say=partial(say, err=True))
        return
    ratings = list(read_ratings(human)) if human else None
    talks = [read_alignment(path) for path in alignments]
    show_in_browser(
        run,
        port=port,
        opened=not no_open,
        say=partial(say, err=True),
        ratings=ratings,
        talks=talks,
        controls=controls,
    )
