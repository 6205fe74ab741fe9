"""Better words for a judge: optimise."""

from __future__ import annotations

from pathlib import Path

import click

from .options import JSON, QUIET, console, exit_unless_whole, print_json, say


@click.command(short_help="Better words for personas and rubrics, judged on untouched cases.")
@click.argument("file", metavar="OPT.yaml", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="OUT",
    help="A folder for the record, the new files and the report.",
)
@click.option("--dry-run", is_flag=True, help="What it would take; asks and writes nothing.")
@click.option("--redact", is_flag=True, help="Refused: patients' words would go into a persona.")
@QUIET
@JSON
def optimise(
    file: Path, output: Path | None, dry_run: bool, redact: bool, quiet: bool, as_json: bool
) -> None:
    """Look for better words for a persona, a rubric or an orchestrator, as OPT.yaml says.

    New words are proposed from training cases, chosen on validation cases, and held against the old ones once on test cases
    that nothing has read before. Every call is recorded: the same command goes on where it was stopped.
    """
    from ..evals.optimising.optimisation import redacted_error
    from ..evals.optimising.plan import plan_optimisation
    from ..rubrics.errors import VenireError

    if redact:
        raise redacted_error()
    plan = plan_optimisation(file)
    if dry_run:
        print_json(plan.json()) if as_json else _show_plan(plan)
        return
    if output is None:
        raise VenireError("no folder to write to", remedy="name one with -o OUT, or look with --dry-run")
    from ..agents.budget import BudgetSpent
    from ..evals.optimising.optimisation import optimise
    from ..evals.optimising.result_files import write_result
    from ..evals.pages.optimisation_page import optimisation_json, show_optimisation, write_optimisation

    try:
        found = optimise(plan, output, (lambda line: None) if quiet else (lambda line: say(line, err=True)))
    except BudgetSpent as spent:
        exit_unless_whole(spent.limit, remedy="the test cases are not scored yet: raise it")
        raise
    files = write_result(output, found.first, found.returned)
    report = write_optimisation(found, output, files)
    if as_json:
        print_json(optimisation_json(found, files))
        return
    show_optimisation(found, files, console())
    say(f"written: {report}", err=True)


def _show_plan(plan: object) -> None:
    from ..evals.optimising.plan import OptimisationPlan

    assert isinstance(plan, OptimisationPlan)
    shown, least = console(), plan.least
    told = plan.json()
    shown.print(f"to reword: {', '.join(told['optimise'])}", highlight=False, markup=False)
    shown.print(
        f"cases: {told['train']} to learn from, {told['validation']} to choose on, {told['test']} to score on",
        highlight=False,
    )
    shown.print(
        f"at the least {least.calls} calls, about {least.tokens} tokens, {least.price}", highlight=False
    )
    for name, limit in told["budget"].items():
        if limit is not None:
            shown.print(f"{name}: {limit:g}", highlight=False)
    for note in plan.notes:
        shown.print(f"note: {note}", style="dim", highlight=False, markup=False)
