"""A suite's jury against people who rated the same answers: z-scored ICC(3,k), beside automatic metrics and people among themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from ...rubrics.errors import MissingExtra, VenireError
from ...rubrics.plugins import plugged_in
from ..metrics.metric import GROUP as METRICS
from ..metrics.metric import Metric
from ..statistics.draws import Draws
from ..statistics.estimate import Estimate, undefined
from ..statistics.pairwise_icc import pairwise_icc, zscored_icc

COMBINED = "all sets"
JURY, PEOPLE = "jury", "people, pairwise"
NAMES = ("rouge-l", "minilm")
"""The metrics that stand beside the jury."""
METHOD = "ICC(3,k) of people's mean z-score and the measure's"


@dataclass(frozen=True, slots=True)
class MeasureAgreement:
    """How far one measure of answers goes with people's ratings of them, on one set."""

    set: str
    measure: str
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class PeopleAgreement:
    """Every measure on every rated set, and what was left out."""

    rows: tuple[MeasureAgreement, ...]
    rated: Mapping[str, int]
    """Answers that people rated, by set."""
    notes: tuple[str, ...]


def agreement_with_people(
    answers: pd.DataFrame, ratings: pd.DataFrame, *, draws: Draws | None = None
) -> PeopleAgreement:
    """The jury, ROUGE-L and MiniLM against people on every set that they rated, and on all together.

    A person's rating of an answer is the mean over the attributes that they gave; it is z-scored within the person and set, and people's
    z-scores are averaged. The measure is z-scored as one more rater. Groups of answers to one case are resampled together.

    Args:
        answers: Columns `case` (an answer's id), `set`, `group`, `jury` (its score, NaN where there is none), `output`, `reference`.
        ratings: Columns `case`, `rater`, `attribute`, `value`.

    References:
        Bedi et al. (2025), "MedHELM", section 4.3.3 and table 2.
    """
    draws = draws or Draws()
    known = answers.set_index("case")
    matched = ratings[ratings["case"].isin(known.index)]
    if matched.empty:
        example = next(iter(known.index), "")
        raise VenireError(
            "no rating is of an answer that the jury judged",
            remedy=f"name answers as the record does, such as {example!r}, in the column case",
        )
    notes = []
    if lost := len(ratings) - len(matched):
        notes.append(
            f"{lost} rating(s) match no judged answer: {ratings.loc[~ratings['case'].isin(known.index), 'case'].iloc[0]!r} first"
        )
    numbers = matched.assign(value=pd.to_numeric(matched["value"], errors="coerce")).dropna(subset=["value"])
    composite = numbers.groupby(["case", "rater"], sort=False)["value"].mean().reset_index()
    composite["set"] = composite["case"].map(known["set"])
    composite["group"] = composite["case"].map(known["group"])
    measures = _measures(answers, set(composite["case"]), notes)
    rows: list[MeasureAgreement] = []
    sets = list(dict.fromkeys(composite["set"]))
    for name in [*sets, *([COMBINED] if len(sets) > 1 else [])]:
        its = composite if name == COMBINED else composite[composite["set"] == name]
        rows += _set_rows(name, its, measures, draws, notes)
    rated = {name: int(composite.loc[composite["set"] == name, "case"].nunique()) for name in sets}
    return PeopleAgreement(tuple(rows), rated, tuple(dict.fromkeys(notes)))


def _measures(answers: pd.DataFrame, rated: set[str], notes: list[str]) -> dict[str, pd.Series[float]]:
    """Each measure's value by answer."""
    its = answers[answers["case"].isin(rated)]
    found = {JURY: its.set_index("case")["jury"].astype(float)}
    pairs = list(zip(its["output"].astype(str), its["reference"].fillna("").astype(str), strict=True))
    for name in NAMES:
        metric: Metric = plugged_in(METRICS, name, "metric")
        try:
            values: Sequence[float] = next(iter(metric.measure(pairs, None).values()))
        except MissingExtra as missing:
            notes.append(f"{metric.title} is left out: {missing.problem}")
            continue
        series = pd.Series(list(values), index=its["case"], dtype=float)
        found[metric.title] = series.where(its.set_index("case")["reference"].notna())
    return found


def _set_rows(
    name: str,
    composite: pd.DataFrame,
    measures: Mapping[str, pd.Series[float]],
    draws: Draws,
    notes: list[str],
) -> list[MeasureAgreement]:
    spread = composite.groupby("rater")["value"].agg(["std", "count"])
    flat = spread.index[(spread["count"] < 2) | ~(spread["std"] > 0)]
    if len(flat):
        notes.append(
            f"{name}: {', '.join(map(str, flat))} gave one composite throughout, or rated one answer: left out"
        )
    kept = composite[~composite["rater"].isin(flat)].copy()
    grouped = kept.groupby("rater")["value"]
    kept["value"] = (kept["value"] - grouped.transform("mean")) / grouped.transform("std")
    people = kept.groupby(["case", "group"], sort=False)["value"].mean().reset_index()
    rows = []
    for measure, values in measures.items():
        both = people.assign(other=people["case"].map(values)).dropna()
        long = pd.concat(
            [
                both[["case", "group", "value"]].assign(rater="people"),
                both[["case", "group"]].assign(value=both["other"], rater=measure),
            ]
        )
        bootstrap = draws.bootstrap(by="group")
        found = (
            zscored_icc(long, bootstrap=bootstrap)
            if len(both) > 1
            else undefined(f"{len(both)} answer(s) with both", method=METHOD)
        )
        rows.append(MeasureAgreement(name, measure, found.out_of(len(people))))
    if kept["rater"].nunique() > 1:
        pairs = pairwise_icc(kept[["case", "group", "rater", "value"]], bootstrap=draws.bootstrap(by="group"))
    else:
        pairs = undefined("one person alone", method="pairwise ICC(3,k)")
    return [*rows, MeasureAgreement(name, PEOPLE, pairs)]
