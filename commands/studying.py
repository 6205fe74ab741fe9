"""Which jury to use: study plan, run and report; dstudy; facets."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import (
    BATCH,
    FULL,
    IN_FLIGHT,
    JSON,
    POLL,
    QUIET,
    REQUIRE,
    RESAMPLES,
    RETRY,
    RPM,
    RUN,
    TPM,
    batch_settings,
    console,
    exit_unless_met,
    exit_unless_whole,
    filled_juries,
    location,
    print_json,
    say,
    sheet_option,
)

if TYPE_CHECKING:
    from ..evals.studies.plan import StudyPlan
    from ..evals.studies.study_record import StudySession
    from ..evals.studies.study_report import StudyReport
    from ..evals.studies.study_run import StudyRun


@click.command(short_help="Estimate how many jurors and repeats are enough, and what they cost.")
@RUN
@click.option("--arm", help="The jury to use (default: the first with two or more jurors).")
@click.option("--attribute", help="Only this attribute.")
@JSON
def dstudy(run: Path | str, arm: str | None, attribute: str | None, as_json: bool) -> None:
    """Show where the variance of RUN's scores comes from, and what more or fewer jurors and repeats would change.

    First and final ballots are analysed separately: after a round, jurors are no longer independent.
    """
    from ..evals.inference.dstudy import dstudy_answer, dstudy_json, run_dstudy
    from ..evals.report.terminal import show_answer

    found = run_dstudy(run, arm=arm, attribute=attribute)
    if as_json:
        print_json(dstudy_json(str(run), found))
        return
    show_answer(dstudy_answer(found), console())


@click.command(short_help="Estimate how harsh each juror is and how good each case is, in one model.")
@click.argument("source", metavar="RUN|RATINGS", type=location)
@click.option("--arm", help="For a run: the jury (default: the first with two or more jurors).")
@click.option(
    "--human",
    type=click.Path(path_type=Path),
    help="File of people's ratings; with a run, these people are counted as raters beside its jurors.",
)
@click.option("--stage", type=click.Choice(["first", "final"]), default="final", show_default=True, help="For a run: use the first or the final ballots.")  # fmt: skip
@click.option("--model", type=click.Choice(["rating-scale", "partial-credit"]), default="rating-scale", show_default=True, help="Estimate the steps between scores once for all attributes, or separately for each attribute.")  # fmt: skip
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE.html",
    help="Write an HTML page with the Wright map.",
)
@JSON
@sheet_option("human")
def facets(source: Path | str, human: Path | None, output: Path | None, as_json: bool, **options: Any) -> None:  # fmt: skip
    """Estimate on one scale how harsh each juror or person is, how hard each attribute is and how good each case is.

    Reads a run's ballots or a table of ratings. Raters who share no case with the others are refused.
    """
    from ..evals import load_ratings
    from ..evals.inference.facets import facets_answer, facets_json, facets_page, rating_facets, run_facets
    from ..evals.report.terminal import show_answer
    from ..orchestration.record.private_files import write_atomically

    if isinstance(source, Path) and source.is_file():
        found = rating_facets(load_ratings(source), model=options["model"])
    else:
        people = load_ratings(human) if human else None
        found = run_facets(
            source, arm=options["arm"], human=people, stage=options["stage"], model=options["model"]
        )
    if output is not None:
        write_atomically(output, facets_page(str(source), found))
        say(f"written: {output}", err=True)
    if as_json:
        print_json(facets_json(str(source), found))
        return
    show_answer(facets_answer(found), console())


class _StudyFile(click.Path):
    """A study file, a study's run, or the name of a study that is shipped: 004.yaml, 000.yaml."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from ..evals.studies.study_files import study_path

        return study_path(Path(str(super().convert(value, param, ctx))))


STUDY = click.argument("study", type=_StudyFile(path_type=Path))
OUTPUT = click.option(
    "-o",
    "--output",
    type=location,
    metavar="RUN",
    help="The run's directory (default: next to the study file).",
)


class _OrWhole(click.Group):
    """A group whose first word may also be a study file: then it is planned, run and reported."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        asks_help = bool(args) and args[0] in ctx.help_option_names
        if args and not asks_help and args[0] not in self.commands:
            args = ["whole", *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        # Usage and errors speak of `venire study`: nobody types the hidden name.
        return "" if name == "whole" else name, command, rest


@click.group(cls=_OrWhole, short_help="Find out which jury to use: plan, run and report a study.")
def study() -> None:
    """Plan, run and report a study of many juries. `venire study STUDY.yaml` does all three."""


@study.command()
@STUDY
@click.option(
    "--lock",
    is_flag=True,
    help="Register the study before it is run: write hashes of all its decisions to a file next to STUDY.",
)
@JSON
def plan(study: Path, lock: bool, as_json: bool) -> None:
    """Check STUDY and print what each arm will cost. Spends nothing."""
    from ..evals.studies.plan import plan_study
    from ..evals.studies.study_plan import plan_json, show_plan

    planned = plan_study(study)
    if as_json:
        print_json(plan_json(planned))
    else:
        show_plan(planned, console())
    if lock:
        from ..evals.studies.registration import lock_study

        say(f"registered: {lock_study(planned)}", err=True)


@study.command()
@STUDY
@OUTPUT
@IN_FLIGHT
@BATCH
@POLL
@RPM
@TPM
@RETRY
@QUIET
@JSON
def run(study: Path, output: Path | str | None, as_json: bool, **pace: Any) -> None:
    """Run every arm of STUDY; resumes where it left off.

    Calls that arms have in common are made once.
    """
    session = _session(study, output, pace)
    ended = _run(_plan_with_models(study, session), session)
    if as_json:
        print_json(ended.json())
    exit_unless_whole(ended.limit, ended.unreached)


@study.command()
@STUDY
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Write the page, its tables and figures to this folder.",
)
@RESAMPLES
@FULL
@REQUIRE
@JSON
def report(
    study: Path,
    output: Path | None,
    resamples: int,
    full: bool,
    required: tuple[str, ...],
    as_json: bool,
) -> None:
    """Report what STUDY found, and which arm to use.

    STUDY is the study's file or its run.
    """
    from ..evals.studies.findings import findings_at
    from ..evals.studies.study_report import write_study_report

    found = findings_at(study, resamples=resamples)
    written = write_study_report(found, output)
    _show(written, as_json, full=full)
    exit_unless_met(required, written.scores)


@study.command(hidden=True)
@STUDY
@OUTPUT
@IN_FLIGHT
@BATCH
@POLL
@RPM
@TPM
@RETRY
@QUIET
@RESAMPLES
@FULL
@JSON
def whole(
    study: Path, output: Path | str | None, resamples: int, full: bool, as_json: bool, **pace: Any
) -> None:
    """Plan, run and report a study."""
    session = _session(study, output, pace)
    planned = _plan_with_models(study, session)
    # Imported late: a model that cannot be reached is told at once.
    from ..evals.studies.findings import plan_findings
    from ..evals.studies.study_plan import show_plan
    from ..evals.studies.study_report import write_study_report

    if not pace["quiet"]:
        show_plan(planned, console(stderr=True), arms=full)
    ended = _run(planned, session)
    if ended.limit is None:
        found = plan_findings(planned, ended.folder, resamples=resamples)
        _show(write_study_report(found), as_json, full=full)
    exit_unless_whole(ended.limit, ended.unreached)


def _session(study: Path, output: Path | str | None, pace: dict[str, Any]) -> StudySession:
    from ..evals.studies.study_files import run_folder
    from ..evals.studies.study_record import StudySession

    batch = batch_settings(pace.pop("batch"), pace.pop("poll"))
    return StudySession(run_folder(output, study), console(stderr=True), batch=batch, **pace)


def _plan_with_models(study: Path, session: StudySession) -> StudyPlan:
    """The plan of a study that is to be run now: its models are asked first, and at a terminal about those that are not named."""
    from ..evals.studies.plan import plan_study
    from ..evals.studies.study_record import ask_models

    return plan_study(study, fill_juries=filled_juries, ask_models=partial(ask_models, session))


def _run(planned: StudyPlan, session: StudySession) -> StudyRun:
    from ..evals.studies.study_run import run_plan

    return run_plan(planned, session)


def _show(written: StudyReport, as_json: bool, *, full: bool) -> None:
    if as_json:
        print_json(written.document)
        return
    written.show(console(), full=full)
    say(f"written: {written.page}", err=True)
