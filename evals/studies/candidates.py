"""Candidate arms on the same held-out questions: what they earn, what they cost, which differ from the best; and all tables of a selection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..ratings.folds import Fold, held_values
from ..statistics.estimate import Estimate
from ..statistics.matrix import FloatArray, IntArray
from ..statistics.significance import LEVEL
from .jury_search import mean_credit
from .paired_means import mean_credit_estimate, mean_difference

JURY, SINGLE = "jury", "single judge"
"""The kinds of arms."""


@dataclass(frozen=True)
class Composition:
    """Every table of a study; those that its evidence has nothing for are empty."""

    advice: tuple[str, ...]
    """What to use, what cannot be told, what to try next."""
    recommended: str
    """The arm that the advice names first; where cases are too few for advice, the one that scored best."""
    answers: pd.DataFrame
    """`what`, `value`, `low`, `high`, `n`, `p`, `method`, `note`: the jury and the single judge on cases they were not
    chosen on, their difference, and how far the naive figures flatter."""
    frontier: pd.DataFrame
    """`arm`, `kind`, `size`, `score`, `low`, `high`, `answered`, `cost`, `seconds`, `front`: what agreement costs."""
    noise: pd.DataFrame
    """`arm`, `arms`, `cost`, `value`, `low`, `high`, `n`, `p`, `within`, `note`: the best of all minus the best at each price, both
    chosen on other cases, and whether that can be told from nothing."""
    power: pd.DataFrame
    """`first`, `second`, `n`, `difference`, `sd`, `detectable`, `cases_for_0.05`, `cases_for_0.02`."""
    selection: pd.DataFrame = field(default_factory=pd.DataFrame)
    """`fold`, `size`, `jurors`, `chosen_on`, `held_out` and the same of the single judge: what each fold chose."""
    jurors: pd.DataFrame = field(default_factory=pd.DataFrame)
    """One row a juror: `score`, what it adds (`leave_one_out`, `shapley`, with error bars), what it costs."""
    correlations: pd.DataFrame = field(default_factory=pd.DataFrame)
    """`first`, `second`, `correlation`, `n`: of their errors."""
    independence: pd.DataFrame = field(default_factory=pd.DataFrame)
    """`jury`, `jurors`, `correlation`, `effective`, `low`, `high`, `participation`, `note`."""
    growth: pd.DataFrame = field(default_factory=pd.DataFrame)
    """`how` (random or chosen), `size`, `score`, `low`, `high`, `weakest`, `strongest`, `juries`."""
    choices: pd.DataFrame = field(default_factory=pd.DataFrame)
    """For each attribute, or all: what to seat by the study's objective, held out, against the best single judge, with what
    the jury gains, and whether a cheaper one is shown to be within the margin."""
    measures: pd.DataFrame = field(default_factory=pd.DataFrame)
    """`attribute`, `arm`, `who`, and Spearman, ICC, kappa of the arms that `choices` names, held out."""
    position: pd.DataFrame = field(default_factory=pd.DataFrame)
    """One row a juror with both orders: `consistent`, `first`, `low`, `high`, `n`."""
    unit: str = "votes a case"
    """What `cost` counts."""
    measure: str = "agreement with people"
    methods: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def tables(self) -> Mapping[str, pd.DataFrame]:
        """Every table that has rows, by name."""
        names = (
            "choices", "measures", "answers", "frontier", "noise", "selection", "jurors", "independence",
            "correlations", "growth", "position", "power",
        )  # fmt: skip
        found = {name: getattr(self, name) for name in names}
        return {name: table for name, table in found.items() if len(table)}

    def sentences(self) -> list[str]:
        """The advice, in words."""
        return list(self.advice)


@dataclass(frozen=True, slots=True)
class Candidate:
    """An arm that could be used."""

    name: str
    kind: str
    """jury or single judge."""
    credits: FloatArray
    """On held-out questions; NaN where it gave no answer and that is left out."""
    cost: float
    """Of one case."""
    seconds: float = np.nan
    size: int = 1
    jurors: str = ""
    answered: float = np.nan
    chosen: bool = False
    """Whether its members were chosen on other cases, fold by fold."""


@dataclass(frozen=True, slots=True)
class Tier:
    """Arms of one price: the one that agrees best, and what choosing it on other cases earned on these."""

    arm: str
    arms: int
    cost: float
    credits: FloatArray


@dataclass(frozen=True, slots=True)
class Candidates:
    """The arms, and what choosing among them on other cases earned on these."""

    arms: tuple[Candidate, ...]
    tiers: tuple[Tier, ...]
    """Cheapest first."""
    cluster: IntArray
    best: FloatArray
    """Credits of whichever arm the other cases preferred."""
    jury: FloatArray | None
    """Of the jury that they preferred; None where no jury entered."""
    single: FloatArray | None
    naive: dict[str, float]
    """By kind: what the best of it earns on the very cases that it was chosen on."""
    chosen_on: int
    """How many questions those have."""
    widening: float
    """How much wider intervals are made for what was chosen in folds."""

    @property
    def clusters(self) -> int:
        """How many cases, or groups of cases, what was chosen is scored on."""
        return len(np.unique(self.cluster))

    def widening_of(self, *kinds: str) -> float:
        """`widening`, unless there was nothing to choose: one arm of each kind, and not made of chosen members."""
        arms = {kind: [arm for arm in self.arms if arm.kind == kind] for kind in kinds}
        given = all(len(each) == 1 and not each[0].chosen for each in arms.values())
        return 1.0 if given else self.widening


def frontier(candidates: Candidates) -> pd.DataFrame:
    """One row an arm, cheapest first; on the `front` are those that no other arm beats in both score and cost."""
    rows = []
    for arm in candidates.arms:
        found = mean_credit_estimate(
            arm.credits,
            candidates.cluster,
            method="agreement",
            widening=candidates.widening if arm.chosen else 1.0,
        )
        rows.append(
            {
                "arm": arm.name,
                "kind": arm.kind,
                "size": arm.size,
                "score": found.value,
                "low": found.low,
                "high": found.high,
                "answered": arm.answered,
                "cost": arm.cost,
                "seconds": arm.seconds,
                "jurors": arm.jurors,
                "n": found.n,
            }
        )
    table = pd.DataFrame(rows)
    table.insert(2, "front", pareto(table["score"].to_numpy(float), table["cost"].to_numpy(float)))
    return table.sort_values(["cost", "score"], ascending=[True, False], ignore_index=True)


def pareto(score: FloatArray, *costs: FloatArray) -> npt.NDArray[np.bool_]:
    """Which points are on the Pareto front: no other is as good in everything and better in something. NaN is never on it."""
    goods = np.column_stack([score, *(-cost for cost in costs)])
    known = np.asarray(~np.isnan(goods).any(axis=1))
    at_least = (goods[:, None, :] >= goods[None, :, :]).all(axis=2)
    above = (goods[:, None, :] > goods[None, :, :]).any(axis=2)
    return np.asarray(known & ~(at_least & above & known[:, None]).any(axis=0), dtype=bool)


def noise(candidates: Candidates) -> pd.DataFrame:
    """The best of all minus the best of each price, both chosen on other cases; cheapest first.

    `within` says that the best is not demonstrably better. Read from the top and stopped at the first arm within
    noise, the p-values need no correction: an arm as good as the best is passed over at most once in twenty.
    """
    rows = []
    for tier in candidates.tiers:
        found, p = mean_difference(
            candidates.best - tier.credits,
            candidates.cluster,
            method="best minus arm, paired",
            widening=candidates.widening,
        )
        worse = found.value > 0 and p < LEVEL
        rows.append(
            {
                "arm": tier.arm,
                "arms": tier.arms,
                "cost": tier.cost,
                **interval_cells(found),
                "p": p,
                "within": not worse,
                "note": found.note,
            }
        )
    return pd.DataFrame(rows)


def price_tiers(
    names: Sequence[str], cost: FloatArray, credits: FloatArray, parts: Sequence[Fold]
) -> list[Tier]:
    """One tier for each price, cheapest first; `credits` has one column an arm, one row a question."""
    found = []
    for price in np.unique(cost):
        among = cost == price
        overall = mean_credit(credits[:, among].T)
        best = np.flatnonzero(among)[np.nanargmax(overall)]
        found.append(
            Tier(names[best], int(among.sum()), float(price), chosen_credits(credits[:, among], parts))
        )
    return found


def chosen_credits(credits: FloatArray, parts: Sequence[Fold]) -> FloatArray:
    """The credits, on held-out questions, of the column that agreed best on the others."""
    best = [np.nanargmax(mean_credit(credits[fold.chosen_on].T)) for fold in parts]
    return held_values(parts, [credits[fold.held_out, at] for fold, at in zip(parts, best, strict=True)])


def answers(candidates: Candidates) -> pd.DataFrame:
    """The headline figures: held out, their difference, naive, and how far the naive ones flatter."""
    rows: list[dict[str, object]] = []
    for kind, credits in (("jury", candidates.jury), ("single judge", candidates.single)):
        if credits is None:
            continue
        held = mean_credit_estimate(
            credits,
            candidates.cluster,
            method="cases that it was not chosen on",
            widening=candidates.widening_of(kind),
        )
        naive = candidates.naive[kind]
        rows.append({"what": f"best {kind}, held out", **interval_cells(held), "method": held.method})
        rows.append(
            {
                "what": f"best {kind}, naive",
                "value": naive,
                "n": candidates.chosen_on,
                "method": "the cases that chose it",
            }
        )
        rows.append(
            {
                "what": f"optimism of the {kind}'s naive figure",
                "value": naive - held.value,
                "n": candidates.chosen_on,
            }
        )
    if candidates.jury is not None and candidates.single is not None:
        found, p = mean_difference(
            candidates.jury - candidates.single,
            candidates.cluster,
            method="paired, both held out",
            widening=candidates.widening_of("jury", "single judge"),
        )
        rows.append(
            {"what": DIFFERENCE, **interval_cells(found), "p": p, "method": found.method, "note": found.note}
        )
    blank = {
        "what": "",
        "value": np.nan,
        "low": np.nan,
        "high": np.nan,
        "n": 0,
        "p": np.nan,
        "method": "",
        "note": "",
    }
    return pd.DataFrame([{**blank, **row} for row in rows], columns=list(blank))


DIFFERENCE = "jury minus single judge, held out"


def interval_cells(found: Estimate) -> dict[str, object]:
    return {"value": found.value, "low": found.low, "high": found.high, "n": found.n}
