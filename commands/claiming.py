"""Claims of a decompose-verify run: read, recounted, exported, imported; and the threshold on a score."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .options import JSON, NO_RESAMPLES, RESAMPLES, RUN, console, print_json, say, sheet_option


class _RunOrSubcommand(click.Group):
    """A group whose first argument is a run, unless it names a command of the group."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "--help", "-h"):
            args = ["show", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_RunOrSubcommand)
def claims() -> None:
    """Show claims, checks and quotes of a run, or of imported files.

    `venire claims RUN [CASE]` is short for `venire claims show RUN [CASE]`.
    """


@claims.command("show")
@RUN
@click.argument("case", required=False)
@click.option("--arm", help="Only this jury's claims (default: every jury that checked claims).")
@click.option(
    "--share",
    type=click.Choice(["addressed", "all", "uncontradicted"]),
    help="Compute the scores again from this share of the claims.",
)
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    help="Compute the scores again; a text passes if its share of claims reaches this threshold.",
)
@click.option(
    "--central-weight",
    type=click.FloatRange(min=0, min_open=True),
    help="Compute the scores again with this weight for central claims (other claims weigh 1).",
)
@click.option(
    "--human",
    type=click.Path(path_type=Path),
    help="File of people's ratings. They are shown with each case. The report says how well scores from claims, and plain word overlap, agree with them.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Write claims.jsonl and checks.csv to this folder.",
)
@click.option("--seed", type=int, expose_value=False, hidden=True)
@NO_RESAMPLES
@JSON
@sheet_option("human")
def show_claims(run: Path | str, case: str | None, **options: Any) -> None:
    """Show claims, checks and shares of RUN, or of one CASE. Makes no model call."""
    from ..evals.claims.figures import (
        cards,
        case_groups,
        claim_arms,
        figures_json,
        figures_line,
        figures_table,
        overlap_comparisons,
        overlap_json,
        recounted_options,
        run_figures,
        verifier_figures,
        verifiers_json,
        verifiers_table,
    )
    from ..evals.claims.labelled import check_rows, claim_rows, write_claims
    from ..evals.report.terminal import estimate_words
    from ..orchestration.reading.claim_card import card_json, show_card
    from ..orchestration.record import Store
    from ..rubrics.errors import VenireError
    from ..rubrics.ratings import read_ratings

    people = list(read_ratings(options["human"])) if options["human"] else []
    store = Store.read(run)
    try:
        document: list[dict[str, Any]] = []
        arms = claim_arms(store, options["arm"])
        if options["output"] is not None and len(arms) > 1:
            raise VenireError(
                f"{len(arms)} juries of this run checked claims, but files can be written for one only",
                remedy="choose the one whose files are written: --arm NAME",
            )
        for arm in arms:
            recounted = recounted_options(
                arm.jury.claims,
                share=options["share"],
                threshold=options["threshold"],
                central_weight=options["central_weight"],
            )
            verdict_cards = list(cards(store, arm, recounted, case=case, people=people))
            figures = run_figures([card for _, card in verdict_cards], case_groups(store))
            comparisons = overlap_comparisons([card for _, card in verdict_cards], case_groups(store))
            verifiers, alpha = verifier_figures([card for _, card in verdict_cards], case_groups(store))
            card_documents = [card_json(card) for _, card in verdict_cards]
            document.append(
                {
                    "arm": arm.name,
                    **figures_json(figures, recounted.share),
                    **verifiers_json(verifiers, alpha),
                    "against_people": [overlap_json(comparison) for comparison in comparisons],
                    "of_cases": card_documents,
                }
            )
            if not options["as_json"]:
                say(f"{arm.name}: {figures_line(figures)}")
                if case is None:
                    console().print(figures_table(figures, recounted.share))
                    if alpha is not None:
                        say(f"verifiers agree with alpha {estimate_words(alpha)}:")
                        console().print(verifiers_table(verifiers))
                    for comparison in comparisons:
                        say(f"- {comparison.sentence}")
                for _, card in verdict_cards if case is not None else ():
                    show_card(card, console())
            if options["output"] is not None:
                verdicts = [verdict for verdict, _ in verdict_cards]
                claims, checks = write_claims(options["output"], claim_rows(verdicts), check_rows(verdicts))
                say(f"{claims} claims and {checks} checks were written to {options['output']}", err=True)
        if options["as_json"]:
            print_json({"run": store.name, "arms": document})
    finally:
        store.release()


@claims.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Write cases.jsonl, claims.jsonl and checks.csv to this folder.",
)
@click.option("--seed", type=int, expose_value=False, hidden=True)
@NO_RESAMPLES
@JSON
@sheet_option("file")
def import_claims(file: Path, output: Path | None, as_json: bool) -> None:
    """Import labelled claims from FILE.

    FILE is FActScore's JSONL, or a table with case, text and verdict.
    """
    from ..evals.claims.figures import figures_line, figures_table, labelled_figures, labelled_json
    from ..evals.claims.labelled import read_labelled, write_claims
    from ..orchestration.record.private_files import open_private

    labelled = read_labelled(file)
    figures = labelled_figures(labelled)
    if output is not None:
        write_claims(output, labelled.claims, labelled.checks)
        if labelled.cases:
            with open_private(output / "cases.jsonl") as handle:
                handle.writelines(
                    case.model_dump_json(exclude_defaults=True) + "\n" for case in labelled.cases
                )
        say(f"written: {output}", err=True)
    if as_json:
        print_json({"file": str(file), **labelled_json(labelled, figures)})
        return
    say(
        f"{labelled.responses} responses; responses without a list of claims: {len(labelled.abstained)}; "
        f"responses with an empty list: {len(labelled.claimless)}; claims without a label: {labelled.unlabelled}"
    )
    say(figures_line(figures))
    console().print(figures_table(figures, "all"))


@click.command()
@RUN
@click.option("--human", required=True, type=click.Path(path_type=Path), help="People's ratings.")
@click.option(
    "--score",
    required=True,
    help="The score to choose a threshold for: an attribute of the run's rubric, or a claim measure (such as the share of claims that are supported).",
)
@click.option("--attribute", help="The yes-or-no question that people answered (default: the only one).")
@click.option("--arm", help="The jury to use (default: the first that has the score of --score).")
@click.option("--maximise", type=click.Choice(["kappa", "f1", "youden"]), default="kappa", show_default=True)
@click.option(
    "--costs",
    metavar="FP,FN",
    help="Costs of a wrong yes and of a wrong no: choose the threshold with the lowest total cost, instead of --maximise.",
)
@click.option(
    "--fixed", type=float, help="A threshold to compare the chosen threshold with (default: the jury file's)."
)
@click.option("--folds", type=click.IntRange(min=2), default=10, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@RESAMPLES
@JSON
@sheet_option("human")
def threshold(run: Path | str, human: Path, **options: Any) -> None:
    """Choose the threshold of a score, tested out of fold.

    Shows how good it is on cases left out and how much better it looks on its own cases (optimism).
    A fixed threshold and the ROC curve are shown too.
    """
    from ..evals import load_ratings
    from ..evals.claims.threshold import (
        labelled_cases,
        threshold_json,
        threshold_lines,
        threshold_report,
        threshold_table,
    )
    from ..evals.statistics.draws import Draws
    from ..orchestration.record import Store

    costs = _costs(options["costs"])
    ratings = load_ratings(human)
    store = Store.read(run)
    try:
        labelled = labelled_cases(
            store, ratings, options["score"], arm=options["arm"], attribute=options["attribute"]
        )
        report = threshold_report(
            labelled.scores,
            labelled.truth,
            labelled.cluster,
            score=options["score"],
            aim=options["maximise"],
            costs=costs,
            fixed=labelled.fixed if options["fixed"] is None else options["fixed"],
            number=options["folds"],
            draws=Draws(options["seed"], options["resamples"]),
            notes=labelled.notes,
        )
        if options["as_json"]:
            print_json(threshold_json(store.name, labelled, report))
            return
        for line in threshold_lines(labelled, report):
            say(line)
        console().print(threshold_table(report))
    finally:
        store.release()


def _costs(text: str | None) -> Any:
    """The two costs in `--costs`."""
    from ..evals.claims.threshold import Costs
    from ..rubrics.errors import VenireError

    if text is None:
        return None
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != 2 or min(numbers) < 0 or not sum(numbers) < float("inf") or not sum(numbers):
        raise VenireError(
            f"--costs needs two numbers, not {text!r}",
            remedy="give the cost of a wrong yes and of a wrong no, for example --costs 1,5",
        )
    return Costs(*numbers)
