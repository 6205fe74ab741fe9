"""Arms beside people, attribute by attribute, as tables: ICC(3,k), levels, gaps, confusion, and kappa of every two raters."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd

from ..agreement.icc_intervals import COLUMNS as ICC_COLUMNS
from ..agreement.icc_intervals import icc3k_intervals
from ..ratings.sheet import ARM, CONSTANT, OVERALL, PEOPLE, Sheet, nearest_legal, pairs, scores
from ..statistics.draws import Draws
from ..statistics.kappa import cohen_kappa
from ..statistics.matrix import Matrix
from ..statistics.signed_rank import differences, wilcoxon_signed_rank

Numeric = list[tuple[str, str, Matrix]]
"""Arm, attribute, and the two raters `arm` and `people`."""


def numeric_pairs(sheet: Sheet) -> Numeric:
    """Each arm of the run with each attribute that holds numbers, and their pairs with people."""
    numbers = {attribute: scores(sheet, attribute) for attribute in (OVERALL, *sheet.questions)}
    return [
        (arm, attribute, given.pairs(arm))
        for arm in (*sheet.arms, CONSTANT)
        for attribute, given in numbers.items()
        if given is not None
    ]


def icc3k_table(numeric: Numeric, draws: Draws) -> pd.DataFrame:
    """By arm and attribute: ICC(3,k) with its F interval and its bootstrap interval."""
    rows = [
        {"arm": arm, "attribute": attribute, **icc3k_intervals(grid, draws)}
        for arm, attribute, grid in numeric
        if arm != CONSTANT
    ]
    return pd.DataFrame(rows, columns=["arm", "attribute", *ICC_COLUMNS])


def signed_ranks_table(numeric: Numeric) -> pd.DataFrame:
    """By arm and attribute: Wilcoxon's test, the median difference from people and its quartiles."""
    columns = ["arm", "attribute", "median", "q1", "q3", "statistic", "p", "n", "note"]
    rows: list[tuple[object, ...]] = []
    for arm, attribute, grid in numeric:
        if not grid.cases:
            rows.append(
                (arm, attribute, *[np.nan] * 5, 0, "no case has both the arm's score and one of people")
            )
            continue
        found = wilcoxon_signed_rank(grid, raters=(ARM, PEOPLE))
        tested = (found.median.value, *found.quartiles, found.statistic, found.p)
        rows.append((arm, attribute, *tested, found.n, found.note))
    return pd.DataFrame(rows, columns=columns)


def gaps_table(numeric: Numeric) -> pd.DataFrame:
    """By arm and attribute: how often the arm stood how far above people."""
    parts = [
        differences(grid, raters=(ARM, PEOPLE)).assign(arm=arm, attribute=attribute)
        for arm, attribute, grid in numeric
        if grid.cases
    ]
    columns = ["arm", "attribute", "difference", "count", "share"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def confusion_table(sheet: Sheet, numeric: Numeric) -> pd.DataFrame:
    """By arm and attribute: how often each value met each of people's; a score between two values counts as the nearest."""
    parts = []
    for arm, attribute, grid in numeric:
        asked = sheet.scale_question(attribute)
        if asked is None or not asked.scale.values or not grid.cases:
            continue
        legal = [float(value) for value in asked.scale.values]
        met = Counter(map(tuple, nearest_legal(grid.values, legal).tolist()))
        parts += [(arm, attribute, mine, theirs, met[mine, theirs]) for mine in legal for theirs in legal]
    columns = ["arm", "attribute", "arm_value", "people_value", "count"]
    return pd.DataFrame(parts, columns=columns)


def kappa_table(sheet: Sheet) -> pd.DataFrame:
    """Quadratic kappa of every two raters, people and arms, on the attributes that `overall` pools."""
    rows = sheet.of(OVERALL)
    raters = (*sheet.people, *sheet.arms)
    numbers = {name: pd.to_numeric(rows[name], errors="coerce") for name in raters}
    found = []
    for first, second in combinations(raters, 2):
        grid = pairs(rows["cluster"], numbers[first], numbers[second])
        boot = Draws(resamples=1).bootstrap(by="cluster")
        kappa = (
            cohen_kappa(grid, weighting="quadratic", bootstrap=boot, raters=(ARM, PEOPLE))
            if grid.cases
            else None
        )
        found.append(
            {
                "first": first,
                "second": second,
                "kappa_quadratic": kappa.value if kappa else np.nan,
                "n": len(grid.cases),
                "note": kappa.note if kappa and not kappa.defined else "" if kappa else "no score in common",
            }
        )
    return pd.DataFrame(found, columns=["first", "second", "kappa_quadratic", "n", "note"])
