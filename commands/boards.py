"""Boards without a suite file: suite table, import-helm and score, from scores or outputs that are there already."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import JSON, RESAMPLES, print_json, say
from .suite_options import SEED, TIES, show_board

if TYPE_CHECKING:
    from ..evals.suites.win_rates import TieRule


@click.command()
@click.argument("scores", type=click.Path(path_type=Path))
@click.option(
    "--columns",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="scenario,category,direction,low,high: higher is better and the scale is 0-1 where it says nothing.",
)
@click.option(
    "--tokens",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="system,prompt_tokens,completion_tokens and optionally kind (generation or jury), model, max_tokens, calls.",
)
@click.option(
    "--prices",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Dollars for a million tokens: YAML as runs read it, or a table model,prompt,completion.",
)
@TIES
@RESAMPLES
@SEED
@JSON
def table(
    scores: Path,
    columns: Path | None,
    tokens: Path | None,
    prices: Path | None,
    ties: TieRule,
    resamples: int,
    seed: int,
    as_json: bool,
) -> None:
    """The board of any table of SCORES: wide (system,SCENARIO,...) or long (system,scenario,score and optionally case).

    A blank is missing.
    """
    from ..evals.pages.suite_tables import (
        board_json,
        board_sentences,
        board_tables,
        cost_sentences,
        costs_table,
    )
    from ..evals.statistics.draws import Draws
    from ..evals.suites.board import board
    from ..evals.suites.score_table import load_scores
    from ..evals.suites.suite_cost import load_price_list, load_token_costs

    found = board(load_scores(scores, columns), ties=ties, draws=Draws(seed, resamples))
    costs = load_token_costs(tokens, load_price_list(prices) if prices else {}) if tokens else {}
    if as_json:
        print_json(board_json(str(scores), found, costs))
        return
    tables = [*board_tables(found), *([costs_table(costs)] if costs else [])]
    show_board(tables, [*board_sentences(found), *cost_sentences(found, costs)])


@click.command("import-helm")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="OUT",
    help="Where to write scores.csv, columns.csv, tokens.csv and outputs.jsonl; nowhere without it.",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    help="The score of every run, the first that it has; HELM's main one without it.",
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
    """The board of HELM's own result folders below DIR, without helm: run_spec.json, per_instance_stats.json, stats.json."""
    import tempfile

    from ..evals.pages.helm_files import write_helm
    from ..evals.pages.suite_tables import board_json, board_sentences, board_tables
    from ..evals.statistics.draws import Draws
    from ..evals.suites.board import board
    from ..evals.suites.helm_runs import load_helm
    from ..evals.suites.score_table import load_scores

    found = load_helm(folder, metrics)
    with tempfile.TemporaryDirectory() as spare:
        written = write_helm(found, output or Path(spare))
        scores = load_scores(written["scores"], written["columns"])
    standing = board(scores, ties=ties, draws=Draws(seed, resamples))
    metric = {run.scenario: run.metric for run in found.runs}
    if as_json:
        document = board_json(str(folder), standing)
        for name, entry in document["scenarios"].items():
            entry |= {"metric": metric[name], "scores": scores.means[name].dropna().to_dict()}
        print_json({**document, "notes": list(found.notes)})
        return
    notes = [f"{name}: {chosen}" for name, chosen in metric.items()]
    show_board(board_tables(standing), [*board_sentences(standing), *notes, *found.notes])
    if output is not None:
        say(f"written: {', '.join(path.name for path in written.values())} in {output}", err=True)


@click.command()
@click.argument("scenario", type=click.Path(path_type=Path))
@click.argument("outputs", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="SCORES.csv",
    help="Write every case's score, for `venire suite table`.",
)
@JSON
def score(scenario: Path, outputs: Path, output: Path | None, as_json: bool) -> None:
    """Score recorded OUTPUTS (case, system, output) by a SCENARIO file, with a constant and a random baseline beside."""
    from ..evals.pages.suite_tables import scored_json, scored_sentences, scored_table, write_scores
    from ..evals.suites.scenario import load_scenario, load_scenario_cases
    from ..evals.suites.scored_systems import load_outputs, score_outputs

    loaded = load_scenario(scenario)
    cases = load_scenario_cases(loaded)
    scored = score_outputs(loaded, cases, load_outputs(outputs, loaded, cases))
    if output is not None:
        write_scores(scored, output)
    if as_json:
        print_json(scored_json(scored))
        return
    show_board([scored_table(scored)], scored_sentences(scored))
