"""CrossValidation arms as tables: what changed, the curves by fold."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..ratings.pooling import Pooling, pooling
from ..ratings.reserved_names import attribute_label
from ..ratings.sheet import OVERALL
from ..statistics.draws import Draws
from .calibrator import JuryCalibrator
from .changes import changes
from .cross_validation import CrossValidation

SIDES = ("before", "after", "people")
ALL = "all"
"""In place of a fold's number: learned from every labelled case."""


def crossed_pooling(crossed: CrossValidation) -> Pooling:
    """The attributes that `overall` pools, of those that were calibrated."""
    return pooling(crossed.labelled.questions, set(crossed.scores["attribute"]))


def changes_table(crossed: CrossValidation, draws: Draws, *, jurors: bool) -> pd.DataFrame:
    """One row for each evaluator, attribute and measure: before, after, and the change, with intervals.

    The evaluator is the arm and each of its jurors: these overall, or attribute by attribute if `jurors`.
    """
    arm, scores = crossed.labelled.arm, crossed.scores
    whole = crossed_pooling(crossed)
    parts = [(arm, OVERALL, whole.rows(scores, SIDES))]
    parts += [
        (arm, attribute_label(str(name)), mine) for name, mine in scores.groupby("attribute", sort=False)
    ]
    if not crossed.labelled.direct:
        for juror, votes in by_juror(crossed).groupby("juror", sort=False):
            # A seat may have its jury's name; the verdict is still told from its votes.
            who = str(juror) if juror != arm else f"{arm} (juror)"
            shared = whole.rows(votes, SIDES)
            parts += [(who, OVERALL, shared)] if len(shared) else []
            if jurors:
                parts += [
                    (who, attribute_label(str(name)), mine)
                    for name, mine in votes.groupby("attribute", sort=False)
                ]
    rows = [
        {"arm": arm, "evaluator": who, "attribute": attribute, **each.row()}
        for who, attribute, mine in parts
        for each in changes(mine, draws)
    ]
    return pd.DataFrame(rows)


def by_juror(crossed: CrossValidation) -> pd.DataFrame:
    """What each juror gave each attribute of each case, repeats averaged, before and after calibration."""
    keys = ["case", "cluster", "fold", "juror", "attribute"]
    grouped = crossed.votes.rename(columns={"value": "before"}).groupby(keys, sort=False)
    return grouped[list(SIDES)].mean().reset_index()


def curves_table(crossed: CrossValidation) -> pd.DataFrame:
    """Each juror's curve for each attribute, by fold and from all labels: `arm`, `attribute`, `juror`, `fold`, `score`, `people`."""
    calibrators: dict[str, JuryCalibrator] = {
        **{str(number): each for number, each in enumerate(crossed.by_fold)},
        ALL: crossed.calibrator,
    }
    used = {
        pair: votes.to_numpy(float) for pair, votes in crossed.votes.groupby(["juror", "attribute"])["value"]
    }
    parts = []
    for fold, calibrator in calibrators.items():
        for (juror, attribute), curve in calibrator.curves_.items():
            low, high = crossed.labelled.ends[attribute]
            at = np.unique(np.append(used.get((juror, attribute), ()), [low, high]))
            at = at if len(at) <= 41 else np.linspace(low, high, 41)
            told = (crossed.labelled.arm, attribute, juror, fold)
            parts += [(*told, *point) for point in zip(at, curve.predict(at), strict=True)]
    return pd.DataFrame(parts, columns=["arm", "attribute", "juror", "fold", "score", "people"])
