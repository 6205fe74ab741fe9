"""Calibration to people: calibrate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..evals.ratings.reference import Rule

from .options import JSON, REFERENCE, RESAMPLES, console, location, print_json, say, sheet_option


@click.command(short_help="Convert jurors' scores to people's scale, learned from people's ratings.")
@click.argument("source", type=location, metavar="RUN|CALIBRATION.json")
@click.option("--human", type=click.Path(path_type=Path), help="People's ratings of cases of RUN.")
@click.option("--arm", help="Only this arm of RUN.")
@click.option(
    "--method",
    type=click.Choice(["isotonic", "linear", "ordinal"]),
    default="isotonic",
    show_default=True,
    help="The kind of curve.",
)
@click.option("--direct", is_flag=True, help="Calibrate the jury's verdict instead of each juror.")
@click.option(
    "--folds",
    type=click.IntRange(min=2),
    default=5,
    show_default=True,
    help="Number of folds in the cross-validation.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE.json",
    help="Save the curves to this file.",
)
@click.option(
    "--report", type=click.Path(path_type=Path), metavar="FILE.html", help="Write an HTML page to this file."
)
@click.option("--apply", "target", type=location, metavar="RUN", help="Calibrate the scores of this run.")
@click.option(
    "--scores",
    type=click.Path(path_type=Path),
    metavar="FILE.csv",
    help="File for the calibrated scores of --apply.",
)
@REFERENCE
@click.option("--seed", type=int, default=0, show_default=True)
@RESAMPLES
@JSON
@sheet_option("human")
def calibrate(
    source: Path | str,
    human: Path | None,
    arm: str | None,
    method: str,
    direct: bool,
    folds: int,
    output: Path | None,
    report: Path | None,
    target: Path | str | None,
    scores: Path | None,
    reference: Rule | None,
    seed: int,
    resamples: int,
    as_json: bool,
) -> None:
    """Learn from people's ratings how to convert each juror's scores; test that out of fold, save it, apply it.

    To apply a saved calibration, name its file in place of RUN and give --apply.
    """
    if scores is not None and target is None:
        raise click.UsageError("--scores needs --apply: name the run to calibrate with --apply RUN")
    is_saved = isinstance(source, Path) and source.suffix == ".json"
    if is_saved and (human or output or report or target is None):
        raise click.UsageError("a saved calibration can only be applied: give --apply RUN, without --human")
    if not is_saved and human is None:
        raise click.UsageError("calibration needs people's ratings: give --human RATINGS")
    from ..evals.calibration import apply, load_calibration
    from ..evals.calibration import calibrate as calibrated
    from ..evals.calibration.calibrating import (
        applied_answer,
        calibration_answer,
        calibration_json,
        calibration_page,
    )
    from ..evals.report.files import csv_text
    from ..evals.report.terminal import show_answer
    from ..orchestration.record.private_files import write_atomically

    calibration = None
    if human is None:
        saved_calibration = load_calibration(source)
    else:
        calibration = calibrated(
            source,
            human,
            arm=arm,
            method=method,
            direct=direct,
            folds=folds,
            reference=reference,
            seed=seed,
            resamples=resamples,
        )
        saved_calibration = calibration.saved
    applied = apply(saved_calibration, target) if target is not None else None
    if calibration is not None and output is not None:
        calibration.save(output)
        say(f"written: {output}", err=True)
    if calibration is not None and report is not None:
        write_atomically(report, calibration_page(calibration))
        say(f"written: {report}", err=True)
    if applied is not None and scores is not None:
        write_atomically(scores, csv_text(applied.scores))
        say(f"written: {scores}", err=True)
    if as_json:
        print_json(calibration_json(str(source), calibration, applied))
        return
    if calibration is not None:
        show_answer(calibration_answer(calibration), console())
    if applied is not None:
        show_answer(applied_answer(applied), console())
