"""An arm among people: as one more rater, and in each person's place."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..ratings.sheet import OVERALL, Sheet
from ..statistics.draws import Draws
from ..statistics.substitution import IccChange, as_extra_rater, as_substitute

COLUMNS = ["arm", "role", "before", "after", "change", "low", "high", "p", "n", "note"]
EXTRA = "extra rater"


def panels(sheet: Sheet, draws: Draws) -> tuple[pd.DataFrame, str]:
    """One row for each arm and seat: the people's ICC(3,k) before and after, the change and its two-sided p.

    Only scores that everyone gave, the arm among them, on the attributes that `overall` pools. The second
    value says why the table is empty, should it be.
    """
    if len(sheet.people) < 2:
        return pd.DataFrame(columns=COLUMNS), "an arm cannot sit among fewer than two people"
    rows = sheet.of(OVERALL)
    unit, cluster = np.arange(len(rows)), pd.factorize(rows["cluster"])[0]
    found = []
    for arm in sheet.arms:
        table = pd.concat(
            [
                pd.DataFrame(
                    {
                        "case": unit,
                        "cluster": cluster,
                        "rater": rater,
                        "value": pd.to_numeric(rows[rater], errors="coerce").to_numpy(),
                    }
                )
                for rater in (*sheet.people, arm)
            ],
            ignore_index=True,
        )
        if table[table["rater"] == arm]["value"].notna().sum() == 0:
            continue
        table = table[table["rater"].isin(table[table["value"].notna()]["rater"].unique())]
        extra = as_extra_rater(table, jury=arm, by="cluster", draws=draws)
        found.append(_row(arm, EXTRA, extra))
        swaps = as_substitute(table, jury=arm, by="cluster", draws=draws)
        found += [_row(arm, f"in place of {person}", change) for person, change in swaps.items()]
    return pd.DataFrame(found, columns=COLUMNS), ""


def _row(arm: str, role: str, change: IccChange) -> dict[str, object]:
    return {
        "arm": arm,
        "role": role,
        "before": change.before,
        "after": change.after,
        "change": change.change.value,
        "low": change.change.low,
        "high": change.change.high,
        "p": change.p,
        "n": change.change.n,
        "note": change.change.note,
    }
