"""Act on a jury that people have checked: calibrate, estimate, certify."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import (
    JSON,
    REFERENCE,
    RESAMPLES,
    RUN,
    console,
    location,
    print_json,
    say,
    sheet_option,
)

if TYPE_CHECKING:
    from ..evals.inference.run_certificate import RunCertificate
    from ..evals.ratings.reference import Rule


@click.command(short_help="Estimate people's mean score from jury scores and a few labels.")
@RUN
@click.option(
    "--human", required=True, type=click.Path(path_type=Path), help="People's ratings of some cases."
)
@click.option("--draw", type=click.Path(path_type=Path), metavar="FILE.csv", help="File that says how the labelled cases were drawn, written by `venire triage --for estimate -o` (default: they were drawn at random).")  # fmt: skip
@click.option("--arm", help="The jury to use (default: the run's first).")
@click.option("--attribute", help="Only this attribute (default: all that people rated).")
@click.option("--quantile", "quantiles", multiple=True, type=click.FloatRange(0, 1, min_open=True, max_open=True), help="Estimate this quantile instead of the mean; repeatable.")  # fmt: skip
@click.option("--slope", "slopes", multiple=True, metavar="COLUMN", help="Estimate how people's scores change with a numeric field of the cases' metadata, or with output_length (a regression slope).")  # fmt: skip
@click.option(
    "--systems",
    metavar="A,B",
    help="Estimate system A's mean score minus system B's; cases of one group are paired.",
)
@click.option(
    "--against",
    metavar="ARM",
    help="Estimate how much farther from people's scores the jury is than this arm.",
)
@REFERENCE
@JSON
@sheet_option("human")
def estimate(run: Path | str, human: Path, as_json: bool, **options: Any) -> None:
    """Estimate how people would score all cases of RUN: the mean, a share, a quantile, a slope or a difference.

    Also shows the estimates from the labels alone and from the jury alone, and how many labels alone would be as precise.
    """
    from ..evals import load_ratings
    from ..evals.inference.estimates import estimates_answer, estimates_json, run_estimates
    from ..evals.inference.labelling import load_draw
    from ..evals.report.terminal import show_answer

    estimates = run_estimates(
        run,
        load_ratings(human),
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
        print_json(estimates_json(str(run), estimates))
        return
    show_answer(estimates_answer(estimates), console())


def _pair(text: str | None) -> tuple[str, str] | None:
    """The two systems in `--systems`."""
    from ..rubrics.errors import VenireError

    if text is None:
        return None
    system, _, rival = (part.strip() for part in text.partition(","))
    if not system or not rival or system == rival:
        raise VenireError(
            f"--systems {text!r} does not name two systems", remedy="write two names: --systems A,B"
        )
    return system, rival


@click.command(short_help="Find verdicts to accept without review, with a bound on their error rate.")
@RUN
@click.option("--human", type=click.Path(path_type=Path), help="People's ratings of cases drawn at random.")
@click.option("--draw", type=click.Path(path_type=Path), metavar="FILE.csv", help="File that says how the labelled cases were drawn, written by `venire triage --for estimate -o` (default: they were drawn at random).")  # fmt: skip
@click.option(
    "--risk",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.1,
    show_default=True,
    help="Largest share of wrong verdicts that you allow among the accepted ones.",
)
@click.option(
    "--delta",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="Allowed probability that the guarantee fails, because of the chance choice of labelled cases.",
)
@click.option(
    "--within",
    type=click.FloatRange(min=0),
    default=0.0,
    help="How far a verdict may be from people's reference without counting as wrong (default: half a step of the scale).",
)
@click.option("--arm", help="The jury to use (default: the run's first).")
@click.option(
    "--attribute",
    help="Only this attribute (default: all that people rated; delta is divided among these attributes).",
)
@click.option(
    "--save",
    type=click.Path(path_type=Path),
    metavar="RULE.json",
    help="Save the rule to this file; a jury file can name it under `rule:`.",
)
@click.option("--apply", "rule", type=click.Path(path_type=Path), metavar="RULE.json", help="Apply a saved rule to RUN instead of finding a new rule.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE.csv", help="Write every verdict, accepted or not, to this file.")  # fmt: skip
@REFERENCE
@click.option("--seed", type=int, default=0, show_default=True)
@JSON
@sheet_option("human")
def certify(run: Path | str, human: Path | None, rule: Path | None, **options: Any) -> None:
    """Find the verdicts of RUN that may be accepted without review, so that at most the share --risk of them is wrong.

    The labelled cases must be drawn at random, or with the probabilities in the file of --draw. Hung cases go to people.
    """
    from ..evals.inference.run_certificate import certificate_answer, certificate_json
    from ..evals.report.files import csv_text
    from ..evals.report.terminal import show_answer
    from ..orchestration.record.private_files import write_atomically

    certificate = _certificate(run, human, rule, options)
    if options["save"] is not None:
        write_atomically(options["save"], certificate.rule.model_dump_json(indent=1) + "\n")
        say(f"written: {options['save']}", err=True)
    if options["output"] is not None:
        write_atomically(options["output"], csv_text(certificate.verdicts))
        say(f"written: {options['output']}", err=True)
    if options["as_json"]:
        print_json(certificate_json(str(run), certificate))
        return
    show_answer(certificate_answer(certificate), console())


def _certificate(run: Path | str, human: Path | None, rule: Path | None, options: dict[str, Any]) -> RunCertificate:  # fmt: skip
    from ..evals import load_ratings
    from ..evals.inference.labelling import load_draw
    from ..evals.inference.run_certificate import apply_rule, run_certificate
    from ..personas.options import load_acceptance
    from ..rubrics.errors import VenireError

    if (human is None) == (rule is None):
        raise VenireError(
            "either people's ratings or a saved rule is needed, not both",
            remedy="give --human RATINGS, or --apply RULE.json",
        )
    if rule is not None and options["draw"] is not None:
        raise VenireError(
            "--draw has no effect with a saved rule, which was made from other labels",
            remedy="leave out --draw",
        )
    if rule is not None:
        return apply_rule(run, load_acceptance(rule), arm=options["arm"], seed=options["seed"])
    assert human is not None
    return run_certificate(
        run,
        load_ratings(human),
        risk=options["risk"],
        delta=options["delta"],
        within=options["within"],
        arm=options["arm"],
        attribute=options["attribute"],
        reference=options["reference"],
        draw=load_draw(options["draw"]) if options["draw"] else None,
        seed=options["seed"],
    )


@click.command(short_help="Convert jurors' scores to people's scale, learned from people's ratings.")
@click.argument("source", type=location, metavar="RUN|CALIBRATION.json")
@click.option("--human", type=click.Path(path_type=Path), help="People's ratings of cases of RUN.")
@click.option("--arm", help="Calibrate only this arm of RUN.")
@click.option(
    "--method",
    type=click.Choice(["isotonic", "linear", "ordinal"]),
    default="isotonic",
    show_default=True,
    help="The kind of calibration curve.",
)
@click.option("--direct", is_flag=True, help="Calibrate the jury's verdict instead of each juror's scores.")
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
    help="Save the calibration curves to this file.",
)
@click.option(
    "--report", type=click.Path(path_type=Path), metavar="FILE.html", help="Write an HTML page to this file."
)
@click.option(
    "--apply",
    "target",
    type=location,
    metavar="RUN",
    help="Use the calibration to convert the scores of this run.",
)
@click.option(
    "--scores",
    type=click.Path(path_type=Path),
    metavar="FILE.csv",
    help="With --apply: file for the calibrated scores.",
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
    """Learn from people's ratings how to convert each juror's scores; test the conversion out of fold, save it or apply it.

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
