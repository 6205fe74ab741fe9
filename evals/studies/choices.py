"""The tables of what to seat for each attribute, and the sentences that say so."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import ndtri

from ..comparison.objectives import MARGIN, Objective, ScoredVotes
from ..ratings.folds import Fold
from ..report.drawing import amount
from ..statistics.matrix import FloatArray
from ..statistics.significance import LEVEL
from .attribute_choice import ArmChoice, Fit, HeldArm, choose

Choosing = Literal["per-attribute", "pooled"]
POOLED = "all attributes"
SEATED = 0.005
"""Above this weight a juror has a seat."""
BESIDE = ("spearman", "icc3k", "icc2", "kappa", "kappa_quadratic", "mae")
"""What is reported of every arm that is named, whatever it was chosen by."""
CHOICES = [
    "attribute", "objective", "chosen", "who", "value", "low", "high", "chosen_on", "optimism", "cost",
    "use", "use_value", "use_low", "use_high", "use_cost",
    "single", "single_value", "single_low", "single_high", "single_cost", "jury", "jury_value",
    "gain", "gain_low", "gain_high", "p", "pays", "margin", "cheaper", "more_cases", "n", "method",
]  # fmt: skip
MEASURES = ["attribute", "arm", "who", "objective", *BESIDE, "n"]


@dataclass(frozen=True, slots=True)
class Goal:
    """What a study chooses by."""

    objective: Objective
    choosing: Choosing = "per-attribute"
    margin: float = MARGIN
    """How much worse a cheaper arm may be and still do."""


@dataclass(frozen=True, slots=True)
class Voters:
    """Whose votes the columns are: jurors, or arms that deliberated."""

    names: tuple[str, ...]
    cost: FloatArray
    unit: str


class Choices:
    """What to seat for each attribute (or for all), and what that is worth on cases that did not choose it."""

    def __init__(self, goal: Goal, voters: Voters) -> None:
        self.goal, self._voters = goal, voters
        self._found: dict[str, ArmChoice] = {}
        self._skipped: list[str] = []
        self.pooled: ArmChoice | None = None
        """The choice for all attributes together."""

    def make(
        self,
        votes: ScoredVotes,
        attributes: Sequence[str],
        parts: Sequence[Fold],
        fit: Fit,
        rng: np.random.Generator,
    ) -> Choices:
        """Choose for each of `attributes`, which `votes.attribute` numbers, or for all of them."""
        wanted = self.goal.objective
        usable = [
            place
            for place, scale in enumerate(votes.scales)
            if wanted.fits(scale) and (votes.attribute == place).any()
        ]
        self._skipped = [
            f"{name}: {wanted.words} {wanted.need}"
            for place, name in enumerate(attributes)
            if place not in usable
        ]
        apart = [] if self.goal.choosing == "pooled" else [[place] for place in usable]
        for places in [usable, *apart] if usable else []:
            name = attributes[places[0]] if places in apart else POOLED
            if name in self._found or (places == usable and len(apart) == 1 and name == POOLED):
                continue
            rows = np.flatnonzero(np.isin(votes.attribute, places) & ~np.isnan(votes.truth))
            part = _votes_on(votes.at(rows), places)
            within = [_fold_among(fold, rows) for fold in parts]
            within = [fold for fold in within if len(fold.chosen_on) and len(fold.held_out)]
            if len(np.unique(part.cluster)) < 4 or not within:
                self._skipped.append(
                    f"{name}: there are too few cases to choose an arm on some and score it on others"
                )
                continue
            found = choose(part, within, wanted, fit, rng=rng)
            if name != POOLED or self.goal.choosing == "pooled":
                self._found[name] = found
            if name == POOLED or len(usable) == 1:
                self.pooled = found
        return self

    def add(self, name: str, choice: ArmChoice) -> None:
        """A choice that was made elsewhere."""
        self._found[name] = choice

    def arm_to_use(self, found: ArmChoice) -> HeldArm:
        """The arm to use: the jury where it is shown to pay, otherwise the cheapest that is not shown to be worse."""
        if found.use is not None or found.jury is None:
            return found.use or found.single
        if found.pays:
            return found.jury
        worse = found.gain.value < 0 and found.p < LEVEL
        cheaper = self.cost(found.jury) < self.cost(found.single)
        return found.jury if cheaper and not worse else found.single

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(f"No arm was chosen for {note}." for note in self._skipped)

    @property
    def table(self) -> pd.DataFrame:
        """One row an attribute; `CHOICES` are its columns."""
        return pd.DataFrame([self._row(name, found) for name, found in self._found.items()], columns=CHOICES)

    @property
    def measures(self) -> pd.DataFrame:
        """One row for each attribute and arm that is named, with the usual coefficients on the cases held out."""
        rows = []
        for name, found in self._found.items():
            named = {"chosen": found.best, "best jury": found.jury, "best single judge": found.single}
            for role, arm in named.items():
                if arm is not None:
                    rows.append(
                        {
                            "attribute": name, "arm": role, "who": self.who(arm), "objective": arm.value.value,
                            **{key: arm.measures.get(key, np.nan) for key in BESIDE}, "n": arm.value.n,
                        }
                    )  # fmt: skip
        return pd.DataFrame(rows, columns=MEASURES)

    def sentences(self) -> Iterator[str]:
        """For each attribute whether a jury pays and what to use; then what the margin would allow."""
        paying = [name for name, found in self._found.items() if found.pays]
        if self._found:
            measure = self.goal.objective.words
            yield (
                f"A jury is worth using on {', '.join(paying)} (measured by {measure}, on cases that were not used to choose it)."
                if paying
                else f"No jury is shown to be worth using (measured by {measure}, on cases that were not used to choose it)."
            )
        for name, found in self._found.items():
            yield self._use(name, found)
            yield from self._cheaper(name, found)

    def _use(self, name: str, found: ArmChoice) -> str:
        used, measure = self.arm_to_use(found), self.goal.objective.words
        gain = (
            "there is no jury to compare the single judge with"
            if found.jury is None
            else f"in agreement with people, the best jury's gain over the best single judge, both chosen on other cases, is {_signed_words(found.gain)}"
        )
        reason = "a jury is shown to be worth using" if found.pays else "no jury is shown to be worth using, and this is the cheapest arm that is not shown to be worse than the best"  # fmt: skip
        arm, score = self.who(used), _interval(used)
        return f"{name}: use {arm}, because {reason}; its {measure} on held-out cases is {score}; {gain}."

    def _cheaper(self, name: str, found: ArmChoice) -> Iterator[str]:
        if found.jury is None or not found.pays:
            return
        cost, single = self.cost(self.arm_to_use(found)), self.cost(found.single)
        if not single < cost:
            return
        lost = found.gain
        margin = self.goal.margin
        single_judge = self.who(found.single)
        saved = f"the single judge {single_judge} would cost {amount(single)} instead of {amount(cost)} {self._voters.unit}"
        verdict = _within_margin(found, margin)
        if verdict == "within":
            yield f"{name}: {saved}, and is shown to be worse by no more than {margin:g} (the jury's gain over the judge: {_signed_words(lost)})."
        elif verdict == "worse":
            yield f"{name}: {saved}, and is shown to be worse by more than {margin:g} (the jury's gain over the judge: {_signed_words(lost)})."
        else:
            more = _more_cases(found, margin)
            yield (
                f"{name}: {saved}; {found.clusters} cases (or groups) do not show whether the judge is worse by more than {margin:g}: "
                + (
                    f"about {more:.0f} more cases would decide it."
                    if more
                    else "the difference is too near the margin."
                )
            )

    def _row(self, name: str, found: ArmChoice) -> dict[str, Any]:
        best, single, jury = found.best, found.single, found.jury
        better = self.goal.objective.better
        return {
            "attribute": name,
            "objective": self.goal.objective.name,
            "chosen": best.name,
            "who": self.who(best),
            **{key: getattr(best.value, key) for key in ("value", "low", "high")},
            "chosen_on": best.naive,
            "optimism": (best.naive - best.value.value) * better,
            "cost": self.cost(best),
            "use": self.who(self.arm_to_use(found)),
            **{f"use_{key}": getattr(self.arm_to_use(found).value, key) for key in ("value", "low", "high")},
            "use_cost": self.cost(self.arm_to_use(found)),
            "single": self.who(single),
            **{f"single_{key}": getattr(single.value, key) for key in ("value", "low", "high")},
            "single_cost": self.cost(single),
            "jury": "" if jury is None else self.who(jury),
            "jury_value": np.nan if jury is None else jury.value.value,
            "gain": found.gain.value,
            "gain_low": found.gain.low,
            "gain_high": found.gain.high,
            "p": found.p,
            "pays": found.pays,
            "margin": self.goal.margin,
            "cheaper": "" if jury is None else _within_margin(found, self.goal.margin),
            "more_cases": _more_cases(found, self.goal.margin),
            "n": best.value.n,
            "method": found.gain.method,
        }

    def who(self, arm: HeldArm) -> str:
        """The members' names, the heaviest first; their weights where they differ."""
        order = np.argsort(-arm.weights, kind="stable")
        seated = [at for at in order if arm.weights[at] > SEATED]
        equal = np.ptp(arm.weights[seated]) < 0.001
        return " + ".join(
            self._voters.names[at] if equal else f"{arm.weights[at]:.2f} {self._voters.names[at]}"
            for at in seated
        )

    def cost(self, arm: HeldArm) -> float:
        """What its members cost on a case."""
        return float(self._voters.cost[arm.weights > SEATED].sum())


def _votes_on(votes: ScoredVotes, places: Sequence[int]) -> ScoredVotes:
    """The votes on the attributes at `places` alone, numbered from 0."""
    return ScoredVotes(
        votes.votes,
        votes.truth,
        np.searchsorted(places, votes.attribute).astype(np.int64),
        votes.cluster,
        tuple(votes.scales[place] for place in places),
    )


def _fold_among(fold: Fold, rows: np.ndarray) -> Fold:
    """The fold among some of the questions, numbered as they are there."""
    return Fold(*(np.flatnonzero(np.isin(rows, side)) for side in fold))


def _within_margin(found: ArmChoice, margin: float) -> str:
    """What the best jury's gain over the best judge says of the judge: within the margin, worse, or open."""
    if math.isnan(found.gain.low):
        # Arms that no case tells apart are as near to each other as any margin asks.
        return "within" if found.p == 1 else "open"
    return "within" if found.gain.high < margin else "worse" if found.gain.low > margin else "open"


def _more_cases(found: ArmChoice, margin: float) -> float:
    """How many cases (or groups) more would show, four times in five, on which side of the margin a gain as large as the one
    seen lies; 0 where it is shown, or lies too near the margin for any number."""
    apart = abs(found.gain.value - margin)
    unknown = math.isnan(found.error) or math.isnan(apart)
    if _within_margin(found, margin) != "open" or unknown or apart < 1e-3:
        return 0.0
    reach = float(ndtri(0.975) + ndtri(0.8))
    return float(max(0, math.ceil(found.clusters * (reach * found.error / apart) ** 2) - found.clusters))


def _interval(arm: HeldArm) -> str:
    value = arm.value
    ends = "" if math.isnan(value.low) else f" (95% interval {value.low:.3f} to {value.high:.3f})"
    return f"{value.value:.3f}{ends}"


def _signed_words(found: Any) -> str:
    ends = "" if math.isnan(found.low) else f" (95% interval {found.low:+.3f} to {found.high:+.3f})"
    return f"{found.value + 0.0:+.3f}{ends}"
