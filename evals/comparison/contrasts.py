"""Two arms against the same people: which comes nearer, and whether that could be chance."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ..ratings.sheet import CONSTANT, OVERALL, Sheet
from ..statistics.bootstrap import Coefficient
from ..statistics.draws import Draws
from ..statistics.error import mae_statistic
from ..statistics.estimate import undefined
from ..statistics.icc import icc_coefficient
from ..statistics.matrix import Matrix
from ..statistics.multiplicity import holm
from ..statistics.paired_test import Contrast, swap_test
from ..statistics.significance import LEVEL, p_words

WORDS = {"absolute error": "mean absolute error", "icc3k": "ICC(3,k)"}
MEASURES: Mapping[str, Coefficient] = {
    "absolute error": lambda rows: mae_statistic(rows[:, 0], rows[:, 1]),
    "icc3k": icc_coefficient("icc3k"),
}
"""Each measure of an arm's scores beside the people's."""


def contrasts(sheet: Sheet, draws: Draws) -> pd.DataFrame:
    """One row for each two arms, attribute and measure: the first's minus the second's.

    A negative difference in absolute error, or a positive one in ICC(3,k), says that the first agrees better.
    Both arms are judged on the cases both scored. `p` is corrected by Holm's method into `p_holm` within a
    measure, over all pairs of arms; `overall` is one family, the attributes another. Interval and p are of one test,
    which swaps the arms within cases or their groups; fewer than five of these make no claim.
    """
    rows = []
    for first, second in combinations((*sheet.arms, CONSTANT), 2):
        for attribute in (OVERALL, *sheet.questions):
            grid = _grid(sheet, attribute, first, second)
            for measure in MEASURES:
                found, p = _difference(grid, measure, draws)
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
    family = [table["measure"], table["attribute"] == OVERALL]
    corrected = table.groupby(family)["p"].transform(lambda p: holm(p.tolist()))
    table.insert(list(table.columns).index("p") + 1, "p_holm", corrected)
    return table


def sentences(table: pd.DataFrame) -> list[str]:
    """What the overall contrasts allow to be said, and what they do not."""
    return [_sentence(row) for row in table[table["attribute"] == OVERALL].to_dict("records")]


def _grid(sheet: Sheet, attribute: str, first: str, second: str) -> Matrix | None:
    """The two arms and the people's reference, over the rows that have all three; None for words."""
    rows = sheet.of(attribute)
    asked = sheet.scale_question(attribute)
    if asked is None or not asked.scale.numeric:
        return None
    values = pd.DataFrame(
        {"first": rows[first], "second": rows[second], "people": sheet.reference(attribute)}
    )
    values = values.apply(pd.to_numeric, errors="coerce")
    whole = values.notna().all(axis=1).to_numpy(bool)
    cluster, _ = pd.factorize(rows["cluster"][whole])
    return Matrix(
        values.to_numpy(float)[whole],
        tuple(zip(rows["case"][whole], rows["attribute"][whole], strict=True)),
        ("first", "second", "people"),
        cluster.astype(np.int64),
    )


def _difference(grid: Matrix | None, measure: str, draws: Draws) -> Contrast:
    method = f"difference in {WORDS[measure]}"
    if grid is None:
        return Contrast(undefined("needs numbers; the values are words", method=method), np.nan)
    if len(grid.cases) < 2:
        few = f"{len(grid.cases)} score(s) that both arms and people gave; two are needed"
        return Contrast(undefined(few, method=method, n=len(grid.cases)), np.nan)
    return swap_test(
        MEASURES[measure],
        grid.values[:, [0, 2]],
        grid.values[:, [1, 2]],
        grid.cluster,
        draws=draws,
        method=method,
        otherwise="people gave one value throughout",
    )


def _sentence(row: Mapping[Hashable, Any]) -> str:
    first, second, measure = row["first"], row["second"], row["measure"]
    value, low, high, p = (float(row[name]) for name in ("value", "low", "high", "p_holm"))
    if np.isnan(low) or np.isnan(p):
        return f"{first} and {second} cannot be compared by {WORDS[measure]}: {row['note']}."
    size = (
        f"{WORDS[measure]} {value:+.2f} (95% interval {low:+.2f} to {high:+.2f}, n = {row['n']} scores, "
        f"Holm-corrected {p_words(p)})"
    )
    if p >= LEVEL:
        return f"{first} does not differ demonstrably from {second}: {size}."
    nearer = (value < 0) == (measure == "absolute error")
    verb = "agrees better" if nearer else "agrees worse"
    return f"{first} {verb} with people than {second}: {size}."
