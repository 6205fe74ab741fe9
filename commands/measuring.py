"""Automatic metrics of texts, and whether they follow people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..evals.metrics.metric import Family
    from ..evals.ratings.reference import Rule

from .options import JSON, QUIET, REFERENCE, RESAMPLES, console, print_json, say


@click.command(short_help="Edit, overlap and meaning metrics of texts; do they follow people?")
@click.argument("cases", type=click.Path(path_type=Path))
@click.option(
    "--human", type=click.Path(path_type=Path), help="People's ratings, to hold the metrics against."
)
@click.option("--wide", is_flag=True, help="The ratings have one column an attribute.")
@click.option("--attribute", help="The rated attribute, where there are several.")
@click.option("--rubric", help="Says which end of the attribute's scale is bad; without it the high one.")
@click.option(
    "--family",
    "families",
    type=click.Choice(["edit", "overlap", "meaning"]),
    multiple=True,
    help="Only this family; may be repeated.",
)
@click.option("--metric", "names", multiple=True, metavar="NAME", help="Only this metric; may be repeated.")
@click.option(
    "--normal",
    default="plain",
    show_default=True,
    help="Normalisation of both texts: asr-en, asr-en-verbatim (fillers kept), plain, or a YAML file.",
)
@click.option(
    "--scores",
    type=click.Path(path_type=Path),
    help="Scores by other programs: case,metric,value (direction, family).",
)
@click.option(
    "--pair", nargs=2, metavar="WORSE BETTER", help="Two cases: does each metric call the first one worse?"
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="A page with the figure, CSV, JSON.",
)
@REFERENCE
@click.option("--seed", type=int, default=0, show_default=True)
@RESAMPLES
@QUIET
@JSON
def metrics(
    cases: Path,
    human: Path | None,
    wide: bool,
    attribute: str | None,
    rubric: str | None,
    families: tuple[Family, ...],
    names: tuple[str, ...],
    normal: str,
    scores: Path | None,
    pair: tuple[str, str] | None,
    output: Path | None,
    reference: Rule | None,
    seed: int,
    resamples: int,
    quiet: bool,
    as_json: bool,
) -> None:
    """WER to MiniLM of the CASES' `output` beside their `reference`; with --human, whether metrics follow people.

    A missing output is an empty text. A case without a reference has no value, and says so.
    """
    from ..evals.metrics.against_people import people_labels, risk_table, track
    from ..evals.metrics.measuring import measure, read_pairs, read_scores
    from ..evals.metrics.metric import chosen_metrics
    from ..evals.metrics.normalisation import load_normalisation
    from ..evals.pages.metric_tables import (
        MetricReport,
        metrics_json,
        metrics_table,
        risk_terminal_table,
        write_metrics,
    )
    from ..evals.ratings.people import load_ratings
    from ..evals.statistics.draws import Draws
    from ..orchestration.progress import CountedProgress
    from ..rubrics import load_rubric

    chosen = chosen_metrics(names, families)
    normalisation = load_normalisation(normal)
    asked = load_rubric(rubric) if rubric else None
    pairs = read_pairs(cases)
    labels = None
    if human:
        ids = [each.case for each in pairs]
        labels = people_labels(
            load_ratings(human, wide=wide), attribute=attribute, rubric=asked, rule=reference, cases=ids
        )
    given, notes = (
        read_scores(scores, [each.case for each in pairs], [each.name for each in chosen])
        if scores
        else ([], [])
    )
    with CountedProgress("tokens read by MiniLM", console(stderr=True), quiet=quiet or as_json) as progress:
        measured = [*measure(pairs, chosen, normal=normalisation, progress=progress), *given]
    draws = Draws(seed, resamples)
    report = MetricReport(
        pairs,
        measured,
        normalisation,
        labels,
        track(measured, pairs, labels, draws) if labels else (),
        risk_table(measured, *pair) if pair else None,
        notes,
        draws,
    )
    page = write_metrics(report, output) if output else None
    if as_json:
        print_json(metrics_json(report))
        return
    console().print(metrics_table(report))
    if report.risk is not None and pair:
        console().print(risk_terminal_table(report.risk, *pair))
    for sentence in report.sentences():
        say(f"- {sentence}")
    if page:
        say(f"the page: {page}")
