"""Whether an arm's distance from people depends on what was judged: a mixed model of the differences, and agreement by stratum."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..agreement.against_people import ICC_COLUMNS, icc3k_cells
from ..ratings.pooling import OVERALL
from ..ratings.score_tables import Scores, Sheet, pairs, scores
from ..statistics.classical_tests import mean_p, welch_p
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
        return pd.DataFrame(columns=EFFECTS), [
            *notes,
            "mixed model: none was fitted, because no predictor varies between cases",
        ]
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
                f"mixed model of {arm}: the table is too large, so each case's mean difference from people is regressed instead"
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
                why = (
                    "some cases have no value for it"
                    if values.isna().any()
                    else "its value is the same for every case"
                )
                notes.append(f"mixed model: {name} is left out, because {why}")
            continue
        if not pd.api.types.is_numeric_dtype(values.dtype) and levels * CASES_A_LEVEL > len(judged):
            notes.append(
                f"mixed model: {name} is left out, because {levels} different values in {len(judged)} cases are too many"
            )
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


APART = {"": "absolute error", "offset_": "offset", "score_": "score", "people_": "people's score"}
"""What strata are compared in, by the prefix of its columns."""
STRATA = [
    *("arm", "column", "level", "cases", *ICC_COLUMNS[:-1], "mae", "offset"),
    *(f"{prefix}{name}" for prefix in APART for name in ("difference", "p", "p_holm")),
    *("test", "note"),
]
PAIRED, BETWEEN = "paired within groups", "between groups"
STRATA_METHODS = (
    "A stratum is the cases with the same value in a column. Agreement by stratum uses the attributes that 'overall' pools. The cases of a stratum are compared with all other cases in four measures: absolute error, offset (arm minus "
    "people), the arm's score and people's score. The test is paired within groups if at least half of the stratum's groups also have a case "
    "outside the stratum (for example, systems crossed with patients). Otherwise it is Welch's test between groups or cases. For each measure, p is Holm-corrected over the strata of an arm "
    "and column."
)


def strata_table(sheet: Sheet, cases: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """One row for each arm, column and level: ICC(3,k), errors, and whether errors and scores differ elsewhere.

    Args:
        cases: One row a case with `case` and `columns`; a case without a value is in no stratum.
    """
    given, rows = scores(sheet, OVERALL), []
    if given is None:
        return pd.DataFrame(columns=STRATA)
    known = cases.set_index(cases["case"].astype(str))
    for arm in sheet.arms:
        for column in columns:
            levels = given.rows["case"].astype(str).map(known[column])
            mine = [
                _stratum(
                    arm, column, level, (levels == level).to_numpy(bool), levels.notna().to_numpy(bool), given
                )
                for level in sorted(levels.dropna().unique(), key=str)
            ]
            for prefix in APART:
                for row, p in zip(mine, holm([row[f"{prefix}p"] for row in mine]), strict=True):
                    row[f"{prefix}p_holm"] = p
            rows += mine
    return pd.DataFrame(rows, columns=STRATA)


def _stratum(
    arm: str, column: str, level: object, inside: np.ndarray, known: np.ndarray, given: Scores
) -> dict[str, Any]:
    score = np.where(np.isnan(given.people), np.nan, given.by_rater[arm])
    error = score - given.people
    gaps = error[inside & ~np.isnan(error)]
    people = np.where(np.isnan(error), np.nan, given.people)
    row: dict[str, Any] = {
        "arm": arm,
        "column": column,
        "level": str(level),
        "cases": given.rows[inside & ~np.isnan(error)]["case"].nunique(),
        **icc3k_cells(
            pairs(given.cluster[inside], given.by_rater[arm][inside], given.people[inside]), "jackknife"
        ),
        "mae": float(np.abs(gaps).mean()) if len(gaps) else np.nan,
        "offset": float(gaps.mean()) if len(gaps) else np.nan,
    }
    for prefix, values in zip(APART, (np.abs(error), error, score, people), strict=True):
        table = pd.DataFrame({"cluster": given.cluster, "inside": inside, "value": values})[known]
        means = table.dropna().pivot_table(index="cluster", columns="inside", values="value")
        row |= {
            f"{prefix}{name}": value for name, value in _apart(means.reindex(columns=[True, False])).items()
        }
        row["test"] = row.pop(f"{prefix}test")
    return row


def _apart(means: pd.DataFrame) -> dict[str, object]:
    """How far a stratum lies above the others, one mean a group on each side, and the p of no difference."""
    both = means.dropna()
    if 2 * len(both) >= means[True].notna().sum() > 0:
        gaps = (both[True] - both[False]).to_numpy(float)
        return {"difference": gaps.mean(), "p": mean_p(gaps), "test": PAIRED}
    alone = means[means.isna().any(axis=1)]
    sides = [alone[side].dropna().to_numpy(float) for side in (True, False)]
    gap = sides[0].mean() - sides[1].mean() if all(map(len, sides)) else np.nan
    return {"difference": gap, "p": welch_p(*sides), "test": BETWEEN}


def strata_sentences(table: pd.DataFrame) -> list[str]:
    """For each arm the strata on which its errors or scores are shown to differ, and the columns on which no error does."""
    told = []
    for arm, mine in table.groupby("arm", sort=False):
        same: list[str] = []
        untold: list[str] = []
        for column, rows in mine.groupby("column", sort=False):
            apart = rows[(rows["p_holm"] < LEVEL) | (rows["offset_p_holm"] < LEVEL)]
            if apart.empty:
                none = rows["p_holm"].isna().all() and rows["offset_p_holm"].isna().all()
                (untold if none else same).append(str(column))
            told += [_stratum_sentence(row) for row in rows.to_dict("records") if _stratum_sentence(row)]
        if same:
            told.append(
                f"{arm}: the distance from people's scores is not shown to depend on {' or '.join(same)}."
            )
        if untold:
            told.append(
                f"{arm}: there are too few cases to test whether the distance from people's scores depends on {' or '.join(untold)}."
            )
    return told


def _stratum_sentence(row: Mapping[Hashable, Any]) -> str:
    """What is shown to differ on one stratum; empty for nothing."""
    p = {prefix: f"Holm-corrected {p_words(row[f'{prefix}p_holm'])}" for prefix in APART}
    differences = []
    if row["p_holm"] < LEVEL:
        farther_or_nearer = "farther from" if row["difference"] > 0 else "nearer to"
        differences.append(
            f"is {farther_or_nearer} people than on other cases: its mean absolute error is {row['mae']:.2f} on {row['cases']} cases ({p['']})"
        )
    if row["offset_p_holm"] < LEVEL:
        more_lenient_or_harsher = "more lenient" if row["offset_difference"] > 0 else "harsher"
        differences.append(
            f"is {more_lenient_or_harsher} than on other cases by {abs(row['offset_difference']):.2f} points, relative to people ({p['offset_']})"
        )
    if row["score_p_holm"] < LEVEL:
        differences.append(
            f"scores {_higher_or_lower(row['score_difference'])} than on other cases ({p['score_']}; people score {_higher_or_lower(row['people_difference'])}, {p['people_']})"
        )
    return (
        f"On cases with {row['column']} {row['level']}, {row['arm']} {'; '.join(differences)} (test: {row['test']})."
        if differences
        else ""
    )


def _higher_or_lower(difference: float) -> str:
    return f"{abs(difference):.2f} points {'lower' if difference < 0 else 'higher'}"
