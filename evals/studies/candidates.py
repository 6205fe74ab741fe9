"""Candidate arms on the same held-out questions: what they earn, what they cost, which differ from the best; and all tables of a selection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..ratings.folds import Fold, held_values
from ..statistics.contrast import Contrast
from ..statistics.estimate import Estimate
from ..statistics.matrix import FloatArray
from ..statistics.significance import LEVEL
from .paired_means import Measure

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
    unit: str = "votes per case"
    """What `cost` counts."""
    measure: str = "agreement with people"
    methods: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    chosen_apart: bool = False
    """Whether what to use is said for each attribute, or by weights: by `choices`, and not by the frontier."""
    pays: bool = False
    """Whether a jury is shown to be worth using on all attributes together."""

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
    answers: FloatArray
    """To the questions held out, as the measure takes them (credits, or values); NaN where it gave none and that is left out."""
    cost: float
    """Of one case."""
    seconds: float = np.nan
    size: int = 1
    jurors: str = ""
    answered: float = np.nan
    selection: float = np.nan
    """What it scores on the cases to choose on."""
    chosen: bool = False
    """Whether its members were chosen on other cases, fold by fold."""


@dataclass(frozen=True, slots=True)
class Tier:
    """Arms of one price: the one that agrees best, and what choosing it on other cases earned on these."""

    arm: str
    """That which the cases to choose on choose now."""
    arms: int
    cost: float
    answers: FloatArray


@dataclass(frozen=True, slots=True)
class Candidates:
    """The arms, and what choosing among them on other cases earned on these."""

    arms: tuple[Candidate, ...]
    tiers: tuple[Tier, ...]
    """Cheapest first."""
    measure: Measure
    best: FloatArray
    """The answers of whichever arm the other cases preferred."""
    jury: FloatArray | None
    """Of the jury that they preferred; None where no jury entered."""
    single: FloatArray | None
    naive: dict[str, float]
    """By kind: what the best of it scores on the very cases that it was chosen on."""
    chosen_on: int
    """How many questions those have."""
    widening: float
    """How much wider intervals are made for what was chosen in folds."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Of arms as given: by kind, and under `best`, the arm that the cases to choose on choose now."""
    constant: FloatArray | None = None
    """The answers of one answer to everything, made on other cases."""
    measures: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Where values are known: by kind, and under `best`, every coefficient of the answers that are `best`, `jury` or `single`."""

    @property
    def clusters(self) -> int:
        """How many cases, or groups of cases, what was chosen is scored on."""
        return len(np.unique(self.measure.cluster))

    def widening_of(self, *kinds: str) -> float:
        """`widening`, unless there was nothing to choose: one arm of each kind, and not made of chosen members."""
        arms = {kind: [arm for arm in self.arms if arm.kind == kind] for kind in kinds}
        given = all(len(each) == 1 and not each[0].chosen for each in arms.values())
        return 1.0 if given else self.widening


def frontier(candidates: Candidates) -> pd.DataFrame:
    """One row for each arm, cheapest first; on the `front` are those that no other arm beats in both score and cost."""
    measure = candidates.measure
    rows = []
    for arm in candidates.arms:
        found = measure.estimate(
            arm.answers, method=measure.words, widening=candidates.widening if arm.chosen else 1.0
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
                "selection": arm.selection,
                "n": found.n,
            }
        )
    table = pd.DataFrame(rows)
    goodness = measure.better * table["score"].to_numpy(float)
    table.insert(2, "front", pareto(goodness, table["cost"].to_numpy(float)))
    return table.sort_values(["cost", "score"], ascending=[True, measure.better < 0], ignore_index=True)


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
        found, p = candidates.measure.difference(
            candidates.best, tier.answers, method="best minus arm, paired", widening=candidates.widening
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
    names: Sequence[str], cost: FloatArray, answers: FloatArray, parts: Sequence[Fold], measure: Measure
) -> list[Tier]:
    """One tier for each price, cheapest first; `answers` has one column an arm, one row a question."""
    found = []
    for price in np.unique(cost):
        among = cost == price
        best = np.flatnonzero(among)[preferred_column(answers[:, among], parts, measure)[0]]
        found.append(
            Tier(
                names[best], int(among.sum()), float(price), chosen_answers(answers[:, among], parts, measure)
            )
        )
    return found


def preferred_column(answers: FloatArray, parts: Sequence[Fold], measure: Measure) -> tuple[int, float]:
    """The column that all cases to choose on prefer, and what it scores on them, as the measure is reported."""
    chosen_on = np.unique(np.concatenate([fold.chosen_on for fold in parts]))
    scores = measure.scores(answers[chosen_on].T, chosen_on)
    at = _highest(scores)
    return at, measure.better * float(scores[at])


def chosen_answers(answers: FloatArray, parts: Sequence[Fold], measure: Measure) -> FloatArray:
    """The answers, to held-out questions, of the column that scored best on the others."""
    best = preferred_columns(answers, parts, measure)
    return held_values(parts, [answers[fold.held_out, at] for fold, at in zip(parts, best, strict=True)])


def preferred_columns(answers: FloatArray, parts: Sequence[Fold], measure: Measure) -> list[int]:
    """By fold, the column that scored best on its cases to choose on."""
    return [_highest(measure.scores(answers[fold.chosen_on].T, fold.chosen_on)) for fold in parts]


def _highest(scores: FloatArray) -> int:
    return int(np.argmax(np.where(np.isnan(scores), -np.inf, scores)))


def answers(candidates: Candidates) -> pd.DataFrame:
    """The headline figures: held out, their difference, naive, and how far the naive ones flatter."""
    rows: list[dict[str, object]] = []
    measure = candidates.measure
    for kind, said in (("jury", candidates.jury), ("single judge", candidates.single)):
        if said is None:
            continue
        held = measure.estimate(
            said, method="the cases that it was not chosen on", widening=candidates.widening_of(kind)
        )
        naive = candidates.naive[kind]
        rows.append({"what": f"best {kind}, held out", **interval_cells(held), "method": held.method})
        rows.append(
            {
                "what": f"best {kind}, naive",
                "value": naive,
                "n": candidates.chosen_on,
                "method": "the cases that it was chosen on",
            }
        )
        rows.append(
            {
                "what": f"optimism of the {kind}'s naive figure",
                "value": measure.better * (naive - held.value),
                "n": candidates.chosen_on,
            }
        )
    if candidates.jury is not None and candidates.single is not None:
        found, p = gain(candidates)
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


def gain(candidates: Candidates) -> Contrast:
    """How much better the best jury is than the best single judge, both chosen on other cases."""
    assert candidates.jury is not None and candidates.single is not None
    return candidates.measure.difference(
        candidates.jury,
        candidates.single,
        method="paired, both held out",
        widening=candidates.widening_of("jury", "single judge"),
    )


DIFFERENCE = "jury minus single judge, held out"


def interval_cells(found: Estimate) -> dict[str, object]:
    return {"value": found.value, "low": found.low, "high": found.high, "n": found.n}
