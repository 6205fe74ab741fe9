"""Credits of arms that deliberated: their scores held against people's, question by question."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from ..ratings.question import Question
from ..ratings.reference import KEYS, Reference, codes, require_columns
from .jury_counts import credit


def arm_credits(
    ratings: pd.DataFrame,
    people: Reference,
    *,
    questions: Mapping[str, Question],
    kinds: Mapping[str, str],
    costs: pd.DataFrame | None = None,
    groups: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """The table that `weigh` takes, with the arms' and people's values as numbers, from arms' scores (`case, rater, attribute, value`) and people's reference.

    Every arm has a row for every attribute of a case that any arm answered and people have a value for; what it did not answer
    is a miss on nominal and binary scales and has no credit on others.

    Args:
        kinds: By arm: jury or single judge.
        costs: By `arm`, the `cost` and `seconds` of a case.
        groups: By case its group, where it has one.
    """
    require_columns(ratings, ("case", "rater", "attribute", "value"), "the arms' scores")
    truth = people.table.assign(truth=codes(people.table, questions)).drop(columns="value")
    given = ratings.astype({"case": str, "attribute": str, "rater": str})
    given = given[given["attribute"].isin(list(questions))]
    scored = given.assign(value=codes(given, questions))
    asked = scored[KEYS].drop_duplicates().merge(truth, on=KEYS)
    every = asked.merge(pd.DataFrame({"arm": list(kinds), "kind": list(kinds.values())}), how="cross")
    table = every.merge(
        scored.rename(columns={"rater": "arm"})[[*KEYS, "arm", "value"]], on=[*KEYS, "arm"], how="left"
    )
    scales = [questions[name].scale for name in table["attribute"]]
    ends = [tuple(map(float, s.ends)) if s.numeric else (0.0, 1.0) for s in scales]
    table["credit"] = credit(
        table["value"].to_numpy(float),
        table["truth"].to_numpy(float),
        exact=np.array([s.level in ("nominal", "binary") for s in scales], dtype=bool),
        width=np.array([high - low for low, high in ends]),
    )
    table["answered"] = table["value"].notna()
    if costs is not None:
        table = table.merge(costs[["arm", "cost", "seconds"]], on="arm", how="left")
    if groups:
        table["group"] = table["case"].map(dict(groups))
    return table
