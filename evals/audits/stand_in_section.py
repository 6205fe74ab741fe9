"""May the jury stand in for a person? The alternative-annotator test as a part of a comparison."""

from __future__ import annotations

import math

import pandas as pd

from ..figures.section import Section
from ..inference.alternative_annotator import FEWEST_PEOPLE, alternative_annotator
from ..ratings.clusters import cluster_numbers
from ..ratings.evidence import Evidence
from ..ratings.reference import codes
from .audit import Audit

TITLE = "May the jury stand in for a person?"


def stand_in_section(evidence: Evidence) -> Section | None:
    """The test of every arm on every attribute that three people or more rated; None where nobody did."""
    rows: list[pd.DataFrame] = []
    sentences: list[str] = []
    notes: list[str] = []
    people = evidence.people.assign(number=codes(evidence.people, evidence.questions))
    arms = (
        evidence.arms.assign(number=codes(evidence.arms, evidence.questions))
        if len(evidence.arms)
        else evidence.arms
    )
    groups = evidence.groups
    for name, question in evidence.questions.items():
        mine = people[people["attribute"] == name]
        if mine["rater"].nunique() < FEWEST_PEOPLE or not len(arms):
            continue
        wide = mine.pivot(index="case", columns="rater", values="number")
        cluster = cluster_numbers(pd.Series(wide.index, dtype=object), groups)
        juries = arms[arms["attribute"] == name].pivot(index="case", columns="rater", values="number")
        juries = juries.reindex(index=wide.index, columns=list(evidence.kinds))
        for arm in evidence.kinds:
            found = alternative_annotator(wide, juries[arm], ordered=question.scale.ordered, cluster=cluster)
            if math.isnan(found.winning_rate):
                notes.append(f"{arm}, {name}: {found.note}")
                continue
            rows.append(found.people.assign(arm=arm, attribute=name))
            may = "may stand in for a person" if found.passed else "may not stand in for a person"
            sentences.append(
                f"{arm} {may} on {name}: it is close enough to the others in place of {found.winning_rate:.0%} of {len(found.people)} people "
                f"(epsilon {found.epsilon:g}; at least as close as the person on {found.advantage:.0%} of cases)."
            )
            if found.note:
                notes.append(f"{arm}, {name}: {found.note}")
    if not rows:
        return None
    table = pd.concat(rows, ignore_index=True)
    return Section(
        name="stand_in",
        title=TITLE,
        sentences=tuple(sentences),
        tables={
            "people": table[
                ["arm", "attribute", *(c for c in table.columns if c not in ("arm", "attribute"))]
            ]
        },
        methods=(
            "Alternative-annotator test (Calderon and others 2025): one-sided t tests over cases or groups, Benjamini and Yekutieli's "
            "control of false discoveries at .05; passed at half of the people.",
        ),
        notes=tuple(dict.fromkeys(notes)),
    )


STAND_IN = Audit("stand_in", lambda given, draws: stand_in_section(given.evidence), 85)
