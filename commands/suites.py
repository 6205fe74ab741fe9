"""Benchmarks of systems, by a suite file: suite check, plan, run, report, coverage and gold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import (
    BASE_URL,
    IN_FLIGHT,
    JSON,
    MODEL,
    QUIET,
    REQUIRE,
    RESAMPLES,
    RETRY,
    RPM,
    TPM,
    console,
    embedded_wanted,
    exit_unless_met,
    exit_unless_whole,
    location,
    print_json,
    say,
    sheet_option,
)

if TYPE_CHECKING:
    from rich.table import Table

    from ..evals.suites.board import TieRule
    from ..evals.suites.suite import LoadedSuite
    from ..evals.suites.suite_run import SuiteSession


SUITE = click.argument("suite", metavar="SUITE.yaml", type=click.Path(path_type=Path))
DATA = click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of the published files, instead of the folder that the suite file names.",
)
OUTPUT = click.option(
    "-o",
    "--output",
    type=location,
    metavar="RUN",
    help="The run's directory (default: next to the suite file).",
)
TIES = click.option(
    "--ties",
    type=click.Choice(["half", "strict", "wins"]),
    default="half",
    show_default=True,
    help="Count a tie as half a win for each, as no win, or as a win for both.",
)
SEED = click.option("--seed", type=int, default=0, show_default=True, help="Seed of the resamples.")


def load_suite_file(suite: Path, data: Path | None) -> LoadedSuite:
    """The suite of a file, its published files in `data` where that is given."""
    from ..evals.suites.suite import load_suite

    return load_suite(suite, data=data)


def suite_session(suite: Path, output: Path | str | None, **pace: Any) -> SuiteSession:
    """Where a suite's run is kept, and how fast it may ask."""
    from ..evals.suites.suite_run import SuiteSession, suite_run_folder

    return SuiteSession(suite_run_folder(output, suite), console(stderr=True), **pace)


def show_board(tables: list[Table], sentences: list[str]) -> None:
    """Print tables, then sentences."""
    out = console()
    for rich_table in tables:
        out.print(rich_table)
        out.print()
    for sentence in sentences:
        say(f"- {sentence}")


@click.command()
@click.argument("scores", type=click.Path(path_type=Path))
@click.option(
    "--columns",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Table with the columns scenario,category,direction,low,high (default: higher is better, scale 0 to 1).",
)
@click.option(
    "--tokens",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Table with the columns system,prompt_tokens,completion_tokens and optionally kind (generation or jury), model, max_tokens, calls.",
)
@click.option(
    "--prices",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Prices in dollars per million tokens: YAML as for 'venire run', or a table with the columns model,prompt,completion.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Write the leaderboard to this folder as a page, JSON and CSV tables.",
)
@TIES
@RESAMPLES
@SEED
@JSON
@sheet_option("scores")
def table(
    scores: Path,
    columns: Path | None,
    tokens: Path | None,
    prices: Path | None,
    output: Path | None,
    ties: TieRule,
    resamples: int,
    seed: int,
    as_json: bool,
) -> None:
    """Rank systems from a table of SCORES.

    SCORES is wide (system,SCENARIO,...) or long (system,scenario,score and optionally case).

    A blank cell is a missing score.
    """
    from ..evals.statistics.draws import Draws
    from ..evals.suites.board import board
    from ..evals.suites.score_table import load_scores
    from ..evals.suites.suite_cost import load_price_list, load_token_costs
    from ..evals.suites.suite_tables import (
        board_json,
        board_sentences,
        board_tables,
        cost_sentences,
        costs_table,
    )

    standings = board(load_scores(scores, columns), ties=ties, draws=Draws(seed, resamples))
    costs = load_token_costs(tokens, load_price_list(prices) if prices else {}) if tokens else {}
    document = board_json(str(scores), standings, costs)
    sentences = [*board_sentences(standings), *cost_sentences(standings, costs)]
    if output is not None:
        from ..evals.suites.suite_report import write_board

        say(f"written: {write_board(standings, document, sentences, output)}", err=True)
    if as_json:
        print_json(document)
        return
    tables = [*board_tables(standings), *([costs_table(costs)] if costs else [])]
    show_board(tables, sentences)


@click.command("import-helm")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="OUT",
    help="Write scores.csv, columns.csv, tokens.csv and outputs.jsonl to this folder.",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    help="Metric to use; repeatable: each run takes the first that it has (default: HELM's main metric).",
)
@TIES
@RESAMPLES
@SEED
@JSON
def import_helm(
    folder: Path,
    output: Path | None,
    metrics: tuple[str, ...],
    ties: TieRule,
    resamples: int,
    seed: int,
    as_json: bool,
) -> None:
    """Rank systems from HELM's result folders below DIR.

    Reads run_spec.json, per_instance_stats.json and stats.json; HELM itself is not needed.
    """
    import tempfile

    from ..evals.statistics.draws import Draws
    from ..evals.suites.board import board
    from ..evals.suites.helm_runs import load_helm, write_helm
    from ..evals.suites.score_table import load_scores
    from ..evals.suites.suite_tables import board_json, board_sentences, board_tables

    imported = load_helm(folder, metrics)
    with tempfile.TemporaryDirectory() as spare:
        paths = write_helm(imported, output or Path(spare))
        scores = load_scores(paths["scores"], paths["columns"])
    standing = board(scores, ties=ties, draws=Draws(seed, resamples))
    metric = {run.scenario: run.metric for run in imported.runs}
    if as_json:
        document = board_json(str(folder), standing)
        for name, entry in document["scenarios"].items():
            entry |= {"metric": metric[name], "scores": scores.means[name].dropna().to_dict()}
        print_json({**document, "notes": list(imported.notes)})
        return
    notes = [f"{name}: {metric_name}" for name, metric_name in metric.items()]
    show_board(board_tables(standing), [*board_sentences(standing), *notes, *imported.notes])
    if output is not None:
        say(f"written: {', '.join(path.name for path in paths.values())} in {output}", err=True)


@click.command()
@click.argument("scenario", type=click.Path(path_type=Path))
@click.argument("outputs", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="SCORES.csv",
    help="Write every case's score to this file, for `venire suite table`.",
)
@JSON
def score(scenario: Path, outputs: Path, output: Path | None, as_json: bool) -> None:
    """Score recorded OUTPUTS by a SCENARIO file.

    OUTPUTS has the columns case, system and output. A constant and a random baseline are shown too.
    """
    from ..evals.suites.scenario import load_scenario, load_scenario_cases
    from ..evals.suites.scored_systems import load_outputs, score_outputs
    from ..evals.suites.suite_tables import scored_json, scored_sentences, scored_table, write_scores

    loaded_scenario = load_scenario(scenario)
    cases = load_scenario_cases(loaded_scenario)
    result = score_outputs(loaded_scenario, cases, load_outputs(outputs, loaded_scenario, cases))
    if output is not None:
        write_scores(result, output)
    if as_json:
        print_json(scored_json(result))
        return
    show_board([scored_table(result)], scored_sentences(result))


@click.group()
def suite() -> None:
    """Run and rank systems over many scenarios.

    Reports win rates, macro averages and how certain each rank is.
    """


for without_a_file in (table, score, import_helm):
    suite.add_command(without_a_file)


@suite.command()
@SUITE
@DATA
@JSON
def check(suite: Path, data: Path | None, as_json: bool) -> None:
    """Check all files of SUITE.

    These are its scenarios, cases, prompts, systems and outputs. Makes no model call.
    """
    from ..evals.suites.suite_plan import check_json, check_sentences, check_table

    loaded_suite = load_suite_file(suite, data)
    if as_json:
        print_json(check_json(loaded_suite))
        return
    show_board([check_table(loaded_suite)], check_sentences(loaded_suite))


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
    """Print the calls that SUITE still has to make, and their cost.

    Also prints how long the embedded model would take. Spends nothing.
    """
    from ..evals.suites.suite_plan import plan_sentences, plan_suite, plan_table, suite_plan_json

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
    help="Where calls are made: local (this process), or ray (a cluster).",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="On Ray: number of worker processes (default: the number of CPUs).",
)
@click.option(
    "--ray-address",
    help="Address of an existing Ray cluster (default: RAY_ADDRESS; without it, a cluster is started).",
)
@QUIET
@JSON
def run(suite: Path, output: Path | str | None, data: Path | None, as_json: bool, **options: Any) -> None:
    """Run SUITE: systems answer, then juries judge. Resumes where it left off."""
    from ..evals.suites.suite_run import run_suite
    from .running import cluster_of

    options["cluster"] = cluster_of(options["executor"], options.pop("ray_address"), options.pop("workers"))
    loaded = load_suite_file(suite, data)
    if options["model"] is None and embedded_wanted(loaded.juries):
        options["model"] = "local"
    session = suite_session(suite, output, **options)
    result = run_suite(loaded, session)
    if as_json:
        print_json(result.json())
    else:
        for name, reason in result.not_run.items():
            say(f"{name} was skipped: {reason}", err=True)
        say(
            f"cases answered or judged now: {result.heard}; cases that were recorded before: {result.skipped}; the record is in {result.folder}",
            err=True,
        )
    exit_unless_whole(result.limit, result.unreached, remedy=f"raise it in {suite}, and ")


@suite.command()
@SUITE
@OUTPUT
@DATA
@click.option(
    "--to",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Also write the page, its tables and figures to this folder.",
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
@REQUIRE
@JSON
@sheet_option("human")
def report(
    suite: Path,
    output: Path | str | None,
    data: Path | None,
    to: Path | None,
    human: Path | None,
    ties: TieRule,
    resamples: int,
    seed: int,
    required: tuple[str, ...],
    as_json: bool,
) -> None:
    """Report the leaderboard of SUITE from its records.

    Shows win rates, macro averages, ranks, costs and failures. Makes no model call.
    """
    from ..evals.ratings.people import load_ratings
    from ..evals.statistics.draws import Draws
    from ..evals.suites.clinicians import agreement_with_people, people_table
    from ..evals.suites.suite_report import suite_sentences, suite_terminal, write_suite_report
    from ..evals.suites.suite_results import suite_results

    session, draws = suite_session(suite, output), Draws(seed, resamples)
    results = suite_results(load_suite_file(suite, data), session.folder, ties=ties, draws=draws)
    people = None if human is None else agreement_with_people(results.judged, load_ratings(human))
    page, document = write_suite_report(results, to, people)
    if as_json:
        print_json(document)
    else:
        tables = [*suite_terminal(results), *([people_table(people)] if people is not None else [])]
        show_board(tables, [*suite_sentences(results), *(people.notes if people is not None else ())])
        say(f"written: {page}", err=True)
    exit_unless_met(required, {each.system: each.macro for each in results.board.standings})


@suite.command()
@click.argument("suite", metavar="[SUITE.yaml]", type=click.Path(path_type=Path), required=False)
@click.option(
    "--taxonomy",
    metavar="FILE",
    help="A taxonomy file or name (default: the suite's, else medhelm).",
)
@click.option(
    "--survey",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="CSV with the columns person,node,parent that says where people would place each node of the taxonomy.",
)
@DATA
@JSON
def coverage(
    suite: Path | None, taxonomy: str | None, survey: Path | None, data: Path | None, as_json: bool
) -> None:
    """Show which parts of the taxonomy SUITE covers.

    Without SUITE, shows the 35 listed benchmarks of MedHELM.
    """
    from ..evals.suites.suite_plan import coverage_json, coverage_sentences, coverage_table, survey_table
    from ..evals.suites.taxonomy import load_listings, load_survey, load_taxonomy
    from ..evals.suites.taxonomy import taxonomy_coverage as covered

    loaded_suite = None if suite is None else load_suite_file(suite, data)
    if taxonomy is not None or loaded_suite is None:
        places = load_taxonomy(taxonomy or "medhelm")
    else:
        places = loaded_suite.taxonomy
    coverage_result = covered(
        places, (load_listings() if loaded_suite is None else loaded_suite.listed).values()
    )
    sorted_by = None if survey is None else load_survey(survey, places)
    if as_json:
        print_json(coverage_json(coverage_result, sorted_by))
        return
    tables = [coverage_table(coverage_result), *([survey_table(sorted_by)] if sorted_by else [])]
    show_board(tables, coverage_sentences(coverage_result))


@suite.command()
@SUITE
@OUTPUT
@DATA
@click.option(
    "--jury",
    "judge",
    required=True,
    help="Jury that judges the references: a file, or a name from `venire juries`.",
)
@click.option(
    "--rubric",
    default="gold-answer",
    show_default=True,
    help="Rubric for judging the references; its first attribute must be yes or no.",
)
@click.option("--scenario", "scenarios", multiple=True, help="Only these scenarios (default: all).")
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
    """Have a jury check the reference answers of SUITE.

    Prints scores on cases with reasonable references and on the others, and the ranking with and without the others.
    """
    from ..evals.statistics.draws import Draws
    from ..evals.suites.gold import (
        gold_filter,
        gold_json,
        gold_parts,
        gold_rubric,
        gold_sentences,
        gold_tables,
        recorded_gold,
        run_gold,
    )
    from ..evals.suites.suite_results import suite_results
    from ..personas import load_jury

    session, loaded_suite = suite_session(suite, output, **options), load_suite_file(suite, data)
    gold_questions, attribute = gold_rubric(rubric)
    jury, draws = load_jury(judge), Draws(seed, resamples)
    results = suite_results(loaded_suite, session.folder, draws=draws)
    result = run_gold(loaded_suite, session, jury, gold_questions, scenarios)
    verdicts = {
        part.name: recorded_gold(session.folder, part, jury.name, attribute)
        for part in gold_parts(loaded_suite, scenarios)
    }
    filtered = gold_filter(results, verdicts, draws=draws)
    if as_json:
        print_json(gold_json(filtered))
    else:
        show_board(gold_tables(filtered), gold_sentences(filtered))
    exit_unless_whole(result.limit, result.unreached, remedy=f"raise it in {suite}, and ")
