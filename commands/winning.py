"""Who wins: pairwise preferences as win rates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..evals.audits.win_rates import Ties

from .options import JSON, console, print_json


@click.command(short_help="Win rates and strengths from pairwise preferences.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--ties",
    type=click.Choice(["half", "drop", "separate"]),
    default="half",
    show_default=True,
    help="Half a win each, left out, or neither won nor lost.",
)
@JSON
def winrate(file: Path, ties: Ties, as_json: bool) -> None:
    """Win rates, their errors and Bradley-Terry strengths from a FILE of pairwise preferences.

    Columns: case, first, second, preference (1, 2, tie or a number from 1 to 2) and optionally judge, order.
    AlpacaEval's and MT-bench's files are read as they are.
    """
    from ..evals.audits.win_rates import win_rates
    from ..evals.pages.win_rate_tables import win_rates_json, win_rates_sentences, win_rates_table
    from ..evals.ratings.preferences import load_preferences

    preferences, lost = load_preferences(file)
    found = win_rates(preferences, ties=ties)
    if as_json:
        print_json(win_rates_json(str(file), found, lost))
        return
    console().print(win_rates_table(found))
    for sentence in win_rates_sentences(found, lost):
        click.echo(f"- {sentence}")
