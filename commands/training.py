"""What a juror can be taught from: train."""

from __future__ import annotations

from pathlib import Path

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
    help="Where the examples go.",
)
@click.option("--examples-only", is_flag=True, help="Write JSONL that any trainer reads, and train nothing.")
@JSON
def train(file: Path, output: Path, examples_only: bool, as_json: bool) -> None:
    """Training examples for a judge from reviewers' ratings: ballots to imitate (SFT) and pairs to prefer (DPO)."""
    from ..evals.training.examples import examples_from, write_examples
    from ..evals.training.train_file import load_train_file
    from ..rubrics.errors import VenireError

    if not examples_only:
        raise VenireError(
            "venire writes the examples; it does not train yet",
            remedy="add --examples-only and give the files to a trainer, such as TRL's SFTTrainer and DPOTrainer",
        )
    found = examples_from(load_train_file(file))
    write_examples(found, output)
    told = found.summary()
    if as_json:
        print_json(told)
        return
    shown = console()
    shown.print(
        f"{told['sft']} ballots to imitate ({told['sft_upsampled']} with reviewers up-sampled), {told['dpo']} pairs, in {output}"
    )
    for reason, count in told["dropped"].items():
        shown.print(f"  left out: {count} {reason}")
