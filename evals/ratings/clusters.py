"""What is resampled, and held out, as a whole: a case's group, or the case itself."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from ..statistics.matrix import IntArray


def groups_in(table: pd.DataFrame) -> pd.Series:
    """By case, the group in the table's column `group`; cases without one are not in it."""
    if "group" not in table:
        return pd.Series(dtype=object)
    known = table.dropna(subset=["group"]).drop_duplicates("case")
    return known.set_index("case")["group"]


def clusters(cases: pd.Series, groups: Mapping[str, object] | pd.Series) -> pd.Series:
    """Each case's cluster, in words: `group G`, or `case C` where it has none, so that no two of them are confused.

    Args:
        cases: Case ids, one a row.
        groups: The group of each case by its id; absent, None and NaN mean that it has none.
    """
    named = {str(case): f"group {group}" for case, group in groups.items() if pd.notna(group)}
    return pd.Series([named.get(case, f"case {case}") for case in cases.astype(str)], cases.index, object)


def shared_group_note(parts: Mapping[str, str], groups: Mapping[str, object] | pd.Series, column: str) -> str:
    """A sentence that says how many cases of each smaller part of a split have their group in another part too; empty for none.

    Args:
        parts: By case id, the part that it is in, such as train or test.
        column: Where that stands.
    """
    cases = pd.Series(list(parts), dtype=object)
    table = pd.DataFrame({"cluster": clusters(cases, groups), "part": list(parts.values())})
    sizes = table["part"].value_counts()
    torn = table.groupby("cluster")["part"].transform("nunique") > 1
    told = [
        f"{shared} of the {size} cases of {part!r}"
        for part, size in sizes.iloc[1:].items()
        if (shared := int(torn[table["part"] == part].sum()))
    ]
    if not told:
        return ""
    return (
        f"The column {column!r} parts groups: {' and '.join(told)} have other cases of their group in another part. "
        "What was learned or chosen on one part has met the other's groups, and looks better there than it is."
    )


def cluster_numbers(cases: pd.Series, groups: Mapping[str, object] | pd.Series) -> IntArray:
    """`clusters` as numbers from 0, in the order in which they are met."""
    return pd.factorize(clusters(cases, groups))[0].astype(np.int64)
