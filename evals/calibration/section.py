"""Calibration as a part of a comparison."""

from __future__ import annotations

import pandas as pd

from ..figures.calibration_curves import curves_figure, learning_figure
from ..figures.section import Section
from ..ratings.evidence import Evidence
from ..ratings.sheet import OVERALL
from .change_tables import changes_table, curves_table, pooled
from .changes import changes
from .crossing import FOLDS, Crossed, crossed
from .learning import learning_curve
from .scored import TooFewLabels, scored
from .wording import change_sentence, direct_sentence, learning_sentence, methods


def calibrated(evidence: Evidence, *, seed: int) -> tuple[dict[str, Crossed], list[str]]:
    """Every arm that can be calibrated, out of fold; and why the others cannot."""
    found: dict[str, Crossed] = {}
    refusals: list[str] = []
    for arm in evidence.kinds:
        try:
            found[arm] = crossed(scored(evidence, arm), folds=FOLDS, seed=seed)
        except TooFewLabels as refusal:
            refusals.append(refusal.problem)
    return found, refusals


def calibration_section(
    evidence: Evidence, found: dict[str, Crossed], refusals: list[str], *, seed: int, resamples: int
) -> Section:
    """Every arm before and after; where no arm could be calibrated, why."""
    sentences, tables, figures = [f"{_sentence(why)}" for why in refusals], {}, {}
    if found:
        changed = pd.concat(
            [changes_table(each, seed=seed, resamples=resamples, jurors=False) for each in found.values()],
            ignore_index=True,
        )
        curves = pd.concat([curves_table(each) for each in found.values()], ignore_index=True)
        learned = {arm: learning_curve(each, seed=seed) for arm, each in found.items()}
        direct = _directly(evidence, found, seed=seed, resamples=resamples)
        told = {str(row["arm"]): row for row in direct.to_dict("records") if row["measure"] == "rmse"}
        said = []
        for arm in found:
            said.append(change_sentence(changed, arm))
            said += [direct_sentence(arm, told[arm])] if arm in told else []
            said.append(learning_sentence(arm, learned[arm]))
        sentences = [*said, *sentences]
        tables = {
            "changes": changed,
            "direct": direct,
            "learning": pd.concat(learned.values(), ignore_index=True),
        }
        tables["curves"] = curves
        figures = {
            "Calibration curves: what each juror's score is worth in people's, learned without each fold in turn (thin) "
            "and from all labels (thick); dashed, a juror who needs none.": curves_figure(curves),
            "Out-of-fold error against the number of labelled cases that curves were learned from; bars hold the middle "
            "90% of random draws.": learning_figure(tables["learning"]),
        }
    notes = dict.fromkeys(note for each in found.values() for note in each.notes)
    return Section(
        name="calibration",
        title="Calibration to people",
        sentences=tuple(sentences),
        tables=tables,
        figures=figures,
        methods=methods(found, seed=seed),
        notes=tuple(notes),
    )


def _directly(evidence: Evidence, found: dict[str, Crossed], *, seed: int, resamples: int) -> pd.DataFrame:
    """For each arm of several jurors, verdicts calibrated directly against the mean of calibrated jurors."""
    rows: list[dict[str, object]] = []
    for arm, each in found.items():
        if each.scored.direct or each.votes["juror"].nunique() < 2:
            continue
        whole = crossed(
            scored(evidence, arm, direct=True), method=each.calibrator.method, folds=each.folds, seed=seed
        )
        sides = each.scores[each.scores["attribute"].isin(pooled(each))].rename(columns={"after": "by_juror"})
        whole_scores = whole.scores[["case", "attribute", "after"]].rename(columns={"after": "directly"})
        both = sides.merge(whole_scores, on=["case", "attribute"])
        names = ("by_juror", "directly")
        rows += [
            {"arm": arm, "attribute": OVERALL, **change.row(names)}
            for change in changes(both, seed=seed, resamples=resamples, sides=names)
        ]
    return pd.DataFrame(rows)


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:].rstrip(".") + "."
