"""Which jury to use: study, with plan, run and report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .options import IN_FLIGHT, JSON, QUIET, RESAMPLES, RPM, TPM, console, location, print_json

STUDY = click.argument("study", type=click.Path(path_type=Path))
OUTPUT = click.option(
    "-o", "--output", type=location, metavar="RUN", help="The run's directory; beside the file without it."
)


class _OrWhole(click.Group):
    """A group whose first word may also be a study file: then it is planned, run and reported."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        asks_help = bool(args) and args[0] in ctx.help_option_names
        if args and not asks_help and args[0] not in self.commands:
            args = ["whole", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_OrWhole)
def study() -> None:
    """Sweep compositions: plan, run and report a study, or all three with the file alone: study STUDY.yaml."""


@study.command()
@STUDY
@JSON
def plan(study: Path, as_json: bool) -> None:
    """Every arm of STUDY with its calls, tokens and price; everything that is wrong. Spends nothing."""
    from ..evals.pages.study_entry import made_plan

    planned = made_plan(study)
    if as_json:
        print_json(planned.json())
    else:
        planned.show(console())


@study.command()
@STUDY
@OUTPUT
@IN_FLIGHT
@RPM
@TPM
@QUIET
@JSON
def run(study: Path, output: Path | str | None, as_json: bool, **options: Any) -> None:
    """Have every arm of STUDY hear its cases, what they have in common once; resumes where it left off."""
    from ..evals.pages.study_entry import made_plan

    planned = made_plan(study)
    ended = planned.run(output, console(stderr=True), **options)
    if as_json:
        print_json(ended.json())
    _finish(ended.limit)


@study.command()
@STUDY
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="A folder for the page, its tables and figures."
)
@RESAMPLES
@JSON
def report(study: Path, output: Path | None, resamples: int, as_json: bool) -> None:
    """What STUDY (its file, or its run) found: the frontier of agreement against cost, and which arm to use."""
    from ..evals.pages.study_entry import made_report

    _told(made_report(study, output, resamples=resamples), as_json)


@study.command(hidden=True)
@STUDY
@OUTPUT
@IN_FLIGHT
@RPM
@TPM
@QUIET
@RESAMPLES
@JSON
def whole(study: Path, output: Path | str | None, resamples: int, as_json: bool, **options: Any) -> None:
    """Plan, run and report."""
    from ..evals.pages.study_entry import made_plan, report_of

    planned = made_plan(study)
    if not options["quiet"]:
        planned.show(console(stderr=True))
    ended = planned.run(output, console(stderr=True), **options)
    if ended.limit is None:
        _told(report_of(planned, ended.folder, resamples=resamples), as_json)
    _finish(ended.limit)


def _told(found: Any, as_json: bool) -> None:
    if as_json:
        print_json(found.json())
        return
    found.show(console())
    click.echo(f"written: {found.page}", err=True)


def _finish(limit: str | None) -> None:
    if limit == "interrupt":
        raise SystemExit(130)
    if limit is not None:
        click.echo(
            f"stopped: {limit} was reached; raise it, and run the same command again to continue", err=True
        )
        raise SystemExit(3)
