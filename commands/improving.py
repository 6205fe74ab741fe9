"""Better jurors: plant (texts with known faults), optimise, train."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .options import JSON, QUIET, console, exit_unless_whole, print_json, say, sheet_option


@click.command()
@click.argument("cases", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FOLDER",
    help="Folder for cases.jsonl and labels.csv.",
)
@click.option("--faults", help="Kinds of fault, separated by commas (default: all).")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option(
    "--split",
    metavar="NAME=SHARE,...",
    help="Split the cases by document into parts, such as train=0.8,test=0.2.",
)
@JSON
@sheet_option("cases")
def plant(cases: Path, output: Path, faults: str | None, seed: int, split: str | None, as_json: bool) -> None:
    """Plant known faults in the clean texts of CASES.

    The kind, place and right score of each fault are known, so you can test whether a jury notices it.
    """
    from ..evals.training.planting import KINDS, check_kinds, planted_cases, write_planted
    from ..rubrics.case import load_cases
    from ..rubrics.errors import VenireError

    kinds = check_kinds(
        [kind.strip() for kind in faults.split(",") if kind.strip()] if faults is not None else KINDS
    )
    shares = _shares(split) if split else None
    clean = list(load_cases(cases))
    if (output / "cases.jsonl").exists():
        raise VenireError(f"{output} already holds planted cases", remedy="name another folder")
    planted = list(planted_cases(clean, kinds, seed=seed, shares=shares))
    told = write_planted(planted, output)
    absent = {kind: len(clean) - sum(p.case.id.endswith(f"~{kind}") for p in planted) for kind in kinds}
    told["no_place"] = {kind: count for kind, count in absent.items() if count}
    if as_json:
        print_json(told)
        return
    out = console()
    out.print(
        f"{told['cases']} cases were written to {output}: {told['clean']} have no planted fault, and each of the others has one"
    )
    for kind in kinds:
        remark = (
            f"; not planted in {absent[kind]} of {len(clean)} texts, because no place was found where this fault makes the text false"
            if absent[kind]
            else ""
        )
        out.print(f"  {kind}: {len(clean) - absent[kind]}{remark}")


def _shares(text: str) -> dict[str, float]:
    from ..rubrics.errors import VenireError

    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _, share = part.partition("=")
        try:
            shares[name.strip()] = float(share)
        except ValueError:
            raise VenireError(
                f"--split: {part!r} is not NAME=SHARE", remedy="write --split train=0.8,test=0.2"
            ) from None
    if not (all(share > 0 for share in shares.values()) and abs(sum(shares.values()) - 1) <= 1e-6):
        raise VenireError(
            f"--split: the shares of {text!r} do not add up to 1", remedy="write --split train=0.8,test=0.2"
        )
    if any(not name.isidentifier() or name in ("cases", "labels") for name in shares):
        raise VenireError(
            f"--split: {text!r} has a name of a part that cannot be used",
            remedy="use plain words, such as train and test",
        )
    return shares


@click.command(short_help="Look for better wording of personas and rubrics, tested on held-out cases.")
@click.argument("file", metavar="OPT.yaml", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="OUT",
    help="Folder for the record, the new files and the report.",
)
@click.option(
    "--dry-run", is_flag=True, help="Print what the search would cost; call no model and write nothing."
)
@click.option(
    "--redact",
    is_flag=True,
    help="Not supported by this command, because patients' words would go into a persona.",
)
@QUIET
@JSON
def optimise(
    file: Path, output: Path | None, dry_run: bool, redact: bool, quiet: bool, as_json: bool
) -> None:
    """Look for better wording of a persona, a rubric or an orchestrator, as OPT.yaml says.

    New wording is proposed from training cases and chosen on validation cases. It is compared with the old wording once,
    on test cases that were not used before. Every call is recorded: the same command resumes where it stopped.
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
        raise VenireError(
            "no folder for the results is named",
            remedy="name one with -o OUT, or see the plan with --dry-run",
        )
    from ..agents.budget import BudgetSpent
    from ..evals.optimising.optimisation import optimise, write_result
    from ..evals.optimising.optimisation_page import optimisation_json, show_optimisation, write_optimisation

    try:
        result = optimise(plan, output, (lambda line: None) if quiet else (lambda line: say(line, err=True)))
    except BudgetSpent as spent:
        exit_unless_whole(spent.limit, remedy="the test cases are not scored yet. Raise the limit, and ")
        raise
    files = write_result(output, result.first, result.returned)
    report = write_optimisation(result, output, files)
    if as_json:
        print_json(optimisation_json(result, files))
        return
    show_optimisation(result, files, console())
    say(f"written: {report}", err=True)


def _show_plan(plan: object) -> None:
    from ..evals.optimising.plan import OptimisationPlan

    assert isinstance(plan, OptimisationPlan)
    out, least = console(), plan.least
    summary = plan.json()
    out.print(f"to reword: {', '.join(summary['optimise'])}", highlight=False, markup=False)
    out.print(
        f"cases: {summary['train']} for training, {summary['validation']} for choosing the best version, {summary['test']} held out for the final score",
        highlight=False,
    )
    out.print(
        f"expected use of the search: at least {least.calls} calls, about {least.tokens} tokens, {least.price}",
        highlight=False,
    )
    for name, limit in summary["budget"].items():
        if limit is not None:
            out.print(f"{name}: {limit:g}", highlight=False)
    for note in plan.notes:
        out.print(f"note: {note}", style="dim", highlight=False, markup=False)


@click.command()
@click.argument("file", type=click.Path(path_type=Path), metavar="TRAIN.yaml")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FOLDER",
    help="Folder for the examples and the model; an interrupted training resumes there.",
)
@click.option("--examples-only", is_flag=True, help="Write training examples as JSONL and do not train.")
@JSON
def train(file: Path, output: Path, examples_only: bool, as_json: bool) -> None:
    """Train a judge on reviewers' ratings.

    It first imitates their ballots (SFT), then learns which of two ballots they prefer (DPO).
    """
    from ..evals.training.examples import examples_from, write_examples
    from ..evals.training.settings import load_train_file
    from ..evals.training.training_run import train_judge

    settings = load_train_file(file)
    if examples_only:
        examples = examples_from(settings)
        write_examples(examples, output)
        summary: dict[str, Any] = examples.summary()
        _show_examples(summary, output, as_json)
        return
    result = train_judge(settings, output, report=_progress)
    if as_json:
        print_json(result)
        return
    _show_examples(result["examples"], output / "examples", as_json=False)
    out = console()
    if result["search"]:
        out.print(
            f"search: {len(result['search'])} training settings were tried on the development cases; MODEL_CARD.md lists them all"
        )
    for stage, outcome in result["stages"].items():
        margin = (
            f", margin {outcome['first']['margin']:.3f} to {outcome['last']['margin']:.3f}"
            if "margin" in outcome["last"]
            else ""
        )
        out.print(
            f"{stage}: {outcome['steps']} steps, loss {outcome['first']['loss']:.4f} to {outcome['last']['loss']:.4f}{margin}; {outcome['ended']}"
        )
    out.print(f"{', '.join(result['files'])} and MODEL_CARD.md are in {output}")


def _show_examples(summary: dict[str, Any], output: Path, as_json: bool) -> None:
    if as_json:
        print_json(summary)
        return
    out = console()
    out.print(
        f"training examples in {output}: {summary['sft']} ballots ({summary['sft_upsampled']} after reviewers' ballots are repeated) and {summary['dpo']} pairs of ballots"
    )
    for reason, count in summary["dropped"].items():
        out.print(f"  left out: {count} {reason}")


def _progress(step: dict[str, Any]) -> None:
    margin = f", margin {step['margin']:.3f}" if "margin" in step else ""
    end = "\n" if step["step"] == step["of"] else ""
    click.echo(
        f"\r{step['stage']} {step['step']}/{step['of']}, loss {step['loss']:.4f}{margin} {end}",
        err=True,
        nl=False,
    )
