"""Crossed arms as tables: what changed, the curves by fold."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd

from ..ratings.sheet import OVERALL
from .calibrator import Ends, JuryCalibrator
from .changes import changes
from .crossing import Crossed

ALL = "all"
"""In place of a fold's number: learned from every labelled case."""


def pooled(crossed: Crossed) -> tuple[str, ...]:
    """The attributes that `overall` pools: the largest set whose scales have the same ends."""
    kinds: dict[str, Ends] = {
        name: ends for name, ends in crossed.scored.ends.items() if name in set(crossed.scores["attribute"])
    }
    ((most, _),) = Counter(kinds.values()).most_common(1)
    return tuple(name for name, ends in kinds.items() if ends == most)


def changes_table(crossed: Crossed, *, seed: int, resamples: int, jurors: bool) -> pd.DataFrame:
    """One row for each evaluator, attribute and measure: before, after, and the change, with intervals.

    The evaluator is the arm and each of its jurors: these overall, or attribute by attribute if `jurors`.
    """
    arm, scores = crossed.scored.arm, crossed.scores
    parts = [(arm, OVERALL, scores[scores["attribute"].isin(pooled(crossed))])]
    parts += [(arm, str(name), mine) for name, mine in scores.groupby("attribute", sort=False)]
    if not crossed.scored.direct:
        for juror, votes in by_juror(crossed).groupby("juror", sort=False):
            shared = votes[votes["attribute"].isin(pooled(crossed))]
            parts += [(str(juror), OVERALL, shared)] if len(shared) else []
            if jurors:
                parts += [
                    (str(juror), str(name), mine) for name, mine in votes.groupby("attribute", sort=False)
                ]
    rows = [
        {"arm": arm, "evaluator": who, "attribute": attribute, **each.row()}
        for who, attribute, mine in parts
        for each in changes(mine, seed=seed, resamples=resamples)
    ]
    return pd.DataFrame(rows)


def by_juror(crossed: Crossed) -> pd.DataFrame:
    """What each juror gave each attribute of each case, repeats averaged, before and after calibration."""
    keys = ["case", "cluster", "fold", "juror", "attribute"]
    grouped = crossed.votes.rename(columns={"value": "before"}).groupby(keys, sort=False)
    return grouped[["before", "after", "people"]].mean().reset_index()


def curves_table(crossed: Crossed) -> pd.DataFrame:
    """Each juror's curve for each attribute, by fold and from all labels: `arm`, `attribute`, `juror`, `fold`, `score`, `people`."""
    calibrators: dict[str, JuryCalibrator] = {
        **{str(number): each for number, each in enumerate(crossed.by_fold)},
        ALL: crossed.calibrator,
    }
    parts = []
    for fold, calibrator in calibrators.items():
        for (juror, attribute), curve in calibrator.curves_.items():
            low, high = crossed.scored.ends[attribute]
            used = crossed.votes[
                (crossed.votes["juror"] == juror) & (crossed.votes["attribute"] == attribute)
            ]
            at = np.unique(np.append(used["value"].to_numpy(float), [low, high]))
            at = at if len(at) <= 41 else np.linspace(low, high, 41)
            parts.append(
                pd.DataFrame(
                    {
                        "attribute": attribute,
                        "juror": juror,
                        "fold": fold,
                        "score": at,
                        "people": curve.predict(at),
                    }
                )
            )
    return pd.concat(parts, ignore_index=True).assign(arm=crossed.scored.arm)[
        ["arm", "attribute", "juror", "fold", "score", "people"]
    ]
