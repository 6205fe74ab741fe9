"""Cross-validation: every case scored by curves that saw neither it nor another case of its group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..ratings.folds import fold_numbers
from ..statistics.draws import Draws
from .calibrator import JuryCalibrator, jury_means
from .changes import CalibrationChange, changes, tested_change
from .labelled_scores import LEAST, LabelledScores, TooFewLabels, composites
from .nearness import grid

FOLDS = 5
RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """An arm before and after calibration, out of fold, and the curves behind it."""

    labelled: LabelledScores
    votes: pd.DataFrame
    """`labelled.votes` with `fold` and `after`, the vote calibrated out of fold."""
    scores: pd.DataFrame
    """One row an attribute or composite of a case: `case`, `cluster`, `fold`, `attribute`, `before`, `after`, `people`."""
    by_fold: tuple[JuryCalibrator, ...]
    """What each fold was scored by."""
    calibrator: JuryCalibrator
    """Learned from every labelled case; for cases without labels."""
    composites: tuple[str, ...]
    left_alone: Mapping[str, CalibrationChange]
    """The attributes that calibration takes demonstrably further from people, and by how much: `after` is `before` there."""
    notes: tuple[str, ...]

    @property
    def folds(self) -> int:
        return len(self.by_fold)


def cross_validate(
    labelled: LabelledScores,
    *,
    method: str = "isotonic",
    folds: int = FOLDS,
    seed: int = 0,
    resamples: int = RESAMPLES,
    split: Callable[..., np.ndarray] = fold_numbers,
) -> CrossValidation:
    """The arm's scores calibrated out of fold, and the curves learned from all of them.

    An attribute whose error grows demonstrably out of fold is left alone: its scores stay as they are, here and in
    the curves learned from all cases.

    Args:
        resamples: Of the interval that says whether an attribute's error grows.
        split: From each case's group, the number of folds and a source of chance to each case's fold.

    Raises:
        TooFewLabels: No juror has labels enough.
    """
    every = JuryCalibrator(labelled.ends, method=method, least=LEAST).fit(
        labelled.votes, labelled.votes["people"]
    )
    if not every.curves_:
        raise TooFewLabels(
            f"no juror of {labelled.arm} has {LEAST} labelled cases in an attribute",
            remedy="have people score more cases, or calibrate the verdicts as they are (--direct)",
        )
    pairs = pd.MultiIndex.from_frame(labelled.votes[["juror", "attribute"]])
    votes = labelled.votes[pairs.isin(list(every.curves_))].reset_index(drop=True)
    cases = votes[["case", "cluster"]].drop_duplicates("case")
    fold_of = pd.Series(
        split(cases["cluster"].tolist(), folds, np.random.default_rng(seed)), index=cases["case"].tolist()
    )
    votes["fold"] = votes["case"].map(fold_of)
    by_fold = [
        JuryCalibrator(labelled.ends, method=method).fit(held_out, held_out["people"])
        for held_out in (votes[votes["fold"] != fold] for fold in range(int(fold_of.max()) + 1))
    ]
    votes["after"] = _out_of_fold(votes, by_fold)
    scores = _scores(labelled, votes, fold_of)
    left_alone = _worse_attributes(scores, Draws(seed, resamples))
    alone = scores["attribute"].isin(list(left_alone))
    scores["after"] = scores["after"].where(~alone, scores["before"])
    votes["after"] = votes["after"].where(~votes["attribute"].isin(list(left_alone)), votes["value"])
    combined = composites(scores, labelled.rubric)
    return CrossValidation(
        labelled=labelled,
        votes=votes,
        scores=pd.concat([scores, combined], ignore_index=True),
        by_fold=tuple(each.without(left_alone) for each in by_fold),
        calibrator=every.without(left_alone),
        composites=tuple(dict.fromkeys(combined["attribute"])),
        left_alone=left_alone,
        notes=(
            *labelled.notes,
            *_notes(labelled, every, len(by_fold), folds),
            *_left_alone_notes(left_alone),
        ),
    )


def _out_of_fold(votes: pd.DataFrame, by_fold: list[JuryCalibrator]) -> np.ndarray:
    """Each vote as the curves of its own fold, which did not see it, calibrate it."""
    after = np.full(len(votes), np.nan)
    for fold, learned in enumerate(by_fold):
        held = (votes["fold"] == fold).to_numpy(bool)
        after[held] = learned.predict(votes[held])
    return after


def _scores(labelled: LabelledScores, votes: pd.DataFrame, fold_of: pd.Series) -> pd.DataFrame:
    means = jury_means(votes, votes["after"].to_numpy(float)).rename(columns={"value": "after"})
    found = labelled.verdicts.merge(means, on=["case", "attribute"])
    found["fold"] = found["case"].map(fold_of)
    return found[["case", "cluster", "fold", "attribute", "before", "after", "people"]]


def _worse_attributes(scores: pd.DataFrame, draws: Draws) -> dict[str, CalibrationChange]:
    """The attributes whose error grows out of fold by more than chance would let it, with the change."""
    return {
        str(name): changes(mine, draws, measures=("rmse",))[0]
        for name, mine in scores.groupby("attribute", sort=False)
        if tested_change("rmse", grid(mine, ("before", "after")), draws).shown > 0
    }


def _notes(labelled: LabelledScores, calibrator: JuryCalibrator, made: int, asked: int) -> list[str]:
    notes = [
        f"{juror} has {many} labelled case(s) of {attribute!r}, fewer than {LEAST}: left out of the calibrated mean there"
        for (juror, attribute), many in calibrator.cases_.items()
        if (juror, attribute) not in calibrator.curves_
    ]
    used = labelled.votes.groupby(["juror", "attribute"], sort=False)["value"].nunique().reset_index()
    given = {
        (str(juror), str(attribute)): int(many) for juror, attribute, many in used.itertuples(index=False)
    }
    notes += [
        f"{juror} gave one score throughout for {attribute!r}: calibrated, it is people's mean and tells no cases apart"
        for (juror, attribute), many in given.items()
        if many == 1 and (juror, attribute) in calibrator.curves_
    ]
    notes += [
        f"{juror}'s scores of {attribute!r} do not rise with people's: calibrated, they are people's mean"
        for (juror, attribute), curve in calibrator.curves_.items()
        if given[juror, attribute] > 1 and np.ptp(curve.y_) < 1e-9
    ]
    for composite, weights in (labelled.rubric.composites if labelled.rubric else {}).items():
        reversed_names = labelled.rubric.reversed_names if labelled.rubric else {}
        parts = [reversed_names.get(part, part) for part, weight in weights.items() if weight]
        lost = sorted(set(parts) - {attribute for _, attribute in calibrator.curves_})
        if lost:
            notes.append(
                f"the composite {composite!r} is left out: {', '.join(lost)} could not be calibrated"
            )
    if made < asked:
        notes.append(f"{labelled.arm}: {made} folds in place of {asked}, as there are {made} groups of cases")
    return notes


def _left_alone_notes(left_alone: Mapping[str, CalibrationChange]) -> list[str]:
    return [
        f"{name!r} is left as it is: calibrated, its RMSE would go from {error.before.value:.2f} to {error.after.value:.2f} out of fold"
        for name, error in left_alone.items()
    ]
