"""Texts with known faults: plant."""

from __future__ import annotations

from pathlib import Path

import click

from .options import JSON, console, print_json


@click.command()
@click.argument("cases", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FOLDER",
    help="Where cases.jsonl and labels.csv go.",
)
@click.option("--faults", help="Kinds of fault, with commas between them; without it, all of them.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--split", metavar="NAME=SHARE,...", help="Splits by document, such as train=0.8,test=0.2.")
@JSON
def plant(cases: Path, output: Path, faults: str | None, seed: int, split: str | None, as_json: bool) -> None:
    """Make texts whose faults, places and right scores are known from the clean texts of CASES: would your jury notice?"""
    from ..evals.training.planted_cases import check_kinds, planted_cases, write_planted
    from ..evals.training.planting import KINDS
    from ..rubrics.case import load_cases
    from ..rubrics.errors import VenireError

    kinds = check_kinds(
        [kind.strip() for kind in faults.split(",") if kind.strip()] if faults is not None else KINDS
    )
    shares = _shares(split) if split else None
    clean = list(load_cases(cases))
    if (output / "cases.jsonl").exists():
        raise VenireError(f"{output} has planted cases already", remedy="name another folder")
    found = list(planted_cases(clean, kinds, seed=seed, shares=shares))
    told = write_planted(found, output)
    absent = {kind: len(clean) - sum(each.case.id.endswith(f"~{kind}") for each in found) for kind in kinds}
    told["no_place"] = {kind: count for kind, count in absent.items() if count}
    if as_json:
        print_json(told)
        return
    shown = console()
    shown.print(f"{told['cases']} cases in {output}: {told['clean']} clean, the others with one fault each")
    for kind in kinds:
        left = (
            f"; in {absent[kind]} it found no place that would not leave the text true"
            if absent[kind]
            else ""
        )
        shown.print(f"  {kind}: {len(clean) - absent[kind]}{left}")


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
    if any(share <= 0 for share in shares.values()) or abs(sum(shares.values()) - 1) > 1e-6:
        raise VenireError(
            f"--split: the shares of {text!r} do not add up to 1", remedy="write --split train=0.8,test=0.2"
        )
    if any(not name.isidentifier() or name in ("cases", "labels") for name in shares):
        raise VenireError(
            f"--split: {text!r} names a split badly", remedy="use plain words, such as train and test"
        )
    return shares
