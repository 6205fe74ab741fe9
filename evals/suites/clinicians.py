"""A suite's jury against people who rated the same answers: z-scored ICC(3,k), beside automatic metrics and people among themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from rich.table import Table

from ...rubrics.errors import MissingExtra, VenireError, count_words
from ...rubrics.plugins import plugged_in
from ..metrics.metric import GROUP as METRICS
from ..metrics.metric import Metric
from ..report.section import estimate_json
from ..report.terminal import estimate_words
from ..statistics.estimate import Estimate, undefined
from ..statistics.icc import pairwise_icc, zscored_icc
from ..statistics.jackknife import Jackknife
from .suite_tables import simple_table

COMBINED = "all sets"
JURY, PEOPLE = "jury", "people, pairwise"
NAMES = ("rouge-l", "minilm")
"""The metrics that stand beside the jury."""
METHOD = "ICC(3,k) of people's mean z-score and the measure's z-score"


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


def agreement_with_people(answers: pd.DataFrame, ratings: pd.DataFrame) -> PeopleAgreement:
    """The jury, ROUGE-L and MiniLM against people on every set that they rated, and on all together.

    A person's rating of an answer is the mean over the attributes that they gave; it is z-scored within the person and set, and people's
    z-scores are averaged. The measure is z-scored as one more rater. Answers to one case are left out together.

    Args:
        answers: Columns `case` (an answer's id), `set`, `group`, `jury` (its score, NaN where there is none), `output`, `reference`.
        ratings: Columns `case`, `rater`, `attribute`, `value`.

    References:
        Bedi et al. (2025), "MedHELM", section 4.3.3 and table 2.
    """
    answers_by_case = answers.set_index("case")
    known = ratings[ratings["case"].isin(answers_by_case.index)]
    if known.empty:
        example = next(iter(answers_by_case.index), "")
        raise VenireError(
            "none of the ratings belongs to an answer that the jury judged",
            remedy=f"in the column case, write the ids that the record has, such as {example!r}",
        )
    notes = []
    if lost := len(ratings) - len(known):
        notes.append(
            f"{count_words(lost, 'rating')} left out, because the jury did not judge the rated answer, such as {ratings.loc[~ratings['case'].isin(answers_by_case.index), 'case'].iloc[0]!r}"
        )
    numbers = known.assign(value=pd.to_numeric(known["value"], errors="coerce")).dropna(subset=["value"])
    composite = numbers.groupby(["case", "rater"], sort=False)["value"].mean().reset_index()
    composite["set"] = composite["case"].map(answers_by_case["set"])
    composite["group"] = composite["case"].map(answers_by_case["group"])
    measures = _measures(answers, set(composite["case"]), notes)
    rows: list[MeasureAgreement] = []
    sets = list(dict.fromkeys(composite["set"]))
    for name in [*sets, *([COMBINED] if len(sets) > 1 else [])]:
        set_ratings = composite if name == COMBINED else composite[composite["set"] == name]
        rows += _set_rows(name, set_ratings, measures, notes)
    case_counts = {name: int(composite.loc[composite["set"] == name, "case"].nunique()) for name in sets}
    return PeopleAgreement(tuple(rows), case_counts, tuple(dict.fromkeys(notes)))


def people_table(agreement: PeopleAgreement) -> Table:
    """One row a set and measure: ICC(3,k) after z-scoring, with its interval."""
    table = simple_table("set", "measure", "ICC(3,k), z-scored", "answers")
    for row in agreement.rows:
        table.add_row(row.set, row.measure, estimate_words(row.estimate), str(row.estimate.n))
    return table


def people_json(agreement: PeopleAgreement) -> dict[str, Any]:
    sets: dict[str, dict[str, Any]] = {}
    for row in agreement.rows:
        sets.setdefault(row.set, {})[row.measure] = estimate_json(row.estimate)
    return {"sets": sets, "rated": dict(agreement.rated), "notes": list(agreement.notes)}


def _measures(answers: pd.DataFrame, cases: set[str], notes: list[str]) -> dict[str, pd.Series[float]]:
    """Each measure's value by answer."""
    rows = answers[answers["case"].isin(cases)]
    measures = {JURY: rows.set_index("case")["jury"].astype(float)}
    pairs = list(zip(rows["output"].astype(str), rows["reference"].fillna("").astype(str), strict=True))
    for name in NAMES:
        metric: Metric = plugged_in(METRICS, name, "metric")
        try:
            values: Sequence[float] = next(iter(metric.measure(pairs, None).values()))
        except MissingExtra as missing:
            notes.append(f"{metric.title} is left out: {missing.problem}")
            continue
        # Held against an empty text, which an answer without a reference has here, a metric is NaN.
        measures[metric.title] = pd.Series(list(values), index=rows["case"], dtype=float)
    return measures


def _set_rows(
    name: str, composite: pd.DataFrame, measures: Mapping[str, pd.Series[float]], notes: list[str]
) -> list[MeasureAgreement]:
    spread = composite.groupby("rater")["value"].agg(["std", "count"])
    flat = spread.index[(spread["count"] < 2) | ~(spread["std"] > 0)]
    if len(flat):
        notes.append(
            f"{name}: ratings by {', '.join(map(str, flat))} left out: each of these people gave every answer the same score, or rated only one answer"
        )
    usable = composite[~composite["rater"].isin(flat)].copy()
    grouped = usable.groupby("rater")["value"]
    usable["value"] = (usable["value"] - grouped.transform("mean")) / grouped.transform("std")
    people = usable.groupby(["case", "group"], sort=False)["value"].mean().reset_index()
    rows = []
    for measure, values in measures.items():
        paired = people.assign(other=people["case"].map(values)).dropna()
        long = pd.concat(
            [
                paired[["case", "group", "value"]].assign(rater="people"),
                paired[["case", "group"]].assign(value=paired["other"], rater=measure),
            ]
        )
        estimate = (
            zscored_icc(long, jackknife=Jackknife(by="group"))
            if len(paired) > 1
            else undefined(
                f"{count_words(len(paired), 'answer')} with both a rating by people and a score, and two are needed",
                method=METHOD,
            )
        )
        rows.append(MeasureAgreement(name, measure, estimate.out_of(len(people))))
    if usable["rater"].nunique() > 1:
        pairs = pairwise_icc(usable[["case", "group", "rater", "value"]], jackknife=Jackknife(by="group"))
    else:
        pairs = undefined("only one person", method="pairwise ICC(3,k)")
    return [*rows, MeasureAgreement(name, PEOPLE, pairs)]
