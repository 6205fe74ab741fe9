"""Cross-validation: every case scored by curves that saw neither it nor another case of its group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..ratings.folds import fold_numbers
from .calibrator import JuryCalibrator, jury_means
from .labelled_scores import LEAST, LabelledScores, TooFewLabels, composites

FOLDS = 5


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
    split: Callable[..., np.ndarray] = fold_numbers,
) -> CrossValidation:
    """The arm's scores calibrated out of fold, and the curves learned from all of them.

    Args:
        split: From each case's group, the number of folds and a source of chance to each case's fold.

    Raises:
        TooFewLabels: No juror has labels enough.
    """
    calibrator = JuryCalibrator(labelled.ends, method=method, least=LEAST).fit(
        labelled.votes, labelled.votes["people"]
    )
    if not calibrator.curves_:
        raise TooFewLabels(
            f"no juror of {labelled.arm} has {LEAST} labelled cases in an attribute",
            remedy="have people score more cases, or calibrate the verdicts as they are (--direct)",
        )
    pairs = pd.MultiIndex.from_frame(labelled.votes[["juror", "attribute"]])
    votes = labelled.votes[pairs.isin(list(calibrator.curves_))].reset_index(drop=True)
    cases = votes[["case", "cluster"]].drop_duplicates("case")
    fold_of = pd.Series(
        split(cases["cluster"].tolist(), folds, np.random.default_rng(seed)), index=cases["case"].tolist()
    )
    votes["fold"] = votes["case"].map(fold_of)
    after = np.full(len(votes), np.nan)
    by_fold = []
    for fold in range(int(fold_of.max()) + 1):
        held = (votes["fold"] == fold).to_numpy(bool)
        learned = JuryCalibrator(labelled.ends, method=method).fit(votes[~held], votes["people"][~held])
        after[held] = learned.predict(votes[held])
        by_fold.append(learned)
    votes["after"] = after
    scores = _scores(labelled, votes, fold_of)
    combined = composites(scores, labelled.rubric)
    return CrossValidation(
        labelled=labelled,
        votes=votes,
        scores=pd.concat([scores, combined], ignore_index=True),
        by_fold=tuple(by_fold),
        calibrator=calibrator,
        composites=tuple(dict.fromkeys(combined["attribute"])),
        notes=(*labelled.notes, *_notes(labelled, calibrator, len(by_fold), folds)),
    )


def _scores(labelled: LabelledScores, votes: pd.DataFrame, fold_of: pd.Series) -> pd.DataFrame:
    means = jury_means(votes, votes["after"].to_numpy(float)).rename(columns={"value": "after"})
    found = labelled.verdicts.merge(means, on=["case", "attribute"])
    found["fold"] = found["case"].map(fold_of)
    return found[["case", "cluster", "fold", "attribute", "before", "after", "people"]]


def _notes(labelled: LabelledScores, calibrator: JuryCalibrator, made: int, asked: int) -> list[str]:
    notes = [
        f"{juror} has {many} labelled case(s) of {attribute!r}, fewer than {LEAST}: left out of the calibrated mean there"
        for (juror, attribute), many in calibrator.cases_.items()
        if (juror, attribute) not in calibrator.curves_
    ]
    given = {
        (str(juror), str(attribute)): votes["value"].nunique()
        for (juror, attribute), votes in labelled.votes.groupby(["juror", "attribute"], sort=False)
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
