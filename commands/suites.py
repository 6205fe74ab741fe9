"""Benchmarks of systems: suite table, suite score."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..evals.suites.win_rates import TieRule

from .options import JSON, RESAMPLES, console, print_json, say


@click.group()
def suite() -> None:
    """Systems over scenarios: win rates, macro averages, and how sure each rank is."""


@suite.command()
@click.argument("scores", type=click.Path(path_type=Path))
@click.option(
    "--columns",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="scenario,category,direction,low,high: higher is better and the scale is 0-1 where it says nothing.",
)
@click.option(
    "--ties",
    type=click.Choice(["half", "strict", "wins"]),
    default="half",
    show_default=True,
    help="Half a win each, none, or a win for both.",
)
@RESAMPLES
@click.option("--seed", type=int, default=0, show_default=True, help="Of the resamples.")
@JSON
def table(
    scores: Path, columns: Path | None, ties: TieRule, resamples: int, seed: int, as_json: bool
) -> None:
    """The board of any table of SCORES: wide (system,SCENARIO,...) or long (system,scenario,score and optionally case).

    A blank is missing.
    """
    from ..evals.pages.suite_tables import board_json, board_sentences, board_tables
    from ..evals.statistics.draws import Draws
    from ..evals.suites.board import board
    from ..evals.suites.score_table import load_scores

    found = board(load_scores(scores, columns), ties=ties, draws=Draws(seed, resamples))
    if as_json:
        print_json(board_json(str(scores), found))
        return
    out = console()
    for each in board_tables(found):
        out.print(each)
        out.print()
    for sentence in board_sentences(found):
        say(f"- {sentence}")


@suite.command()
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
    console().print(scored_table(scored))
    for sentence in scored_sentences(scored):
        say(f"- {sentence}")
