"""Two arms against the same people: which comes nearer, and whether that could be chance."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ...rubrics.errors import count_words
from ..ratings.pooling import OVERALL
from ..ratings.score_tables import Scores, Sheet, scores
from ..statistics.contrast import Contrast, paired_difference
from ..statistics.error import mae_statistic
from ..statistics.estimate import undefined
from ..statistics.gate import OPEN, SQUARED, Gate
from ..statistics.icc import icc_coefficient
from ..statistics.significance import LEVEL, holm, p_words, signed_number
from ..statistics.weighted import Coefficient

WORDS = {"absolute error": "mean absolute error", "icc3k": "ICC(3,k)"}
MEASURES: Mapping[str, tuple[Coefficient, Gate]] = {
    "absolute error": (lambda rows: mae_statistic(rows[:, 0], rows[:, 1]), OPEN),
    "icc3k": (icc_coefficient("icc3k"), SQUARED),
}
"""Each measure of an arm's scores beside the people's, and what it needs for an interval."""


def contrasts(sheet: Sheet) -> pd.DataFrame:
    """One row for each two arms, attribute and measure: the first's minus the second's.

    A negative difference in absolute error, or a positive one in ICC(3,k), says that the first agrees better.
    Both arms are judged on the cases both scored. `p` is corrected by Holm's method into `p_holm` over all pairs of
    arms and both measures; `overall` is one family, the attributes another. Interval and p are of one
    jackknife over cases or their groups.
    """
    rows = []
    numbers = {attribute: scores(sheet, attribute) for attribute in (OVERALL, *sheet.questions)}
    for first, second in combinations((*sheet.arms, sheet.floor), 2):
        for attribute, each in numbers.items():
            for measure in MEASURES:
                found, p = _difference(each, first, second, measure)
                rows.append(
                    {
                        "first": first,
                        "second": second,
                        "attribute": attribute,
                        "measure": measure,
                        "value": found.value,
                        "low": found.low,
                        "high": found.high,
                        "n": found.n,
                        "p": p,
                        "method": found.method,
                        "note": found.note,
                    }
                )
    table = pd.DataFrame(rows)
    family = table["attribute"] == OVERALL
    corrected = table.groupby(family)["p"].transform(lambda p: holm(p.tolist()))
    table.insert(list(table.columns).index("p") + 1, "p_holm", corrected)
    return table


def sentences(table: pd.DataFrame) -> list[str]:
    """What the overall contrasts allow to be said, and what they do not."""
    overall = table[table["attribute"] == OVERALL]
    tests = int(overall["p"].notna().sum())
    return [_sentence(row, tests) for row in overall.to_dict("records")]


def _difference(given: Scores | None, first: str, second: str, measure: str) -> Contrast:
    """The measure of the first arm minus that of the second, on the questions that both and people answered."""
    method = f"difference in {WORDS[measure]}"
    if given is None:
        return Contrast(undefined("needs numbers; the values are words", method=method), np.nan)
    one, other, people = given.by_rater[first], given.by_rater[second], given.people
    whole = ~np.isnan(one + other + people)
    if whole.sum() < 2:
        few = f"{count_words(int(whole.sum()), 'score')} that both arms and people gave; two are needed"
        return Contrast(undefined(few, method=method, n=int(whole.sum())), np.nan)
    coefficient, gate = MEASURES[measure]
    return paired_difference(
        coefficient,
        np.column_stack([one[whole], people[whole]]),
        np.column_stack([other[whole], people[whole]]),
        np.unique(given.cluster[whole], return_inverse=True)[1].astype(np.int64),
        method=method,
        otherwise="people gave every case the same value",
        gate=gate,
    )


def _sentence(row: Mapping[Hashable, Any], tests: int) -> str:
    """What interval and p of one contrast say; where only the correction for many tests forbids a claim, that too."""
    first, second, measure = row["first"], row["second"], row["measure"]
    value, low, high, p, corrected = (float(row[name]) for name in ("value", "low", "high", "p", "p_holm"))
    if np.isnan(p):
        return f"{first} and {second} cannot be compared by {WORDS[measure]}: {row['note']}."
    if np.isnan(low) and p == 1:
        return f"{first} and {second} are the same by {WORDS[measure]} on every case, n = {row['n']} scores."
    interval = (
        "the same on every case"
        if np.isnan(low)
        else f"95% interval {signed_number(low)} to {signed_number(high)}"
    )
    size = (
        f"{WORDS[measure]} {signed_number(value)} ({interval}, n = {row['n']} scores, "
        f"{p_words(p)}, Holm-corrected {p_words(corrected)})"
    )
    if p >= LEVEL:
        return f"{first} is not shown to differ from {second}: {size}."
    nearer = (value < 0) == (measure == "absolute error")
    verb = "agrees better" if nearer else "agrees worse"
    if corrected >= LEVEL:
        return (
            f"{first} {verb} with people than {second} as a single comparison, but not after correction for "
            f"{tests} comparisons: {size}."
        )
    return f"{first} {verb} with people than {second}: {size}."
