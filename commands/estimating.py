"""What people would say of all cases, from few labels and the jury's scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .options import JSON, REFERENCE, RUN, console, print_json, say


@click.command(short_help="People's mean from many jury scores and few labels.")
@RUN
@click.option(
    "--human", required=True, type=click.Path(path_type=Path), help="People's ratings of some cases."
)
@click.option("--wide", is_flag=True, help="The ratings have one column an attribute.")
@click.option("--draw", type=click.Path(path_type=Path), metavar="FILE.csv", help="How the labels were drawn, from `venire triage --for estimate -o`; without it, at random.")  # fmt: skip
@click.option("--arm", help="The jury; without it, the run's first.")
@click.option("--attribute", help="Only this attribute; without it all that people rated.")
@click.option("--quantile", "quantiles", multiple=True, type=click.FloatRange(0, 1, min_open=True, max_open=True), help="A quantile in place of the mean; may be repeated.")  # fmt: skip
@click.option("--slope", "slopes", multiple=True, metavar="COLUMN", help="The slope on a number of the cases' metadata, or on output_length.")  # fmt: skip
@click.option(
    "--systems", metavar="A,B", help="The mean of system A's cases less that of B's; groups are paired."
)
@click.option("--against", metavar="ARM", help="How much further from people the jury is than this arm.")
@REFERENCE
@JSON
def estimate(run: Path | str, human: Path, wide: bool, as_json: bool, **options: Any) -> None:
    """What people would say of all cases of RUN: the mean, a share, a quantile, a slope or a difference.

    Beside it stand the labels alone and the jury alone, and what the jury was worth in labels.
    """
    from ..evals import load_ratings
    from ..evals.inference.label_draws import load_draw
    from ..evals.inference.run_estimates import run_estimates
    from ..evals.pages.estimate_tables import estimates_json, estimates_table

    found = run_estimates(
        run,
        load_ratings(human, wide=wide),
        arm=options["arm"],
        attribute=options["attribute"],
        draw=load_draw(options["draw"]) if options["draw"] else None,
        quantiles=options["quantiles"],
        slopes=options["slopes"],
        systems=_pair(options["systems"]),
        against=options["against"],
        reference=options["reference"],
    )
    if as_json:
        print_json(estimates_json(str(run), found))
        return
    console().print(estimates_table(found))
    for each in found.estimates:
        say(f"- {each.sentence}")
    for note in found.notes:
        say(f"  note: {note}")


def _pair(written: str | None) -> tuple[str, str] | None:
    """The two systems in `--systems`."""
    from ..rubrics.errors import VenireError

    if written is None:
        return None
    first, _, second = (part.strip() for part in written.partition(","))
    if not first or not second or first == second:
        raise VenireError(f"--systems {written!r} does not name two systems", remedy="write it as A,B")
    return first, second
