"""May the jury stand in for a person? The alternative-annotator test.

One person after another is left out: is the jury closer to the others than that person is? A jury costs less than a person, so it may be
a little worse, by `epsilon`. The jury passes if that is shown of half of the people or more, false discoveries held down.

References:
    Calderon, Reichart and Dror (2025), "The alternative annotator test for LLM-as-a-judge", arXiv:2501.10970.
    Benjamini and Yekutieli (2001), Annals of Statistics 29:1165-1188: tests that depend on each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import stdtr

from ..ratings.evidence import Evidence
from ..ratings.folds import cluster_numbers
from ..ratings.reference import codes
from ..report.section import Section
from ..statistics.matrix import FloatArray, IntArray
from .audit import Audit

FEWEST_PEOPLE = 3
FEWEST_CASES = 30
EPSILON = 0.15
TITLE = "May the jury stand in for a person?"


@dataclass(frozen=True, slots=True)
class AlternativeAnnotator:
    """What the test says of each person, and of the jury."""

    people: pd.DataFrame
    """`person`, `n` (cases), `jury` and `person_share` (how often each is at least as close to the others), `p`, `jury_wins`."""
    epsilon: float
    winning_rate: float
    """The share of people whom the jury may replace; NaN where it could not be tested."""
    advantage: float
    """How often the jury is at least as close to the others as the person is, on average."""
    note: str = ""

    @property
    def passed(self) -> bool:
        return self.winning_rate >= 0.5


def alternative_annotator(
    people: pd.DataFrame,
    jury: pd.Series,
    *,
    ordered: bool,
    cluster: IntArray | None = None,
    epsilon: float = EPSILON,
    level: float = 0.05,
) -> AlternativeAnnotator:
    """The test of `jury` against everyone in `people`.

    Args:
        people: One row a case, one column a person; NaN where they gave nothing. Words as numbers.
        jury: Its value for each row; NaN where it reached none, and the case is left out.
        ordered: Whether closeness is the root mean square distance to the others; otherwise how many say the same.
        cluster: Cases of one cluster are not independent.
        epsilon: By how much more often the person may be the closer one: 0 for no allowance.
    """
    columns = ["person", "n", "jury", "person_share", "p", "jury_wins"]
    if people.shape[1] < FEWEST_PEOPLE:
        why = f"{people.shape[1]} people rated: {FEWEST_PEOPLE} are needed, so that there are others to be close to"
        return AlternativeAnnotator(pd.DataFrame(columns=columns), epsilon, math.nan, math.nan, why)
    values, machine = people.to_numpy(float), jury.to_numpy(float)
    alone = np.arange(len(values)) if cluster is None else cluster
    rows = []
    for column, person in enumerate(people.columns):
        others = np.delete(values, column, axis=1)
        usable = ~np.isnan(values[:, column]) & ~np.isnan(machine) & (~np.isnan(others)).any(axis=1)
        mine = _closeness(values[usable, column], others[usable], ordered)
        its = _closeness(machine[usable], others[usable], ordered)
        wins, loses = its >= mine - 1e-12, mine >= its - 1e-12
        p = _one_sided(loses.astype(float) - wins, alone[usable], epsilon)
        rows.append(
            (str(person), int(usable.sum()), _mean(wins.astype(float)), _mean(loses.astype(float)), p)
        )
    table = pd.DataFrame(rows, columns=columns[:-1])
    table["jury_wins"] = _discoveries(table["p"].to_numpy(float), level)
    known = table["p"].notna()
    few = (
        f"fewer than {FEWEST_CASES} cases with some person: the t test is rough there"
        if (table["n"] < FEWEST_CASES).any()
        else ""
    )
    if not known.any():
        return AlternativeAnnotator(
            table, epsilon, math.nan, math.nan, "no case was rated by the jury and two people"
        )
    return AlternativeAnnotator(
        table,
        epsilon,
        float(table.loc[known, "jury_wins"].mean()),
        float(table.loc[known, "jury"].mean()),
        few,
    )


def _closeness(values: FloatArray, others: FloatArray, ordered: bool) -> FloatArray:
    apart = others - values[:, None]
    known = ~np.isnan(apart)
    number = np.maximum(known.sum(axis=1), 1)
    if ordered:
        return -np.sqrt((np.where(known, apart, 0.0) ** 2).sum(axis=1) / number)
    return np.asarray(((apart == 0) & known).sum(axis=1) / number)


def _one_sided(gaps: FloatArray, cluster: IntArray, epsilon: float) -> float:
    """The p of the person being the closer one by less than `epsilon`, by Student's t over clusters."""
    code, names = pd.factorize(cluster)
    if len(names) < 2:
        return math.nan
    off = gaps - gaps.mean()
    sums = np.bincount(code, weights=off)
    error = math.sqrt(len(names) / (len(names) - 1) * float(sums @ sums)) / len(gaps)
    if error == 0:
        return 0.0 if gaps.mean() < epsilon else 1.0
    return float(stdtr(len(names) - 1, (gaps.mean() - epsilon) / error))


def _discoveries(p: FloatArray, level: float) -> list[bool]:
    """Which hypotheses are rejected, the share of false ones among them held at `level` whatever their dependence."""
    known = np.flatnonzero(~np.isnan(p))
    found = np.zeros(len(p), dtype=bool)
    if len(known):
        order = known[np.argsort(p[known])]
        harmonic = (1 / np.arange(1, len(known) + 1)).sum()
        under = p[order] <= level * np.arange(1, len(known) + 1) / (len(known) * harmonic)
        if under.any():
            found[order[: int(np.flatnonzero(under).max()) + 1]] = True
    return [bool(each) for each in found]


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else math.nan


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
