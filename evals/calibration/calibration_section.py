"""Calibration as a part of a comparison."""

from __future__ import annotations

import pandas as pd

from ..figures.calibration_curves import curves_figure, learning_figure
from ..figures.section import Section
from ..ratings.evidence import Evidence
from ..ratings.sheet import OVERALL
from ..statistics.draws import Draws
from .change_tables import changes_table, crossed_pooling, curves_table
from .changes import changes
from .cross_validation import FOLDS, CrossValidation, cross_validate
from .labelled_scores import TooFewLabels, labelled_scores
from .learning import learning_curve
from .wording import calibration_methods, change_sentences, direct_sentence, learning_sentence


def cross_validate_arms(evidence: Evidence, draws: Draws) -> tuple[dict[str, CrossValidation], list[str]]:
    """Every arm that can be calibrated, out of fold; and why the others cannot."""
    found: dict[str, CrossValidation] = {}
    refusals: list[str] = []
    for arm in evidence.kinds:
        try:
            found[arm] = cross_validate(
                labelled_scores(evidence, arm), folds=FOLDS, seed=draws.seed, resamples=draws.resamples
            )
        except TooFewLabels as refusal:
            refusals.append(refusal.problem)
    return found, refusals


def calibration_section(
    found: dict[str, CrossValidation],
    refusals: list[str],
    draws: Draws,
    *,
    jurors: bool = False,
) -> Section:
    """Every arm before and after, with `jurors` each of its jurors by attribute too; where no arm could be calibrated, why."""
    sentences, tables, figures = [f"{_sentence(why)}" for why in refusals], {}, {}
    if found:
        changed = pd.concat(
            [changes_table(each, draws, jurors=jurors) for each in found.values()],
            ignore_index=True,
        )
        curves = pd.concat([curves_table(each) for each in found.values()], ignore_index=True)
        learned = {
            arm: learning_curve(each, seed=draws.seed)
            for arm, each in found.items()
            if set(each.left_alone) < set(each.votes["attribute"])
        }
        direct = _directly(found, draws)
        told = {str(row["arm"]): row for row in direct.to_dict("records") if row["measure"] == "rmse"}
        said = []
        for arm, each in found.items():
            said += change_sentences(changed, each)
            said += [direct_sentence(arm, told[arm])] if arm in told else []
            said += [learning_sentence(arm, learned[arm])] if arm in learned else []
        sentences = [*said, *sentences]
        tables = {
            "changes": changed,
            "direct": direct,
            "learning": pd.concat(learned.values(), ignore_index=True) if learned else pd.DataFrame(),
            "curves": curves,
        }
        figures = {
            "Calibration curves: what each juror's score is worth in people's, learned without each fold in turn (thin) "
            "and from all labels (thick); dashed, a juror who needs none.": curves_figure(curves),
        }
        if learned:
            figures[
                "Out-of-fold error against the number of labelled cases that curves were learned from; bars hold the middle "
                "90% of random draws."
            ] = learning_figure(tables["learning"])
    notes = dict.fromkeys(note for each in found.values() for note in each.notes)
    return Section(
        name="calibration",
        title="Calibration to people",
        sentences=tuple(sentences),
        tables=tables,
        figures=figures,
        methods=calibration_methods(found, seed=draws.seed),
        notes=tuple(notes),
    )


def _directly(found: dict[str, CrossValidation], draws: Draws) -> pd.DataFrame:
    """For each arm of several jurors, verdicts calibrated directly against the mean of calibrated jurors."""
    rows: list[dict[str, object]] = []
    names = ("by_juror", "directly")
    for arm, each in found.items():
        if each.labelled.direct or each.votes["juror"].nunique() < 2:
            continue
        whole = cross_validate(
            each.labelled.directly(),
            method=each.calibrator.method,
            folds=each.folds,
            seed=draws.seed,
            resamples=draws.resamples,
        )
        directly = whole.scores[["case", "attribute", "after"]].rename(columns={"after": "directly"})
        both = each.scores.rename(columns={"after": "by_juror"}).merge(directly, on=["case", "attribute"])
        both = crossed_pooling(each).rows(both, (*names, "people"))
        rows += [
            {"arm": arm, "attribute": OVERALL, **change.row(names)}
            for change in changes(both, draws, sides=names)
        ]
    return pd.DataFrame(rows)


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:].rstrip(".") + "."
