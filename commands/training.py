"""What a juror can be taught from, and the teaching: train."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .options import JSON, console, print_json


@click.command()
@click.argument("file", type=click.Path(path_type=Path), metavar="TRAIN.yaml")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FOLDER",
    help="Where the examples and the model go; a training that was interrupted goes on there.",
)
@click.option("--examples-only", is_flag=True, help="Write JSONL that any trainer reads, and train nothing.")
@JSON
def train(file: Path, output: Path, examples_only: bool, as_json: bool) -> None:
    """Train a judge on reviewers' ratings: ballots to imitate (SFT), then pairs to prefer (DPO)."""
    from ..evals.training.examples import examples_from, write_examples
    from ..evals.training.train_file import load_train_file
    from ..evals.training.training_run import train_judge

    loaded = load_train_file(file)
    if examples_only:
        found = examples_from(loaded)
        write_examples(found, output)
        told: dict[str, Any] = found.summary()
        _show_examples(told, output, as_json)
        return
    result = train_judge(loaded, output, report=_progress)
    if as_json:
        print_json(result)
        return
    _show_examples(result["examples"], output / "examples", as_json=False)
    shown = console()
    if result["search"]:
        shown.print(
            f"search: {len(result['search'])} settings tried on the dev split; MODEL_CARD.md has each"
        )
    for stage, seen in result["stages"].items():
        margin = (
            f", margin {seen['first']['margin']:.3f} to {seen['last']['margin']:.3f}"
            if "margin" in seen["last"]
            else ""
        )
        shown.print(
            f"{stage}: {seen['steps']} steps, loss {seen['first']['loss']:.4f} to {seen['last']['loss']:.4f}{margin}; {seen['ended']}"
        )
    shown.print(f"{', '.join(result['files'])} and MODEL_CARD.md are in {output}")


def _show_examples(told: dict[str, Any], output: Path, as_json: bool) -> None:
    if as_json:
        print_json(told)
        return
    shown = console()
    shown.print(
        f"{told['sft']} ballots to imitate ({told['sft_upsampled']} with reviewers up-sampled), {told['dpo']} pairs, in {output}"
    )
    for reason, count in told["dropped"].items():
        shown.print(f"  left out: {count} {reason}")


def _progress(step: dict[str, Any]) -> None:
    margin = f", margin {step['margin']:.3f}" if "margin" in step else ""
    end = "\n" if step["step"] == step["of"] else ""
    click.echo(
        f"\r{step['stage']} {step['step']}/{step['of']}, loss {step['loss']:.4f}{margin} {end}",
        err=True,
        nl=False,
    )
