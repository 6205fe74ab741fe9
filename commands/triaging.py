"""Which cases a person should see first: triage."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..evals.audits.triage import Docket
    from ..evals.inference.labelling import DrawDesign
    from ..evals.ratings.reference import Rule

from .options import (
    HARMFUL,
    JSON,
    MARGIN,
    NO_RESAMPLES,
    REFERENCE,
    RUN,
    console,
    print_json,
    say,
    sheet_option,
)

_MOST = 20
"""Cases that are shown or written, unless --most says how many."""


@click.command(short_help="List the cases that a person should look at first, and why.")
@RUN
@click.option(
    "--human", type=click.Path(path_type=Path), help="People's ratings, to test how good the triage is."
)
@click.option("--arm", help="The jury to triage (default: the run's first).")
@click.option(
    "--most",
    type=click.IntRange(min=1),
    help="Number of cases to list (default: 20 in the terminal, 1000 in an HTML page, all with --json).",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE.html",
    help="Write an HTML page; with --for, the draw as .csv; with --to, the cases in that format.",
)
@click.option(
    "--to",
    metavar="FORMAT",
    help="Format of the cases for annotators: label-studio, argilla, or any format of `venire export`.",
)
@click.option(
    "--for",
    "purpose",
    type=click.Choice(["estimate"]),
    help="Draw the cases that people should label next, with their probabilities, for `venire estimate`.",
)
@click.option(
    "-n",
    "number",
    type=click.IntRange(min=1),
    default=150,
    show_default=True,
    help="With --for: number of cases to draw.",
)
@click.option(
    "--design",
    type=click.Choice(["random", "stratified", "active"]),
    default="stratified",
    show_default=True,
    help="With --for: how the cases are drawn.",
)
@click.option(
    "--attribute",
    help="With --for: the attribute whose deliberation decides which cases are drawn (default: the first).",
)
@REFERENCE
@HARMFUL
@MARGIN
@click.option("--seed", type=int, default=0, show_default=True)
@NO_RESAMPLES
@JSON
@sheet_option("human")
def triage(
    run: Path | str,
    human: Path | None,
    arm: str | None,
    most: int | None,
    output: Path | None,
    to: str | None,
    purpose: str | None,
    number: int,
    design: DrawDesign,
    attribute: str | None,
    reference: Rule | None,
    harmful: float,
    margin: float,
    seed: int,
    as_json: bool,
) -> None:
    """List the cases of RUN in the order in which a person should look at them, with reasons. Needs no labels."""
    if purpose == "estimate":
        if to is not None:
            raise click.UsageError("--for draws cases at random: give --for or --to, not both")
        _draw(run, arm, attribute, number, design, output, seed, as_json)
        return
    from ..evals import load_ratings
    from ..evals.audits import Severity
    from ..evals.audits.triage_review import docket_answer, docket_json, run_triage, triage_page
    from ..evals.report.terminal import show_answer
    from ..orchestration.record.private_files import write_atomically

    ratings = load_ratings(human) if human else None
    docket, review = run_triage(
        run, ratings, arm=arm, severity=Severity(harmful, margin), reference=reference
    )
    if to is not None:
        _export_first(run, docket, to, output, most or _MOST, human, as_json=as_json)
    elif output is not None:
        write_atomically(output, triage_page(docket, review, most))
        say(f"written: {output}", err=True)
    if as_json:
        print_json(docket_json(str(run), docket, review, most or (_MOST if to else None)))
    if as_json or to is not None:
        return
    show_answer(docket_answer(docket, review, most or _MOST), console())


def _export_first(
    run: Path | str,
    docket: Docket,
    to: str,
    output: Path | None,
    most: int,
    human: Path | None,
    *,
    as_json: bool,
) -> None:
    """Write the first cases in an export format, with why each is among them and what people said of them."""
    from ..orchestration.reading.terminal import export_run
    from ..rubrics.ratings import read_ratings

    if output is None and as_json:
        raise click.UsageError("--json and --to both print to stdout: name a file for the cases, -o FILE")
    first_cases = docket.first(most)
    reasons_by_case = {str(row["case"]): row["reasons"] for row in first_cases.to_dict("records")}
    ratings = list(read_ratings(human)) if human else []
    export_run(run, to, output, sys.stdout, None, arm=docket.arm, picked=reasons_by_case, ratings=ratings)
    destination = "" if output is None else f" written to {output}"
    all_cases = docket.cases
    say(f"{len(first_cases)} of {len(all_cases)} cases{destination}, most urgent first", err=True)


def _draw(
    run: Path | str,
    arm: str | None,
    attribute: str | None,
    number: int,
    design: DrawDesign,
    output: Path | None,
    seed: int,
    as_json: bool,
) -> None:
    """Draw the cases that people should label next, and keep the probabilities."""
    from ..evals.inference.labelled_verdicts import labelled_verdicts
    from ..evals.inference.labelling import draw_labels
    from ..evals.report.files import csv_text
    from ..evals.report.section import records
    from ..evals.statistics.draws import Draws
    from ..orchestration.record import Store
    from ..orchestration.record.private_files import write_atomically

    store = Store.read(run)
    try:
        verdicts = labelled_verdicts(store, None)
    finally:
        store.release()
    chosen_arm = verdicts.arm(arm)
    question = verdicts.attributes(chosen_arm, attribute or chosen_arm.rubric.names[0])[0]
    draw = draw_labels(verdicts.of(chosen_arm.name, question), number, design, Draws(seed).rng())
    if output is not None:
        write_atomically(output, csv_text(draw))
        say(f"written: {output}", err=True)
    if as_json:
        print_json({"run": str(run), "design": design, "cases": records(draw)})
    elif output is None:
        click.echo(csv_text(draw), nl=False)
    else:
        all_cases = verdicts.of(chosen_arm.name, question)
        say(
            f"{len(draw)} of {len(all_cases)} cases were drawn for people to label; when they have labels, run: venire estimate {run} --human LABELS --draw {output}"
        )
