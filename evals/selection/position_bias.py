"""Position bias: whether a juror favours the text shown first, from pairs that it judged in both orders."""

from __future__ import annotations

import pandas as pd

from ..datasets.recording import GIVEN, SWAPPED
from ..ratings.clusters import cluster_numbers, groups_in
from .paired_means import mean_difference


def position_bias(judgements: pd.DataFrame) -> pd.DataFrame:
    """One row for each juror with both orders of a choice between two.

    `consistent` is the share of pairs with the same answer twice (none twice is the same); `first` and `second` are
    the shares that went with the place twice; `lean` is first minus second, with its interval.
    """
    columns = ["juror", "n", "consistent", "first", "second", "lean", "low", "high"]
    if "order" not in judgements:
        return pd.DataFrame(columns=columns)
    keys = ["juror", "case", "attribute"]
    given = judgements[judgements["order"].isin([GIVEN, SWAPPED])].drop_duplicates([*keys, "order"])
    given = given[given.groupby(keys)["order"].transform("size") == 2]
    words = given.assign(value=given["value"].map(_word)).pivot(index=keys, columns="order", values="value")
    groups, rows = groups_in(judgements), []
    for juror, both in words.groupby("juror", sort=False):
        options = sorted(set(both.to_numpy().ravel()) - {""})
        if len(options) != 2:
            continue
        one, other = both[GIVEN].to_numpy(str), both[SWAPPED].to_numpy(str)
        first = (one == options[0]) & (other == options[1])
        second = (one == options[1]) & (other == options[0])
        cluster = cluster_numbers(both.index.get_level_values("case").to_series(), groups)
        lean = mean_difference(first.astype(float) - second, cluster, method="first minus second").difference
        rows.append(
            (juror, len(both), (one == other).mean(), first.mean(), second.mean(), lean.value, lean.low, lean.high)
        )  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def _word(value: object) -> str:
    if value is None or value != value:
        return ""
    return f"{value:g}" if isinstance(value, int | float) else str(value)
