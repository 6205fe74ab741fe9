"""Whether an arm's distance from people depends on what was judged."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ..ratings.sheet import OVERALL, Sheet
from ..statistics.mixed import PREDICTORS, difference_effects, mean_difference_effects

COLUMNS = ["arm", "term", "value", "low", "high", "p", "n", "note"]
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
        return pd.DataFrame(columns=COLUMNS), [*notes, "mixed model: nothing to explain the differences by"]
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
    return pd.DataFrame(found, columns=COLUMNS), notes


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
