"""What arms that sat earned: their scores held against people's, question by question."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from ..ratings.question import Question
from ..ratings.reference import KEYS, codes, reference, require_columns
from .jury_counts import credit

UNITS = {"usd": "US dollars a case", "tokens": "tokens a case", "calls": "model calls a case"}


def arm_credits(
    ratings: pd.DataFrame,
    people: pd.DataFrame,
    *,
    questions: Mapping[str, Question],
    kinds: Mapping[str, str],
    costs: pd.DataFrame | None = None,
    groups: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """The table that `weigh` takes, from what `ArmRatings` and `ArmCosts` give.

    Every arm has a row for every attribute of a case that any arm answered and people rated; what it did not answer
    is a miss on nominal and binary scales and has no credit on others.
    """
    require_columns(ratings, ("case", "rater", "attribute", "value"), "the arms' scores")
    truth = reference(people, questions).table
    truth = truth.assign(truth=codes(truth, questions)).drop(columns="value")
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
        table = table.merge(_cost_columns(costs), on="arm", how="left")
    if groups:
        table["group"] = table["case"].map(dict(groups))
    return table.drop(columns=["value", "truth"])


def _cost_columns(costs: pd.DataFrame) -> pd.DataFrame:
    """Dollars a case; tokens where a price is unknown or nothing was charged, calls where no token was counted."""
    if "cost" in costs:
        return costs[["arm", "cost", "seconds", *costs.columns.intersection(["unit"])]].astype({"arm": str})
    known = (name for name in UNITS if costs[name].notna().all() and (costs[name] > 0).any())
    unit = next(known, "calls")
    return pd.DataFrame(
        {
            "arm": costs["arm"].astype(str),
            "cost": costs[unit] / costs["cases"],
            "seconds": costs["seconds"] / costs["cases"],
            "unit": UNITS[unit],
        }
    )
