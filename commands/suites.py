"""Benchmarks of systems, by a suite file: suite check, plan, run, report, coverage and gold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .boards import import_helm, score, table
from .options import (
    BASE_URL,
    IN_FLIGHT,
    JSON,
    MODEL,
    QUIET,
    RESAMPLES,
    RETRY,
    RPM,
    TPM,
    exit_unless_whole,
    print_json,
    say,
)
from .suite_options import DATA, OUTPUT, SEED, SUITE, TIES, load_suite_file, show_board, suite_session

if TYPE_CHECKING:
    from ..evals.suites.win_rates import TieRule


@click.group()
def suite() -> None:
    """Systems over scenarios: win rates, macro averages, and how sure each rank is."""


for without_a_file in (table, score, import_helm):
    suite.add_command(without_a_file)


@suite.command()
@SUITE
@DATA
@JSON
def check(suite: Path, data: Path | None, as_json: bool) -> None:
    """Everything that SUITE names, read and checked: its scenarios, cases, prompts, systems and outputs. Asks nobody."""
    from ..evals.pages.suite_plan_tables import check_json, check_sentences, check_table

    loaded = load_suite_file(suite, data)
    if as_json:
        print_json(check_json(loaded))
        return
    show_board([check_table(loaded)], check_sentences(loaded))


@suite.command()
@SUITE
@OUTPUT
@DATA
@MODEL
@BASE_URL
@JSON
def plan(
    suite: Path,
    output: Path | str | None,
    data: Path | None,
    model: str | None,
    base_url: str | None,
    as_json: bool,
) -> None:
    """Every call that SUITE has left to make, what it costs at the most, and how long the embedded model would take. Spends nothing."""
    from ..evals.pages.suite_plan_tables import plan_sentences, plan_table, suite_plan_json
    from ..evals.suites.suite_plan import plan_suite

    planned = plan_suite(
        load_suite_file(suite, data), suite_session(suite, output, model=model, base_url=base_url)
    )
    if as_json:
        print_json(suite_plan_json(planned))
        return
    show_board([plan_table(planned)], plan_sentences(planned))


@suite.command()
@SUITE
@OUTPUT
@DATA
@MODEL
@BASE_URL
@IN_FLIGHT
@RPM
@TPM
@RETRY
@click.option(
    "--executor",
    default="local",
    show_default=True,
    help="What asks: local (this process), or ray (a cluster).",
)
@click.option("--workers", type=click.IntRange(min=1), help="On Ray: worker count (default: CPUs).")
@click.option(
    "--ray-address", help="Address of an existing cluster; default RAY_ADDRESS, else one is started."
)
@QUIET
@JSON
def run(suite: Path, output: Path | str | None, data: Path | None, as_json: bool, **options: Any) -> None:
    """Have every system of SUITE answer every case, and juries judge where scenarios say so; resumes where it left off."""
    from ..evals.suites.suite_run import run_suite
    from .running import cluster_of

    options["cluster"] = cluster_of(options["executor"], options.pop("ray_address"), options.pop("workers"))
    session = suite_session(suite, output, **options)
    ended = run_suite(load_suite_file(suite, data), session)
    if as_json:
        print_json(ended.json())
    else:
        for name, why in ended.not_run.items():
            say(f"{name} was skipped: {why}", err=True)
        say(f"{ended.heard} answered or judged, {ended.skipped} recorded before: {ended.folder}", err=True)
    exit_unless_whole(ended.limit, ended.unreached, remedy=f"raise it in {suite}")


@suite.command()
@SUITE
@OUTPUT
@DATA
@click.option(
    "--to",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="A further folder for the page, its tables and figures.",
)
@click.option(
    "--human",
    type=click.Path(path_type=Path),
    metavar="RATINGS",
    help="People's ratings of judged answers (case,rater,attribute,value; case as in the record: SCENARIO/CASE@SYSTEM).",
)
@TIES
@RESAMPLES
@SEED
@JSON
def report(
    suite: Path,
    output: Path | str | None,
    data: Path | None,
    to: Path | None,
    human: Path | None,
    ties: TieRule,
    resamples: int,
    seed: int,
    as_json: bool,
) -> None:
    """The board of SUITE from its records: win rates, macro averages, ranks, costs, failures; no model is asked."""
    from ..evals.pages.gold_tables import people_table
    from ..evals.pages.suite_report import suite_sentences, suite_terminal, write_suite_report
    from ..evals.ratings.people import load_ratings
    from ..evals.statistics.draws import Draws
    from ..evals.suites.clinicians import agreement_with_people
    from ..evals.suites.suite_results import suite_results

    session, draws = suite_session(suite, output), Draws(seed, resamples)
    results = suite_results(load_suite_file(suite, data), session.folder, ties=ties, draws=draws)
    people = (
        None if human is None else agreement_with_people(results.judged, load_ratings(human), draws=draws)
    )
    page, document = write_suite_report(results, to, people)
    if as_json:
        print_json(document)
        return
    tables = [*suite_terminal(results), *([people_table(people)] if people is not None else [])]
    show_board(tables, [*suite_sentences(results), *(people.notes if people is not None else ())])
    say(f"written: {page}", err=True)


@suite.command()
@click.argument("suite", metavar="[SUITE.yaml]", type=click.Path(path_type=Path), required=False)
@click.option(
    "--taxonomy",
    metavar="FILE",
    help="A taxonomy file or name, in place of the suite's; medhelm without either.",
)
@click.option(
    "--survey",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="person,node,parent: where people would put each node.",
)
@DATA
@JSON
def coverage(
    suite: Path | None, taxonomy: str | None, survey: Path | None, data: Path | None, as_json: bool
) -> None:
    """Which places of the taxonomy SUITE covers; without one, the 35 listed benchmarks of MedHELM."""
    from ..evals.pages.suite_plan_tables import (
        coverage_json,
        coverage_sentences,
        coverage_table,
        survey_table,
    )
    from ..evals.suites.coverage import taxonomy_coverage as covered
    from ..evals.suites.listings import load_listings
    from ..evals.suites.taxonomy import load_survey, load_taxonomy

    loaded = None if suite is None else load_suite_file(suite, data)
    if taxonomy is not None or loaded is None:
        places = load_taxonomy(taxonomy or "medhelm")
    else:
        places = loaded.taxonomy
    found = covered(places, (load_listings() if loaded is None else loaded.listed).values())
    sorted_by = None if survey is None else load_survey(survey, places)
    if as_json:
        print_json(coverage_json(found, sorted_by))
        return
    tables = [coverage_table(found), *([survey_table(sorted_by)] if sorted_by else [])]
    show_board(tables, coverage_sentences(found))


@suite.command()
@SUITE
@OUTPUT
@DATA
@click.option(
    "--jury",
    "judge",
    required=True,
    help="Who judges references: a jury file, or a name from `venire juries`.",
)
@click.option(
    "--rubric", default="gold-answer", show_default=True, help="A rubric whose first attribute is yes or no."
)
@click.option("--scenario", "scenarios", multiple=True, help="Only these scenarios; all without it.")
@MODEL
@BASE_URL
@IN_FLIGHT
@RPM
@TPM
@RETRY
@RESAMPLES
@SEED
@QUIET
@JSON
def gold(
    suite: Path,
    output: Path | str | None,
    data: Path | None,
    judge: str,
    rubric: str,
    scenarios: tuple[str, ...],
    resamples: int,
    seed: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Is each reference of SUITE itself reasonable? Scores on either side, and the ranking with and without the others."""
    from ..evals.pages.gold_tables import gold_json, gold_sentences, gold_tables
    from ..evals.statistics.draws import Draws
    from ..evals.suites.gold import gold_filter, gold_parts, gold_rubric, recorded_gold, run_gold
    from ..evals.suites.suite_results import suite_results
    from ..personas import load_jury

    session, loaded = suite_session(suite, output, **options), load_suite_file(suite, data)
    asked, attribute = gold_rubric(rubric)
    jury, draws = load_jury(judge), Draws(seed, resamples)
    results = suite_results(loaded, session.folder, draws=draws)
    ended = run_gold(loaded, session, jury, asked, scenarios)
    verdicts = {
        part.name: recorded_gold(session.folder, part, jury.name, attribute)
        for part in gold_parts(loaded, scenarios)
    }
    found = gold_filter(results, verdicts, draws=draws)
    if as_json:
        print_json(gold_json(found))
    else:
        show_board(gold_tables(found), gold_sentences(found))
    exit_unless_whole(ended.limit, ended.unreached, remedy=f"raise it in {suite}")
