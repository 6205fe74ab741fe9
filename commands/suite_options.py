"""What the commands of `suite` share: their options, the suite and its session, and how tables are shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import console, location, say

if TYPE_CHECKING:
    from rich.table import Table

    from ..evals.suites.suite import LoadedSuite
    from ..evals.suites.suite_run import SuiteSession

SUITE = click.argument("suite", metavar="SUITE.yaml", type=click.Path(path_type=Path))
DATA = click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The folder of the published files, in place of the suite's own data:.",
)
OUTPUT = click.option(
    "-o", "--output", type=location, metavar="RUN", help="The run's directory; beside the file without it."
)
TIES = click.option(
    "--ties",
    type=click.Choice(["half", "strict", "wins"]),
    default="half",
    show_default=True,
    help="Half a win each, none, or a win for both.",
)
SEED = click.option("--seed", type=int, default=0, show_default=True, help="Of the resamples.")


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
    for each in tables:
        out.print(each)
        out.print()
    for sentence in sentences:
        say(f"- {sentence}")
