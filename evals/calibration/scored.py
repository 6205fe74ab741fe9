"""What an arm can be calibrated on: its jurors' votes and its verdicts, beside what people gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from ...rubrics.errors import VenireError
from ...rubrics.rubric import Rubric
from ..ratings.evidence import Evidence
from .calibrator import Ends

LEAST = 10
"""Labelled cases below which neither an attribute nor a juror is calibrated."""


class TooFewLabels(VenireError):
    """People scored too little of what an arm scored for a curve to be learned."""


@dataclass(frozen=True, slots=True)
class Scored:
    """One arm's scores of what people scored too, as far as it can be calibrated."""

    arm: str
    votes: pd.DataFrame
    """One row a vote: `case`, `cluster`, `juror`, `attribute`, `value`, `people`. Directly: one a verdict."""
    verdicts: pd.DataFrame
    """One row a verdict: `case`, `cluster`, `attribute`, `before`, `people`."""
    ends: Mapping[str, Ends]
    """The attributes that can be calibrated, with the ends of their scales."""
    rubric: Rubric | None
    direct: bool
    """Whether the verdict is calibrated as it is, not juror by juror."""
    notes: tuple[str, ...]


def scored(evidence: Evidence, arm: str, *, direct: bool = False) -> Scored:
    """The arm's scores that have a label: the median of the people who rated the same.

    A vote counts where a verdict was reached; what is hung stays hung. Repeats of a single judge share one curve.

    Raises:
        TooFewLabels: No attribute has `LEAST` labelled cases in two groups.
    """
    ends, notes = calibrable(evidence)
    verdicts = _labelled(evidence, evidence.arms[evidence.arms["rater"] == arm], ends)
    verdicts = verdicts.rename(columns={"value": "before"}).drop(columns="rater")
    enough = _enough(verdicts, "attribute")
    notes += [
        f"{arm} and people share {many} scored case(s) of {name!r}; {LEAST} in two groups are needed to calibrate"
        for name, many in verdicts.groupby("attribute")["case"].nunique().items()
        if name not in enough
    ]
    ends = {name: each for name, each in ends.items() if name in enough}
    verdicts = verdicts[verdicts["attribute"].isin(list(ends))]
    if verdicts.empty:
        raise TooFewLabels(
            f"{arm} cannot be calibrated: " + ("; ".join(notes) or "it shares no scored case with people"),
            remedy=f"have people score {LEAST} cases or more of the run, with the rubric's attribute names",
        )
    whole = verdicts.rename(columns={"before": "value"}).assign(juror=arm)
    votes = whole if direct else _votes(evidence, arm, verdicts)
    if votes.empty:
        notes.append(f"the votes of {arm}'s jurors are not known, so its verdicts were calibrated directly")
        votes, direct = whole, True
    return Scored(arm, votes, verdicts, ends, evidence.rubrics.get(arm), direct, tuple(notes))


def calibrable(evidence: Evidence) -> tuple[dict[str, Ends], list[str]]:
    """The attributes whose values have an order and which people rated, and why the others are left out."""
    ends: dict[str, Ends] = {}
    notes = []
    rated = set(evidence.people["attribute"])
    for name, asked in evidence.questions.items():
        if not asked.scale.ordered:
            notes.append(f"{name!r} has words for values, without an order: it is not calibrated")
        elif name not in rated:
            notes.append(f"people did not rate {name!r}: it is not calibrated")
        else:
            low, high = map(float, asked.scale.ends)
            ends[name] = (low, high)
    return ends, notes


def _votes(evidence: Evidence, arm: str, verdicts: pd.DataFrame) -> pd.DataFrame:
    """The jurors' votes where there is a verdict and a label, each under its seat's name."""
    if evidence.ballots.empty:
        return evidence.ballots
    cast = evidence.ballots[evidence.ballots["arm"] == arm].astype({"case": str})
    votes = cast[["case", "seat", "attribute", "value"]].rename(columns={"seat": "juror"})
    votes = votes.merge(verdicts.drop(columns="before"), on=["case", "attribute"])
    return votes.assign(value=pd.to_numeric(votes["value"], errors="coerce")).dropna(subset=["value"])


def _labelled(evidence: Evidence, scores: pd.DataFrame, ends: Mapping[str, Ends]) -> pd.DataFrame:
    """The scores of ordered attributes with people's median beside them, and what is drawn together."""
    wanted = evidence.people[evidence.people["attribute"].isin(list(ends))]
    numbers = wanted.assign(people=pd.to_numeric(wanted["value"], errors="coerce"))
    label = numbers.groupby(["case", "attribute"], sort=False)["people"].median().reset_index()
    found = scores.astype({"case": str}).merge(label, on=["case", "attribute"])
    found = found.assign(value=pd.to_numeric(found["value"], errors="coerce")).dropna()
    return found.assign(cluster=clusters(evidence, found["case"]))


def clusters(evidence: Evidence, cases: pd.Series) -> pd.Series:
    """Each case's group, or the case itself where it has none."""
    group = cases.map(evidence.cases.drop_duplicates("case").set_index("case")["group"])
    return group.where(group.notna(), cases)


def _enough(rows: pd.DataFrame, by: str) -> set[str]:
    counted = rows.groupby(by).agg(cases=("case", "nunique"), groups=("cluster", "nunique"))
    return set(counted.index[(counted["cases"] >= LEAST) & (counted["groups"] >= 2)])


def uncalibrated(evidence: Evidence, arm: str) -> pd.DataFrame:
    """The arm's verdicts beside people's, in the shape of `Crossed.scores` with nothing under `after`."""
    ends, _ = calibrable(evidence)
    found = _labelled(evidence, evidence.arms[evidence.arms["rater"] == arm], ends)
    found = found.rename(columns={"value": "before"}).assign(fold=0, after=float("nan"))
    found = found[["case", "cluster", "fold", "attribute", "before", "after", "people"]]
    return pd.concat([found, composites(found, evidence.rubrics.get(arm))], ignore_index=True)


def composites(scores: pd.DataFrame, rubric: Rubric | None) -> pd.DataFrame:
    """The rubric's composites of each case, from the attributes' scores before and after and from people's.

    A composite with a part missing on any of the three sides is left out.
    """
    rows = []
    sides = ["before", "after", "people"]
    if rubric is not None and rubric.composites:
        for case, mine in scores.groupby("case", sort=False):
            found = {
                side: rubric.derived_scores(dict(zip(mine["attribute"], mine[side], strict=True)))
                for side in sides
            }
            for name in rubric.composites:
                if all(name in values for values in found.values()):
                    start = {"case": case, "cluster": mine["cluster"].iloc[0], "fold": mine["fold"].iloc[0]}
                    rows.append({**start, "attribute": name, **{side: found[side][name] for side in sides}})
    return pd.DataFrame(rows, columns=list(scores.columns)) if rows else scores.iloc[:0]
