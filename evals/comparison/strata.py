"""Agreement with people by system, specialty or any other column of the cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..agreement.icc_intervals import COLUMNS as ICC
from ..agreement.icc_intervals import icc3k_intervals
from ..ratings.sheet import OVERALL, Scores, Sheet, pairs, scores
from ..statistics.draws import Draws
from ..statistics.matrix import FloatArray
from ..statistics.multiplicity import holm
from ..statistics.significance import LEVEL, p_words
from ..statistics.two_samples import welch_p

COLUMNS = ["arm", "column", "level", "cases", *ICC[:-1], "mae", "offset", "p", "p_holm", "note"]
METHODS = (
    "Agreement by stratum is of the attributes that overall pools. p is Welch's t test of the mean absolute error of this stratum's cases (or "
    "groups of cases) against all others', corrected by Holm's method within an arm and column."
)


def strata_table(sheet: Sheet, cases: pd.DataFrame, columns: Sequence[str], draws: Draws) -> pd.DataFrame:
    """One row for each arm, column and level: ICC(3,k) with both intervals, errors, and whether errors differ elsewhere.

    Args:
        cases: One row a case with `case` and `columns`; a case without a value is in no stratum.
    """
    given, rows = scores(sheet, OVERALL), []
    if given is None:
        return pd.DataFrame(columns=COLUMNS)
    known = cases.set_index(cases["case"].astype(str))
    for arm in sheet.arms:
        error = given.by_rater[arm] - given.people
        by_cluster = pd.Series(np.abs(error)).groupby(given.cluster).mean()
        for column in columns:
            levels = given.rows["case"].astype(str).map(known[column])
            mine = [
                _stratum(
                    arm, column, level, (levels == level).to_numpy(bool), given, error, by_cluster, draws
                )
                for level in sorted(levels.dropna().unique(), key=str)
            ]
            corrected = holm([row["p"] for row in mine])
            rows += [{**row, "p_holm": p} for row, p in zip(mine, corrected, strict=True)]
    return pd.DataFrame(rows, columns=COLUMNS)


def _stratum(
    arm: str,
    column: str,
    level: object,
    inside: np.ndarray,
    given: Scores,
    error: FloatArray,
    by_cluster: pd.Series,
    draws: Draws,
) -> dict[str, Any]:
    part = given.rows[inside]
    grid = pairs(given.cluster[inside], given.by_rater[arm][inside], given.people[inside])
    clusters = np.unique(given.cluster[inside])
    within = by_cluster.index.isin(clusters)
    gaps = error[inside]
    known = gaps[~np.isnan(gaps)]
    return {
        "arm": arm,
        "column": column,
        "level": str(level),
        "cases": part["case"].nunique(),
        **icc3k_intervals(grid, draws),
        "mae": float(np.abs(known).mean()) if len(known) else np.nan,
        "offset": float(known.mean()) if len(known) else np.nan,
        "p": welch_p(
            by_cluster[within].dropna().to_numpy(float), by_cluster[~within].dropna().to_numpy(float)
        ),
    }


def strata_sentences(table: pd.DataFrame) -> list[str]:
    """For each arm the strata on which its errors are shown to differ, and the columns on which none does."""
    told = []
    for arm, mine in table.groupby("arm", sort=False):
        same: list[str] = []
        untold: list[str] = []
        for column, rows in mine.groupby("column", sort=False):
            apart = rows[rows["p_holm"] < LEVEL]
            if apart.empty:
                (untold if rows["p_holm"].isna().all() else same).append(str(column))
            told += [
                f"{arm} is {'farther from' if row['mae'] > rows['mae'].mean() else 'nearer to'} people on {column} {row['level']}: mean "
                f"absolute error {row['mae']:.2f} on {row['cases']} cases (Holm-corrected {p_words(row['p_holm'])})."
                for row in apart.to_dict("records")
            ]
        if same:
            told.append(f"{arm}: errors are not shown to depend on {' or '.join(same)}.")
        if untold:
            told.append(f"{arm}: too few cases to tell whether errors depend on {' or '.join(untold)}.")
    return told
