"""Arms against people: who comes nearer, by how much, and whether the difference can be told from chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from ..orchestration.store import Store
from ..rubrics.errors import VenireError
from .arms import arm_costs, arm_ratings
from .ratings import load_ratings
from .statistics.bootstrap import Bootstrap
from .statistics.correlation import spearman
from .statistics.error import mae, offset
from .statistics.estimate import Estimate, undefined
from .statistics.percent import percent_agreement

PEOPLE = "people"
OVERALL = "overall"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Each arm against the median of the people who rated the same cases."""

    agreement: Mapping[str, Mapping[str, Mapping[str, Estimate]]]
    """By arm, attribute (`overall` pools them) and coefficient: exact, mae, offset, spearman."""
    differences: Mapping[tuple[str, str], Estimate]
    """For each pair of arms, the first's absolute error minus the second's, case by case: negative, the first is nearer."""
    costs: pd.DataFrame

    def sentences(self) -> list[str]:
        """What the paired differences allow to be said, and what they do not."""
        return [_sentence(*pair, estimate) for pair, estimate in self.differences.items()]


def compare(
    run: Store | Path | str, human: pd.DataFrame | Path | str, *, seed: int = 0, resamples: int = 1000
) -> Comparison:
    """The arms of `run` against the ratings in `human`; resamples cases, never ratings."""
    ratings = human if isinstance(human, pd.DataFrame) else load_ratings(human)
    store = run if isinstance(run, Store) else Store.read(run)
    try:
        arms, costs = arm_ratings(store), arm_costs(store)
    finally:
        if store is not run:
            store.release()
    return compare_tables(arms, ratings, costs, seed=seed, resamples=resamples)


def compare_tables(
    arms: pd.DataFrame, human: pd.DataFrame, costs: pd.DataFrame, *, seed: int = 0, resamples: int = 1000
) -> Comparison:
    """`compare`, of tables with the columns case, rater, attribute, value."""
    people = _middle(human)
    shared = arms.merge(people, on=["case", "attribute"], suffixes=("", "_people"))
    if shared.empty:
        raise VenireError(
            "the run and the ratings have no case and attribute in common",
            remedy="check that the ratings use the run's case ids and the rubric's attribute names",
        )
    bootstrap = Bootstrap(np.random.default_rng(seed), resamples)
    agreement: dict[str, dict[str, dict[str, Estimate]]] = {}
    for arm, of_arm in shared.groupby("rater", sort=False):
        by_attribute = {str(name): part for name, part in of_arm.groupby("attribute", sort=False)}
        agreement[str(arm)] = {name: _coefficients(part, bootstrap) for name, part in by_attribute.items()}
        pooled = undefined(
            "attributes with different scales are not pooled into one correlation", method="none"
        )
        agreement[str(arm)][OVERALL] = _coefficients(of_arm, bootstrap) | {"spearman": pooled}
    return Comparison(agreement, _differences(shared, bootstrap), costs)


def _middle(human: pd.DataFrame) -> pd.DataFrame:
    """The median of what people gave each attribute of each case; words, and so their middle, are left out."""
    numeric = human.assign(value=pd.to_numeric(human["value"], errors="coerce")).dropna(subset=["value"])
    return numeric.groupby(["case", "attribute"], sort=False)["value"].median().reset_index()


def _coefficients(part: pd.DataFrame, bootstrap: Bootstrap) -> dict[str, Estimate]:
    numeric = part.assign(value=pd.to_numeric(part["value"], errors="coerce")).dropna(subset=["value"])
    if numeric.empty:
        missing = undefined("the arm reached no number here", method="none")
        return dict.fromkeys(("exact", "mae", "offset", "spearman"), missing)
    table = _pairs(numeric, "value", "value_people", "arm", PEOPLE)
    clustered = Bootstrap(bootstrap.rng, bootstrap.resamples, by="cluster")
    raters = ("arm", PEOPLE)
    return {
        "exact": percent_agreement(table, bootstrap=clustered),
        "mae": mae(table, bootstrap=clustered, raters=raters),
        "offset": offset(table, bootstrap=clustered, raters=raters),
        "spearman": spearman(table, bootstrap=clustered, raters=raters),
    }


def _pairs(part: pd.DataFrame, left: str, right: str, first: str, second: str) -> pd.DataFrame:
    """Two columns as two raters, a case's attributes as units that are drawn together."""
    unit = part["case"].astype(str) + "\0" + part["attribute"].astype(str)
    side = {"case": unit, "cluster": part["case"]}
    return pd.concat(
        [
            pd.DataFrame({**side, "rater": first, "value": part[left].astype(float)}),
            pd.DataFrame({**side, "rater": second, "value": part[right].astype(float)}),
        ],
        ignore_index=True,
    )


def _differences(shared: pd.DataFrame, bootstrap: Bootstrap) -> dict[tuple[str, str], Estimate]:
    numeric = shared.assign(value=pd.to_numeric(shared["value"], errors="coerce")).dropna(subset=["value"])
    errors = numeric.assign(error=(numeric["value"].astype(float) - numeric["value_people"]).abs())
    clustered = Bootstrap(bootstrap.rng, bootstrap.resamples, by="cluster")
    found: dict[tuple[str, str], Estimate] = {}
    for first, second in combinations(errors["rater"].unique(), 2):
        one, other = (errors[errors["rater"] == arm] for arm in (first, second))
        both = one.merge(other, on=["case", "attribute"], suffixes=("", "_other"))
        if both.empty:
            found[first, second] = undefined("no case and attribute that both arms reached", method="none")
            continue
        table = _pairs(both, "error", "error_other", "first", "second")
        found[first, second] = offset(table, bootstrap=clustered, raters=("first", "second"))
    return found


def _sentence(first: str, second: str, estimate: Estimate) -> str:
    if not estimate.defined:
        return f"{first} and {second} cannot be compared: {estimate.note}."
    size = f"{abs(estimate.value):.2f} points (95% interval {estimate.low:.2f} to {estimate.high:.2f}, n = {estimate.n})"
    if estimate.high < 0:
        return f"{first} is nearer to the labels than {second} by {size}."
    if estimate.low > 0:
        return f"{first} is further from the labels than {second} by {size}."
    return f"{first} and {second} cannot be told apart: their errors differ by {size}."
