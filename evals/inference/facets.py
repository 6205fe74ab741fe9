"""The many-facet analysis of a run or of a table of ratings, in words, tables and a Wright map."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from ...orchestration.record import Store
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ..ratings.people import check_ratings, last_round
from ..ratings.question import Question, rubric_questions
from ..ratings.run_tables import arm_tables
from ..report.drawing import COLOURS, Figure, clip, rect
from ..report.html import page, section_part
from ..report.panel import Panel, name_axis, number_axis, padded_range
from ..report.section import Section, section_json
from .dstudy import BallotTable
from .many_facets import Facets, Steps, many_facets

HEIGHT, COLUMN, BINS = 420, 150, 24
LINE = 14
"""Pixels that a line of words takes."""

Placed = Sequence[tuple[str, float]]
MISFIT = (0.7, 1.3)
"""Infit outside of this is named: ratings that vary less than the model says, or more."""


def wright_map(cases: Sequence[float], raters: Placed, attributes: Placed, steps: Placed) -> Figure:
    """Measures upwards: good cases, harsh raters, hard attributes and high steps stand at the top."""
    every = [*cases, *(value for side in (raters, attributes, steps) for _, value in side)]
    low, high = padded_range(every)
    columns = ("cases", "raters", "attributes", "steps")
    panel = Panel(name_axis(columns), number_axis(low, high, about=8, title="logits", lines=True), COLUMN * len(columns), HEIGHT)  # fmt: skip
    size = (high - low) / BINS
    counts = [sum(low + size * at <= value < low + size * (at + 1) for value in cases) for at in range(BINS)]
    left_edge = panel.at(-0.5, low)[0]
    for at, count in enumerate(counts):
        if count:
            _, top = panel.at(0, low + size * (at + 1))
            width = (COLUMN - 20) * count / max(counts)
            panel.add(rect(left_edge, top, width, HEIGHT / BINS - 1, COLOURS[0], opacity=0.6))
    for column, placed in enumerate((raters, attributes, steps), 1):
        for name, value in placed:
            panel.point(column - 0.35, value, COLOURS[column], radius=4, tip=f"{name}: {value:+.2f}")
        for names, value in _joined_labels(placed, LINE * (high - low) / HEIGHT):
            panel.words(column - 0.35, value, clip(names, 18))
    places = "; ".join(
        f"{title}: {', '.join(f'{name} {value:+.2f}' for name, value in placed)}"
        for title, placed in zip(columns[1:], (raters, attributes, steps), strict=True)
    )
    return Figure(
        "", [panel.picture()], f"{len(cases)} cases from {min(cases):+.2f} to {max(cases):+.2f}; {places}"
    )


def _joined_labels(placed: Placed, least: float) -> list[tuple[str, float]]:
    """The names with their places, from the top; those less than `least` below the last go into its line."""
    labels: list[tuple[str, float]] = []
    for name, value in sorted(placed, key=lambda entry: -entry[1]):
        if labels and labels[-1][1] - value < least:
            labels[-1] = (f"{labels[-1][0]}, {name}", labels[-1][1])
        else:
            labels.append((name, value))
    return labels


def rating_facets(ratings: pd.DataFrame, *, model: Steps = "rating-scale") -> Facets:
    """The analysis of a table of people's ratings; every attribute is taken as better the higher."""
    final = last_round(ratings)
    numbers = pd.to_numeric(final["value"], errors="coerce")
    attributes = sorted(set(final.loc[numbers.isna(), "attribute"].astype(str)))
    if numbers.notna().sum() == 0:
        raise VenireError("no rating is a number", remedy="give ratings as numbers on a scale with an order")
    facets = many_facets(final.assign(value=numbers).dropna(subset=["value"]), model=model)
    return _with_note(
        facets,
        f"values that are not numbers were left out for these attributes: {', '.join(attributes)}"
        if attributes
        else "",
    )


def run_facets(
    run: Store | Path | str,
    *,
    arm: str | None = None,
    human: pd.DataFrame | None = None,
    stage: Literal["first", "final"] = "final",
    model: Steps = "rating-scale",
) -> Facets:
    """The analysis of an arm's ballots, its jurors as raters, people among them where their ratings are given.

    An attribute that is better the lower is turned: harsh is harsh.
    """
    store = run if isinstance(run, Store) else Store.read(run)
    try:
        arms = {a.name: a for a in store.arms()}
        if arm is not None and arm not in arms:
            raise VenireError(f"no arm named {arm!r} in this run", remedy=nearest(arm, arms))
        (votes,) = arm_tables(store, BallotTable())
        cases = store.case_ids()
    finally:
        if store is not run:
            store.release()
    several = [name for name, a in arms.items() if len(a.jury.seats) > 1]
    arm_name = arm or next(iter(several), next(iter(arms), ""))
    arm_votes = votes[(votes["arm"] == arm_name) & (votes["stage"] == stage)]
    if arm_votes.empty:
        raise VenireError(
            f"{arm_name or store.name}: no juror voted on a scale with an order",
            remedy="use a run whose rubric has an attribute on a scale with an order",
        )
    questions = rubric_questions(arms[arm_name].rubric)
    table = arm_votes.rename(columns={"juror": "rater"})[["case", "rater", "attribute", "value"]]
    notes: tuple[str, ...] = ()
    if human is not None:
        ordered_questions = {name: question for name, question in questions.items() if question.scale.ordered}
        people, check = check_ratings(human, ordered_questions, taken=set(table["rater"]), cases=cases)
        table = pd.concat([table, people.assign(value=pd.to_numeric(people["value"]))])
        notes = check.notes
    facets = many_facets(table.assign(value=_turned_values(table, questions)), model=model)
    for note in notes:
        facets = _with_note(facets, note)
    return facets


def facets_section(found: Facets) -> Section:
    """The analysis as a part of a page: who is harsh, who fits, the map."""
    raters = found.raters.sort_values("severity")
    lenient, harsh = raters.iloc[0], raters.iloc[-1]
    sentences = [
        f"{harsh['rater']} is the harshest rater (severity {harsh['severity']:+.2f} logits, SE {harsh['se']:.2f}) and would give an average case a score of {harsh['fair']:.2f}. "
        f"{lenient['rater']} is the most lenient rater (severity {lenient['severity']:+.2f} logits, SE {lenient['se']:.2f}) and would give an average case a score of {lenient['fair']:.2f}.",
        f"The spread of raters' severities is {found.separation['separation of raters']:.1f} times their standard error (reliability "
        f"{found.separation['reliability of raters']:.2f}). The spread of the cases' estimated qualities (measures) is {found.separation['separation of cases']:.1f} times their standard error "
        f"(reliability {found.separation['reliability of cases']:.2f}).",
    ]
    misfits = raters[(raters["infit"] < MISFIT[0]) | (raters["infit"] > MISFIT[1])]
    for row in misfits.to_dict("records"):
        less_or_more = "less" if row["infit"] < 1 else "more"
        sentences.append(
            f"{row['rater']}'s scores vary {less_or_more} than the model predicts (infit {row['infit']:.2f})."
        )
    steps = [(f"{row['category']:g}", row["threshold"]) for row in found.steps.to_dict("records")]
    figure = wright_map(
        found.cases["measure"].tolist(),
        list(zip(found.raters["rater"], found.raters["severity"], strict=True)),
        list(zip(found.attributes["attribute"], found.attributes["difficulty"], strict=True)),
        steps,
    )
    return Section(
        name="facets",
        title="How harsh each rater is",
        sentences=tuple(sentences),
        tables={
            "raters": raters,
            "attributes": found.attributes,
            "steps": found.steps,
            "cases": found.cases.sort_values("measure"),
        },
        figures={
            "Wright map: cases, raters, attributes and the steps of the scale on one common axis, in logits": figure
        },
        methods=(
            f"A many-facet Rasch model ({found.model}) was fitted by marginal maximum likelihood; the measures of cases are assumed to be normally distributed.",
        ),
        notes=found.notes,
    )


def _turned_values(table: pd.DataFrame, questions: dict[str, Question]) -> np.ndarray:
    """The values with the good end up."""
    values = table["value"].to_numpy(float)
    ends = {name: tuple(map(float, q.scale.ends)) for name, q in questions.items() if q.scale.ordered}
    low = np.array([questions[name].better == "low" for name in table["attribute"]])
    total = np.array([sum(ends[name]) for name in table["attribute"]])
    return np.where(low, total - values, values)


def _with_note(facets: Facets, note: str) -> Facets:
    return replace(facets, notes=(*facets.notes, note)) if note else facets


def facets_json(source: str, found: Facets) -> dict[str, Any]:
    """The analysis as JSON: what it says and every table; NaN is null."""
    return {
        "source": source,
        "model": found.model,
        "spread_of_cases": found.spread,
        "separation": {
            name: None if math.isnan(value) else value for name, value in found.separation.items()
        },
        **section_json(facets_section(found)),
    }


def facets_answer(found: Facets) -> Section:
    """What the terminal shows of the analysis: a row for each rater, the most lenient first."""
    part = facets_section(found)
    raters = part.tables["raters"]
    heads = {"se": "SE", "infit": "infit", "outfit": "outfit", "fair": "fair average", "mean": "mean given"}
    table = pd.DataFrame(
        {
            "rater": raters["rater"],
            "severity": raters["severity"].map("{:+.2f}".format),
            **{head: raters[name].map("{:.2f}".format) for name, head in heads.items()},
            "ratings": raters["n"],
        }
    )
    return replace(part, tables={"": table})


def facets_page(source: str, found: Facets) -> str:
    """The whole page, with the Wright map."""
    number = f"{len(found.raters)} raters, {len(found.cases)} cases"
    return page("How harsh each rater is", f"{source}, {number}", [section_part(facets_section(found))])
