"""Calibrate a run: learn from its labelled cases, check out of fold, save, apply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from ...orchestration.record import Store
from ...orchestration.record.rows import Arm
from ...rubrics.errors import VenireError
from ..figures.section import Section
from ..ratings.evidence import Evidence, gather
from ..ratings.people import load_ratings
from ..ratings.reference import Rule
from ..ratings.sheet import OVERALL
from ..statistics.draws import Draws
from .applying import Applied, apply
from .calibration_section import calibration_section
from .change_tables import changes_table
from .cross_validation import FOLDS, CrossValidation, cross_validate
from .labelled_scores import TooFewLabels, labelled_scores
from .saved import Made, SavedCalibration, packages, ratings_hash, saved_arm


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
        tables = [changes_table(each, self._draws, jurors=True) for each in self.crossed.values()]
        return pd.concat(tables, ignore_index=True)

    @property
    def scores(self) -> pd.DataFrame:
        """Each labelled case's scores before and after, out of fold, composites among them."""
        return pd.concat(
            [each.scores.assign(arm=arm) for arm, each in self.crossed.items()], ignore_index=True
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
        found = self.changes
        whole = found[(found["attribute"] == OVERALL) & (found["evaluator"] == found["arm"])]
        return SavedCalibration(
            made=self.made,
            arms={
                arm: saved_arm(self.arms[arm], each, whole[whole["arm"] == arm])
                for arm, each in self.crossed.items()
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
    wide: bool = False,
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
    ratings = human if isinstance(human, pd.DataFrame) else load_ratings(human, wide=wide)
    store = run if isinstance(run, Store) else Store.read(run)
    try:
        arms = {each.name: each for each in store.arms()}
        evidence = gather(store, ratings, rule=reference)
    finally:
        if store is not run:
            store.release()
    if arm is not None and arm not in arms:
        raise VenireError(f"the run has no arm named {arm!r}", remedy=f"choose from {', '.join(arms)}")
    if folds < 2:
        raise VenireError(f"{folds} fold(s) cannot check anything", remedy="give two folds or more")
    found: dict[str, CrossValidation] = {}
    refused: list[TooFewLabels] = []
    for name in arms if arm is None else [arm]:
        try:
            found[name] = cross_validate(
                labelled_scores(evidence, name, direct=direct),
                method=method,
                folds=folds,
                seed=seed,
                resamples=resamples,
            )
        except TooFewLabels as refusal:
            refused.append(refusal)
    if not found:
        if refused:
            raise refused[0]
        raise VenireError("the run has no arm", remedy="run a jury first")
    made = Made(
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
    return Calibration(evidence, arms, found, tuple(each.problem for each in refused), made)
