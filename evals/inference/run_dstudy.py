"""How many jurors and repeats are enough, from a run's ballots, and what each design costs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from ...orchestration.record import Arm, Store
from ...orchestration.verdict import Verdict
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ...rubrics.scale import NOT_APPLICABLE
from ..ratings.run_tables import arm_tables
from .variance_components import Components, variance_components

STAGES = ("first", "final")
"""Ballots before anybody was heard, and those that stand in the end: rounds are not exchangeable, so each is analysed apart."""
JURORS, REPEATS = (1, 2, 3, 4, 5, 7, 9, 12, 15, 20), (1, 2, 3)
ENOUGH = 0.8


@dataclass(frozen=True, slots=True)
class DStudy:
    """The components of one attribute at one stage, and the coefficients of designs."""

    attribute: str
    stage: str
    components: Components
    designs: pd.DataFrame
    """`jurors`, `repeats`, `design`, `relative`, `absolute`, `calls` and `usd` a case (NaN: price not known)."""

    @property
    def sentence(self) -> str:
        """What varies, and how many jurors would do."""
        of = self.components
        if math.isnan(of.case):
            return f"{self.attribute}, {self.stage} ballots: nothing to tell: {of.note}."
        crossed = self.designs[(self.designs["design"] == "crossed") & (self.designs["repeats"] == 1)]
        enough = crossed[crossed["absolute"] >= ENOUGH]
        do = (
            f"{enough['jurors'].iloc[0]} jurors make scores dependable ({ENOUGH:g} or more)"
            if len(enough)
            else f"not even {crossed['jurors'].max()} jurors make scores dependable ({ENOUGH:g})"
        )
        return (
            f"{self.attribute}, {self.stage} ballots: {of.jurors} jurors give {of.relative(of.jurors, of.repeats):.3f} "
            f"(relative) and {of.absolute(of.jurors, of.repeats):.3f} (absolute); {do}."
        )


@dataclass(frozen=True, slots=True)
class RunDStudy:
    """The studies of one arm."""

    arm: str
    studies: tuple[DStudy, ...]
    notes: tuple[str, ...]


class BallotTable:
    """One row for each numeric vote, first and final: `arm`, `case`, `juror`, `repeat`, `attribute`, `stage`, `value`."""

    def __init__(self) -> None:
        self._rows: list[tuple[object, ...]] = []

    def add(self, arm: Arm, verdict: Verdict) -> None:
        transcript = verdict.transcript
        first: dict[tuple[str, str], object] = {}
        for entry in transcript.ballots:
            for vote in entry.ballot.votes:
                first.setdefault((vote.attribute, entry.speaker), vote.value)
        final: dict[tuple[str, str], object] = {
            (attribute, juror): held.vote.value
            for attribute, votes in transcript.standing().items()
            for juror, held in votes.items()
        }
        for stage, given in (("first", first), ("final", final)):
            for (attribute, juror), value in given.items():
                if arm.rubric.scale_of(attribute).ordered and value != NOT_APPLICABLE:
                    seat, _, again = juror.partition("#")
                    self._rows.append((arm.name, verdict.case, seat, again or "1", attribute, stage, value))

    def table(self) -> pd.DataFrame:
        columns = ["arm", "case", "juror", "repeat", "attribute", "stage", "value"]
        found = pd.DataFrame(self._rows, columns=columns)
        return found.assign(value=pd.to_numeric(found["value"]))


def run_dstudy(run: Store | Path | str, *, arm: str | None = None, attribute: str | None = None) -> RunDStudy:
    """The generalisability study of an arm of a run, attribute by attribute, first ballots and final ones apart.

    Raises:
        VenireError: There is no such arm or attribute, or no vote on an ordered scale.
    """
    store = run if isinstance(run, Store) else Store.read(run)
    try:
        arms = {each.name: each for each in store.arms()}
        if arm is not None and arm not in arms:
            raise VenireError(f"no arm named {arm!r} in this run", remedy=nearest(arm, arms))
        (votes,) = arm_tables(store, BallotTable())
        cost = {each.name: _price(store, each) for each in arms.values()}
    finally:
        if store is not run:
            store.release()
    several = [name for name, each in arms.items() if len(each.jury.seats) > 1]
    chosen = arm or next(iter(several), next(iter(arms), ""))
    mine = votes[votes["arm"] == chosen]
    names = list(dict.fromkeys(mine["attribute"]))
    if attribute is not None and attribute not in names:
        raise VenireError(
            f"no vote of {chosen} on {attribute!r} with an order", remedy=nearest(attribute, names)
        )
    if not names:
        raise VenireError(
            f"{chosen or store.name}: no vote on an ordered scale",
            remedy="it needs attributes whose scale has an order, and jurors who voted on them",
        )
    studies = [
        study(mine[(mine["attribute"] == name) & (mine["stage"] == stage)], name, stage, cost[chosen])
        for name in names
        if attribute in (None, name)
        for stage in STAGES
    ]
    same = [each for each in studies if each.stage == "final"] if _unmoved(mine) else studies
    notes = ("first and final ballots are the same: nobody was heard twice",) if _unmoved(mine) else ()
    return RunDStudy(chosen, tuple(same), notes)


def study(votes: pd.DataFrame, attribute: str, stage: str, usd: float = math.nan) -> DStudy:
    """The components of votes on one attribute, and what designs of other sizes would give.

    Args:
        usd: What one ballot costs.
    """
    found = variance_components(votes)
    rows: list[Mapping[str, object]] = []
    for repeats in REPEATS if not math.isnan(found.repeat) else (1,):
        for jurors in dict.fromkeys(sorted({*JURORS, found.jurors})):
            rows.append(
                {
                    "design": "crossed",
                    "jurors": jurors,
                    "repeats": repeats,
                    "relative": found.relative(jurors, repeats),
                    "absolute": found.absolute(jurors, repeats),
                    "calls": jurors * repeats,
                    "usd": usd * jurors * repeats,
                }
            )
        rows.append(
            {
                "design": "round robin",
                "jurors": found.jurors,
                "repeats": repeats,
                "relative": found.round_robin(repeats),
                "absolute": found.round_robin(repeats),
                "calls": repeats,
                "usd": usd * repeats,
            }
        )
    return DStudy(attribute, stage, found, pd.DataFrame(rows))


def _unmoved(votes: pd.DataFrame) -> bool:
    """Whether every final vote is the first."""
    keys = ["case", "juror", "repeat", "attribute"]
    first, final = (votes[votes["stage"] == stage].set_index(keys)["value"] for stage in STAGES)
    return len(first) == len(final) and bool((first.reindex(final.index) == final).all())


def _price(store: Store, arm: Arm) -> float:
    """What a juror's turn costs; NaN where a price is not known."""
    turns, spent = 0, 0.0
    for transcript in store.transcripts(arm):
        turns += transcript.turns
        spent += transcript.cost.amount("usd")
    return spent / turns if turns else math.nan
