"""What a run is worth against people: compare, agreement."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..evals.ratings.reference import Rule
    from ..evals.statistics.icc import Interval

from .options import (
    FULL,
    HARMFUL,
    JSON,
    MARGIN,
    METHOD,
    NO_RESAMPLES,
    QUIET,
    REFERENCE,
    RESAMPLES,
    RUN,
    console,
    location,
    print_json,
    say,
    sheet_option,
)


@click.command(short_help="Compare juries and single judges with people, in a report.")
@RUN
@click.option("--human", type=click.Path(path_type=Path), help="People's ratings.")
@click.option(
    "--against",
    type=location,
    metavar="EARLIER",
    help="Compare with this earlier run instead of people. If the jury changed, both runs must share cases.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Write the report, its tables and figures to this folder.",
)
@click.option(
    "--to",
    "form",
    type=click.Choice(["markdown"]),
    help="Print the first page of the report in this form, for example for a comment on a pull request.",
)
@click.option("--png", "pictures", is_flag=True, help="With -o: also write the figures as PNG.")
@click.option(
    "--rescore",
    multiple=True,
    metavar="RATER",
    help="Name of a person who belongs to a second panel of raters; repeatable.",
)
@click.option(
    "--families",
    type=click.Path(path_type=Path),
    help="YAML file that names the provider of each model or system, by name or pattern.",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Automatic metric to show beside the arms, such as wer; repeatable.",
)
@click.option(
    "--normal",
    default="plain",
    show_default=True,
    help="With --metric: how the texts are normalised, such as asr-en.",
)
@REFERENCE
@HARMFUL
@MARGIN
@METHOD
@click.option("--seed", type=int, default=0, show_default=True)
@RESAMPLES
@QUIET
@FULL
@JSON
@sheet_option("human")
def compare(
    run: Path | str,
    human: Path | None,
    against: Path | str | None,
    output: Path | None,
    form: str | None,
    pictures: bool,
    rescore: tuple[str, ...],
    families: Path | None,
    metrics: tuple[str, ...],
    normal: str,
    reference: Rule | None,
    harmful: float,
    margin: float,
    method: Interval,
    seed: int,
    resamples: int,
    quiet: bool,
    full: bool,
    as_json: bool,
) -> None:
    """Compare the arms of RUN with people: which agrees better, and whether chance can explain it."""
    from ..evals import compare as compared
    from ..evals.audits import Severity
    from ..evals.audits.self_preference import load_families
    from ..evals.comparison.comparison_report import comparison_json, comparison_tables
    from ..evals.metrics.metric import chosen_metrics
    from ..evals.metrics.normalisation import load_normalisation
    from ..orchestration.reading.console import CountedProgress
    from ..rubrics.errors import VenireError

    if (human is None) == (against is None):
        raise VenireError(
            "either --human or --against is needed, not both",
            remedy="give --human RATINGS, or --against EARLIER",
        )
    if against is not None:
        _compare_runs(run, against, as_json)
        return
    assert human is not None
    if pictures:
        from ..evals.report.files import check_png

        if output is None:
            raise VenireError("--png needs a folder for the report", remedy="name one with -o DIR")
        check_png()
    with (
        CountedProgress("tokens read by MiniLM", console(stderr=True), quiet=quiet) as progress,
        lacking_ballots(),
    ):
        found = compared(
            run,
            human,
            reference=reference,
            seed=seed,
            resamples=resamples,
            severity=Severity(harmful, margin),
            families=load_families(families) if families else None,
            rescore=rescore,
            metrics=[metric.name for metric in chosen_metrics(metrics)] if metrics else (),
            normal=load_normalisation(normal),
            progress=progress,
            method=method,
        )
    if output is not None:
        from ..evals.comparison.comparison_report import write_report

        say(f"written: {write_report(found, output, pictures=pictures)}", err=True)
    if as_json:
        print_json(comparison_json(found))
        return
    from ..evals.comparison.comparison_summary import comparison_first_page
    from ..evals.report.files import section_markdown
    from ..evals.report.terminal import show_first_page

    if form == "markdown":
        click.echo(section_markdown(comparison_first_page(found, "")), nl=False)
        return
    more = (
        f"Every test and note is in {output}; to print all of them here, add --full."
        if output is not None
        else "To print every test and note, add --full."
    )
    show_first_page(comparison_first_page(found, more), console())
    if not full:
        return
    console().print(comparison_tables(found))
    for sentence in found.sentences():
        say(f"- {sentence}")
    for section in found.sections:
        click.secho(section.title, bold=True)
        for sentence in section.sentences:
            say(f"- {sentence}")
    for note in found.notes:
        say(f"  note: {note}")


@contextmanager
def lacking_ballots() -> Iterator[None]:
    """Exit with 4 where nothing can be compared because models could not be reached, as the run itself did."""
    from ..evals.comparison.comparison import EverythingHung

    try:
        yield
    except EverythingHung as error:
        if not error.unreached:
            raise
        say(error.problem, err=True)
        say(f"  -> {error.remedy}", err=True)
        raise SystemExit(4) from None


def _compare_runs(run: Path | str, earlier: Path | str, as_json: bool) -> None:
    """Two runs of a jury beside each other, where that is allowed."""
    from ..evals.inference.shift import run_shift
    from ..evals.report.section import estimate_json, records

    found = run_shift(run, earlier)
    if as_json:
        print_json(
            {
                "run": str(run),
                "against": str(earlier),
                "arm": found.arm,
                "changes": list(found.changes),
                "anchors": found.anchors,
                "shifts": {name: estimate_json(each) for name, each in found.shifts.items()},
                "means": records(found.means),
                "sentences": list(found.sentences),
            }
        )
        return
    for sentence in found.sentences:
        say(f"- {sentence}")
    for row in records(found.means):
        corrected = (
            ""
            if row["corrected"] is None or not found.changes
            else f"; without the shift {row['corrected']:+.3f}"
        )
        say(
            f"  {row['attribute']}: {row['before']:.3f} before, {row['now']:.3f} now, {row['difference']:+.3f}{corrected}"
        )


@click.command(short_help="Measure how well raters agree in a table of ratings.")
@click.argument("ratings", type=click.Path(path_type=Path))
@click.option("--rubric", help="Take each attribute's level of measurement and its values from this rubric.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE.html",
    help="Write an HTML page to this file.",
)
@click.option(
    "--all",
    "every",
    is_flag=True,
    help="Also show coefficients that do not fit the scale's level of measurement.",
)
@REFERENCE
@METHOD
@click.option("--seed", type=int, expose_value=False, hidden=True)
@NO_RESAMPLES
@JSON
@sheet_option("ratings")
def agreement(
    ratings: Path,
    rubric: str | None,
    output: Path | None,
    every: bool,
    reference: Rule | None,
    method: Interval,
    as_json: bool,
) -> None:
    """Measure how far the raters of a table agree: every coefficient that fits the scale, with intervals."""
    from ..evals import load_ratings
    from ..evals.agreement.rater_agreement import agreement as agreed
    from ..evals.agreement.rater_agreement import agreement_table, raters_table, report_lines
    from ..evals.ratings.people import usable_ratings
    from ..evals.ratings.question import rubric_questions
    from ..rubrics import load_rubric

    questions = rubric_questions(load_rubric(rubric)) if rubric else None
    table, left_out = usable_ratings(load_ratings(ratings), questions)
    found = agreed(table, questions=questions, reference=reference, method=method)
    found = replace(found, notes=(*left_out, *found.notes))
    if output is not None:
        from ..evals.agreement.rater_agreement import agreement_page
        from ..orchestration.record.private_files import write_atomically

        write_atomically(output, agreement_page(found))
        say(f"written: {output}", err=True)
    if as_json:
        print_json(found.to_json())
        return
    for line in report_lines(found):
        say(line)
    say("")
    console().print(agreement_table(found, every=every))
    console().print(raters_table(found))
    for note in found.notes:
        say(f"  note: {note}")
