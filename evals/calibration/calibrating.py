"""Calibrate a run: learn from its labelled cases, check out of fold, save, apply; the answer as JSON and as a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from ...orchestration.record import Store
from ...orchestration.record.reader import Arm
from ...rubrics.errors import VenireError
from ..ratings.evidence import Evidence, gather
from ..ratings.people import load_ratings
from ..ratings.pooling import OVERALL
from ..ratings.reference import Rule
from ..report.html import items, methods_section, page, paragraph, section, section_part, table
from ..report.section import Section, records
from ..statistics.draws import Draws
from .calibrator import FOLDS, CrossValidation, cross_validate
from .labelled_scores import TooFewLabels, labelled_scores
from .saved import Applied, Made, SavedCalibration, apply, packages, ratings_hash, saved_arm
from .section import calibration_section, changes_table

MOST = 20
"""Calibrated scores shown in the terminal; a file holds all."""
TITLE = "Calibration to people"
WORDS = {"offset": "offset", "rmse": "RMSE", "spearman": "Spearman", "kappa_quadratic": "quadratic kappa"}


@dataclass(frozen=True)
class Calibration:
    """Every arm's curves, what they changed out of fold, and how to keep and use them."""

    evidence: Evidence
    arms: Mapping[str, Arm]
    crossed: Mapping[str, CrossValidation]
    """By arm, as far as there were labels enough."""
    refusals: tuple[str, ...]
    """Why an arm is not among them."""
    made: Made

    @cached_property
    def changes(self) -> pd.DataFrame:
        """By arm, evaluator (the arm and each of its jurors), attribute and measure: before, after, change."""
        tables = [changes_table(crossed, jurors=True) for crossed in self.crossed.values()]
        return pd.concat(tables, ignore_index=True)

    @property
    def scores(self) -> pd.DataFrame:
        """Each labelled case's scores before and after, out of fold, composites among them."""
        return pd.concat(
            [crossed.scores.assign(arm=arm) for arm, crossed in self.crossed.items()], ignore_index=True
        )

    @cached_property
    def section(self) -> Section:
        """What was found, drawn and said in words."""
        return calibration_section(dict(self.crossed), list(self.refusals), self._draws)

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be used, and why: of the ratings, of the people's reference, of each arm."""
        return (*self.evidence.notes, *self.evidence.reference().notes, *self.section.notes)

    @property
    def _draws(self) -> Draws:
        return Draws(self.made.seed, self.made.resamples)

    @cached_property
    def saved(self) -> SavedCalibration:
        """What `venire calibrate -o` writes; its curves are learned from every labelled case."""
        changes = self.changes
        overall = changes[(changes["attribute"] == OVERALL) & (changes["evaluator"] == changes["arm"])]
        return SavedCalibration(
            made=self.made,
            arms={
                arm: saved_arm(self.arms[arm], crossed, overall[overall["arm"] == arm])
                for arm, crossed in self.crossed.items()
            },
        )

    def save(self, path: Path | str) -> None:
        """Write the curves and where they come from as JSON."""
        self.saved.write(Path(path))

    def apply(self, run: Store | Path | str) -> Applied:
        """Calibrated scores of a run of the same jury, labelled or not."""
        return apply(self.saved, run)


def calibrate(
    run: Store | Path | str,
    human: pd.DataFrame | Path | str,
    *,
    arm: str | None = None,
    method: str = "isotonic",
    direct: bool = False,
    folds: int = FOLDS,
    reference: Rule | None = None,
    seed: int = 0,
    resamples: int = 1000,
) -> Calibration:
    """The arms of `run`, or one of them, calibrated to the reference of the people in `human`.

    Args:
        method: `isotonic`, `linear` or `ordinal`.
        direct: Calibrate each arm's verdict, not each juror's votes.
        folds: Of the cross-validation; cases of one group share a fold.
        reference: How people's ratings of a question become one: mean, median or majority.

    Raises:
        TooFewLabels: Not one arm could be calibrated.
    """
    ratings = human if isinstance(human, pd.DataFrame) else load_ratings(human)
    store = run if isinstance(run, Store) else Store.read(run)
    try:
        arms = {a.name: a for a in store.arms()}
        evidence = gather(store, ratings, rule=reference)
    finally:
        if store is not run:
            store.release()
    if arm is not None and arm not in arms:
        raise VenireError(f"the run has no arm named {arm!r}", remedy=f"choose from {', '.join(arms)}")
    if folds < 2:
        raise VenireError(
            f"cross-validation needs at least two folds, not {folds}", remedy="give two folds or more"
        )
    crossed: dict[str, CrossValidation] = {}
    refused: list[TooFewLabels] = []
    for name in arms if arm is None else [arm]:
        try:
            crossed[name] = cross_validate(
                labelled_scores(evidence, name, direct=direct), method=method, folds=folds, seed=seed
            )
        except TooFewLabels as refusal:
            refused.append(refusal)
    if not crossed:
        if refused:
            raise refused[0]
        raise VenireError("the run has no arm", remedy="run a jury first")
    provenance = Made(
        venire=version("venire"),
        packages=packages(),
        method=method,
        folds=folds,
        seed=seed,
        resamples=resamples,
        reference=reference,
        ratings_sha256=ratings_hash(human),
        people=evidence.people["rater"].nunique(),
    )
    return Calibration(evidence, arms, crossed, tuple(e.problem for e in refused), provenance)


def calibration_answer(found: Calibration) -> Section:
    """Arms and their jurors as rows, each measure before and after, over the attributes that share a scale."""
    rows = []
    overall = found.changes[found.changes["attribute"] == OVERALL]
    for (arm, evaluator), measures in overall.groupby(["arm", "evaluator"], sort=False):
        by = measures.set_index("measure")
        sides = [
            f"{_two_decimals(by['before'][name])} -> {_two_decimals(by['after'][name])}" for name in WORDS
        ]
        rows.append([evaluator if evaluator == arm else f"  {evaluator}", by["n"]["rmse"], *sides])
    table = pd.DataFrame(rows, columns=["evaluator", "n", *WORDS.values()])
    return Section("calibration", TITLE, found.section.sentences, {"": table}, notes=found.notes)


def applied_answer(applied: Applied) -> Section:
    """The first calibrated scores, and what was left out of them."""
    head = applied.scores.head(MOST)
    table = head[["arm", "case", "attribute"]].assign(
        calibrated=head["value"].map(_two_decimals), jurors=[number or "derived" for number in head["jurors"]]
    )
    return Section("applied", "Calibrated scores", (), {"": table}, notes=applied.notes)


def calibration_json(run: str, found: Calibration | None, applied: Applied | None) -> dict[str, Any]:
    """What was learned and what it changed; under `applied`, the scores of the run it was applied to."""
    document: dict[str, Any] = {"run": run}
    if found is not None:
        section = found.section
        document |= found.saved.model_dump(mode="json")
        document["changes"] = records(found.changes)
        document["learning"] = records(section.tables["learning"])
        document["direct"] = records(section.tables["direct"])
        document["sentences"] = list(section.sentences)
        document["methods"] = list(section.methods)
        document["notes"] = list(found.notes)
    document["applied"] = (
        None if applied is None else {"scores": records(applied.scores), "notes": list(applied.notes)}
    )
    return document


def calibration_page(found: Calibration) -> str:
    """The whole page: what calibration changed, juror by juror, and how it was done."""
    answer = found.section
    heads = {str(name): str(name).replace("_", " ") for name in found.changes.columns}
    body = [
        section_part(answer),
        section("Every juror and attribute", table("calibration-jurors", found.changes, heads)),
        methods_section(answer.methods),
        section("Notes", items(found.notes, "notes") or paragraph("None.")),
    ]
    provenance = found.made
    subtitle = f"{', '.join(found.crossed)}; {provenance.method}, {provenance.folds} folds, seed {provenance.seed}; 95% intervals"
    return page(TITLE, subtitle, body)


def _two_decimals(value: float) -> str:
    return "-" if value != value else f"{round(value, 2) + 0.0:.2f}"
