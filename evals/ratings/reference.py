"""What jurors are held against: one value for each attribute of each case, from the people who rated it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from ...rubrics.scale import NOT_APPLICABLE, Scale
from ..statistics.matrix import InvalidRatings
from .evidence import Question

KEYS = ["case", "attribute"]


def reference(people: pd.DataFrame, questions: Mapping[str, Question]) -> pd.DataFrame:
    """Columns `case`, `attribute`, `value`: the median of numbers; of words and of two values the commonest, no row where they tie."""
    need(people, (*KEYS, "value"), "the people's ratings")
    given = people.astype({"case": str, "attribute": str})
    parts = []
    for name, rows in given[given["attribute"].isin(list(questions))].groupby("attribute", sort=False):
        scale = questions[str(name)].scale
        rated = rows.assign(value=coded(rows["value"], scale, str(name))).dropna(subset=["value"])
        commonest = scale.level == "binary" or not scale.ordered
        parts.append(
            _commonest(rated)
            if commonest
            else rated.groupby(KEYS, sort=False)["value"].median().reset_index()
        )
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*KEYS, "value"])


def coded(values: pd.Series, scale: Scale, attribute: str) -> pd.Series:
    """The values as numbers, words as their place in the alphabet; NaN where none was given or none applies.

    Raises:
        InvalidRatings: A value is not on its scale.
    """
    blank = values.isna() | values.astype(str).isin(["", NOT_APPLICABLE])
    if scale.numeric:
        numbers = pd.to_numeric(values.where(~blank), errors="coerce")
        low, high = map(float, (min(scale.values), max(scale.values)) if scale.values else scale.ends)
        strange = ~blank & ~numbers.between(low, high)
        legal = f"its scale runs from {low:g} to {high:g}"
    else:
        order = sorted(map(str, scale.values))
        numbers = values.astype(str).where(~blank).map({word: float(at) for at, word in enumerate(order)})
        strange = ~blank & numbers.isna()
        legal = f"use one of {order}"
    if strange.any():
        raise InvalidRatings(
            f"{values[strange].iloc[0]!r} for {attribute!r} is not on its scale",
            remedy=f"{legal}; leave the value blank where there is no answer",
        )
    return numbers.astype(float)


def need(table: pd.DataFrame, columns: Iterable[str], what: str) -> None:
    """Raises `InvalidRatings` where a column is missing."""
    lost = [name for name in columns if name not in table]
    if lost:
        raise InvalidRatings(
            f"{what} have no column {', '.join(map(repr, lost))}",
            remedy=f"name the columns {','.join(columns)}",
        )


def _commonest(rated: pd.DataFrame) -> pd.DataFrame:
    """The value that most gave; no row where two are as common."""
    votes = rated.groupby([*KEYS, "value"], sort=False).size().rename("votes").reset_index()
    first = votes[votes["votes"] == votes.groupby(KEYS)["votes"].transform("max")]
    return first.drop_duplicates(KEYS, keep=False)[[*KEYS, "value"]]
