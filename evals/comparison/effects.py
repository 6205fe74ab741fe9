"""Whether an arm's distance from people depends on what was judged: a mixed model of the differences, and agreement by stratum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..agreement.against_people import ICC_COLUMNS, icc3k_cells
from ..ratings.pooling import OVERALL
from ..ratings.score_tables import Scores, Sheet, pairs, scores
from ..statistics.classical_tests import welch_p
from ..statistics.matrix import FloatArray
from ..statistics.mixed import PREDICTORS, difference_effects, mean_difference_effects
from ..statistics.significance import LEVEL, holm, p_words

EFFECTS = ["arm", "term", "value", "low", "high", "p", "n", "note"]
CASES_A_LEVEL = 5
"""A category with fewer cases than this for each of its levels is left out: its effects would be noise."""
INTERCEPTS = ("rater", "attribute", "case")
MOST = 100_000
"""Rows times cases up to which the model is fitted to every score in some seconds."""


def effects(
    sheet: Sheet, cases: pd.DataFrame, further: Sequence[str] = (), *, intercepts: Sequence[str] = INTERCEPTS
) -> tuple[pd.DataFrame, list[str]]:
    """One row for each arm and term of a mixed model of arm minus person, and what a reader must know.

    Args:
        further: Columns of `cases` that may explain the differences, beside those in `PREDICTORS`.
        intercepts: What differs at random. `group` is among them only where it is no predictor and some groups have
            several cases. Their standard deviations are rows too, `SD of ...`.
    """
    usable, notes = _predictors(sheet, cases, (*PREDICTORS, *further))
    random = [name for name in intercepts if name != "group" or (name not in usable and _several(cases))]
    if not usable:
        return pd.DataFrame(columns=EFFECTS), [*notes, "mixed model: nothing to explain the differences by"]
    if "group" in random:
        cases = cases.assign(group=cases["group"].fillna(cases["case"]))
    found = []
    for arm in sheet.arms:
        rows = _differences(sheet, arm).merge(cases, on="case")
        if rows.empty:
            continue
        if len(rows) * len(cases) <= MOST:
            units = "group" if "group" in random else "case"
            fit = difference_effects(rows, predictors=usable, intercepts=random, units=units)
        else:
            means = rows.groupby("case").agg({"difference": "mean", **dict.fromkeys(usable, "first")})
            fit = mean_difference_effects(means, predictors=usable)
            notes.append(
                f"mixed model of {arm}: for its size, a regression on each case's mean difference instead"
            )
        if fit.note:
            notes.append(f"mixed model of {arm}: {fit.note}")
        for term, each in fit.effects.items():
            found.append(
                {
                    "arm": arm,
                    "term": term,
                    "value": each.value,
                    "low": each.low,
                    "high": each.high,
                    "p": fit.p[term],
                    "n": each.n,
                    "note": each.note,
                }
            )
        if intercepts != INTERCEPTS:
            found += [
                {"arm": arm, "term": f"SD of {name}", "value": spread, "n": len(rows), "note": ""}
                for name, spread in fit.spread.items()
            ]
    return pd.DataFrame(found, columns=EFFECTS), notes


def _several(cases: pd.DataFrame) -> bool:
    """Whether some group has several cases."""
    return bool(cases["group"].dropna().duplicated().any())


def _predictors(sheet: Sheet, cases: pd.DataFrame, columns: Sequence[str]) -> tuple[list[str], list[str]]:
    judged = cases[cases["case"].isin(set(sheet.rows["case"]))]
    usable, notes = [], []
    for name in dict.fromkeys(columns):
        values = judged[name]
        levels = values.nunique()
        if values.isna().any() or levels < 2:
            if name not in PREDICTORS:
                why = "some cases have none" if values.isna().any() else "it is the same throughout"
                notes.append(f"mixed model: {name} left out, {why}")
            continue
        if not pd.api.types.is_numeric_dtype(values.dtype) and levels * CASES_A_LEVEL > len(judged):
            notes.append(f"mixed model: {name} left out, {levels} levels in {len(judged)} cases are too many")
            continue
        usable.append(name)
    return usable, notes


def _differences(sheet: Sheet, arm: str) -> pd.DataFrame:
    """The arm minus each person, attribute by attribute."""
    rows = sheet.of(OVERALL)
    parts = [
        pd.DataFrame(
            {
                "case": rows["case"],
                "attribute": rows["attribute"],
                "rater": person,
                "difference": pd.to_numeric(rows[arm], errors="coerce")
                - pd.to_numeric(rows[person], errors="coerce"),
            }
        ).dropna()
        for person in sheet.people
    ]
    return pd.concat(parts, ignore_index=True)


STRATA = ["arm", "column", "level", "cases", *ICC_COLUMNS[:-1], "mae", "offset", "p", "p_holm", "note"]
STRATA_METHODS = (
    "Agreement by stratum is of the attributes that overall pools. p is Welch's t test of the mean absolute error of this stratum's cases (or "
    "groups of cases) against all others', corrected by Holm's method within an arm and column."
)


def strata_table(sheet: Sheet, cases: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """One row for each arm, column and level: ICC(3,k), errors, and whether errors differ elsewhere.

    Args:
        cases: One row a case with `case` and `columns`; a case without a value is in no stratum.
    """
    given, rows = scores(sheet, OVERALL), []
    if given is None:
        return pd.DataFrame(columns=STRATA)
    known = cases.set_index(cases["case"].astype(str))
    for arm in sheet.arms:
        error = given.by_rater[arm] - given.people
        by_cluster = pd.Series(np.abs(error)).groupby(given.cluster).mean()
        for column in columns:
            levels = given.rows["case"].astype(str).map(known[column])
            mine = [
                _stratum(arm, column, level, (levels == level).to_numpy(bool), given, error, by_cluster)
                for level in sorted(levels.dropna().unique(), key=str)
            ]
            corrected = holm([row["p"] for row in mine])
            rows += [{**row, "p_holm": p} for row, p in zip(mine, corrected, strict=True)]
    return pd.DataFrame(rows, columns=STRATA)


def _stratum(
    arm: str,
    column: str,
    level: object,
    inside: np.ndarray,
    given: Scores,
    error: FloatArray,
    by_cluster: pd.Series,
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
        **icc3k_cells(grid, "jackknife"),
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
