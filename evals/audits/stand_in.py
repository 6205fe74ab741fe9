"""Can the jury replace a person? The alternative-annotator test.

One person after another is left out: is the jury closer to the others than that person is? A jury costs less than a person, so it may be
a little worse, by `epsilon`. The jury passes if that is shown of half of the people or more, false discoveries held down.
What does not pass is not shown to be as good, which is no proof that it is worse: the power says how often a jury that is exactly
as good would pass.

References:
    Calderon, Reichart and Dror (2025), "The alternative annotator test for LLM-as-a-judge", arXiv:2501.10970.
    Benjamini and Yekutieli (2001), Annals of Statistics 29:1165-1188: tests that depend on each other.
    Beran (1986), "Simulated power functions", Annals of Statistics 14:151-173.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import stdtr

from ..ratings.evidence import Evidence
from ..ratings.folds import cluster_numbers
from ..ratings.reference import codes
from ..report.section import Section
from ..statistics.draws import Draws
from ..statistics.matrix import FloatArray, IntArray
from .audit import Audit

FEWEST_PEOPLE = 3
FEWEST_CASES = 30
EPSILON = 0.15
PASSED = 0.5
"""The share of people whom the jury must be shown to be able to replace."""
TITLE = "Can the jury replace a person?"


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
    power: float = math.nan
    """How often a jury exactly as close to the others as each person is would pass, in studies of as many cases."""
    note: str = ""

    @property
    def passed(self) -> bool:
        return self.winning_rate >= PASSED


def alternative_annotator(
    people: pd.DataFrame,
    jury: pd.Series,
    *,
    ordered: bool,
    cluster: IntArray | None = None,
    epsilon: float = EPSILON,
    level: float = 0.05,
    draws: Draws | None = None,
) -> AlternativeAnnotator:
    """The test of `jury` against everyone in `people`.

    The power is simulated: everyone's differences in closeness are moved to a mean of zero, cases (or clusters) are drawn
    again with replacement, and the whole test is made of them.

    Args:
        people: One row a case, one column a person; NaN where they gave nothing. Words as numbers.
        jury: Its value for each row; NaN where it reached none, and the case is left out.
        ordered: Whether closeness is the root mean square distance to the others; otherwise how many say the same.
        cluster: Cases of one cluster are not independent.
        epsilon: By how much more often the person may be the closer one: 0 for no allowance.
        draws: The studies simulated for the power.
    """
    columns = ["person", "n", "jury", "person_share", "p", "jury_wins"]
    if people.shape[1] < FEWEST_PEOPLE:
        reason = f"{people.shape[1]} people rated; {FEWEST_PEOPLE} are needed"
        return AlternativeAnnotator(pd.DataFrame(columns=columns), epsilon, math.nan, math.nan, note=reason)
    values, machine = people.to_numpy(float), jury.to_numpy(float)
    clusters, code = np.unique(np.arange(len(values)) if cluster is None else cluster, return_inverse=True)
    sums, counts = np.zeros((2, len(clusters), people.shape[1]))
    rows = []
    for column, person in enumerate(people.columns):
        other_people = np.delete(values, column, axis=1)
        usable = ~np.isnan(values[:, column]) & ~np.isnan(machine) & (~np.isnan(other_people)).any(axis=1)
        person_closeness = _closeness(values[usable, column], other_people[usable], ordered)
        jury_closeness = _closeness(machine[usable], other_people[usable], ordered)
        wins, loses = jury_closeness >= person_closeness - 1e-12, person_closeness >= jury_closeness - 1e-12
        np.add.at(sums[:, column], code[usable], loses.astype(float) - wins)
        np.add.at(counts[:, column], code[usable], 1)
        rows.append((str(person), int(usable.sum()), _mean(wins.astype(float)), _mean(loses.astype(float))))
    p = _one_sided(sums, counts, np.ones((1, len(clusters))), epsilon)
    table = pd.DataFrame(rows, columns=columns[:-2]).assign(p=p[0], jury_wins=_discoveries(p, level)[0])
    is_tested = table["p"].notna()
    if not is_tested.any():
        none = "not tested: no case was rated by the jury and by at least two people"
        return AlternativeAnnotator(table, epsilon, math.nan, math.nan, note=none)
    warning = (
        f"some people have fewer than {FEWEST_CASES} cases: for these people, the t test is only approximate"
        if (table["n"] < FEWEST_CASES).any()
        else ""
    )
    return AlternativeAnnotator(
        table,
        epsilon,
        float(table.loc[is_tested, "jury_wins"].mean()),
        float(table.loc[is_tested, "jury"].mean()),
        _power(sums, counts, epsilon, level, draws or Draws()),
        warning,
    )


def _power(sums: FloatArray, counts: FloatArray, epsilon: float, level: float, draws: Draws) -> float:
    """How often the test is passed where the jury is the closer one exactly as often as each person."""
    is_used = counts.any(axis=1)
    sums, counts = sums[is_used], counts[is_used]
    equal = sums - counts * (sums.sum(axis=0) / np.maximum(counts.sum(axis=0), 1))
    clusters = len(counts)
    resamples = draws.rng().multinomial(clusters, np.full(clusters, 1 / clusters), size=draws.resamples)
    p = _one_sided(equal, counts, resamples.astype(float), epsilon)
    tested_count = np.maximum((~np.isnan(p)).sum(axis=1), 1)
    return _mean((_discoveries(p, level).sum(axis=1) / tested_count >= PASSED).astype(float))


def _closeness(values: FloatArray, other_people: FloatArray, ordered: bool) -> FloatArray:
    gaps = other_people - values[:, None]
    is_known = ~np.isnan(gaps)
    number = np.maximum(is_known.sum(axis=1), 1)
    if ordered:
        return -np.sqrt((np.where(is_known, gaps, 0.0) ** 2).sum(axis=1) / number)
    return np.asarray(((gaps == 0) & is_known).sum(axis=1) / number)


def _one_sided(sums: FloatArray, counts: FloatArray, weights: FloatArray, epsilon: float) -> FloatArray:
    """By weighting of clusters and person, the p of the person being the closer one by less than `epsilon`, by Student's t.

    Args:
        sums: By cluster and person, the cases on which the person is the closer one less those on which the jury is.
        counts: The cases of each cluster that the person rated.
    """
    n, clusters = weights @ counts, weights @ (counts > 0)
    mean = np.divide(weights @ sums, n, out=np.full_like(n, np.nan), where=n > 0)
    squares = weights @ sums**2 - 2 * mean * (weights @ (sums * counts)) + mean**2 * (weights @ counts**2)
    several = clusters > 1
    error = np.sqrt(np.maximum(squares, 0) * clusters / np.where(several, clusters - 1, 1)) / np.maximum(n, 1)
    varies = error > 1e-9
    p = stdtr(clusters - 1, (mean - epsilon) / np.where(varies, error, 1.0))
    return np.where(several, np.where(varies, p, mean >= epsilon), np.nan)


def _discoveries(p: FloatArray, level: float) -> npt.NDArray[np.bool_]:
    """By row, which hypotheses are rejected, the share of false ones among them held at `level` whatever their dependence."""
    tested_count = (~np.isnan(p)).sum(axis=1, keepdims=True)
    rank = np.arange(1, p.shape[1] + 1)
    limits = level * rank / np.maximum(tested_count * np.cumsum(1 / rank)[np.maximum(tested_count, 1) - 1], 1)
    sorted_p = np.sort(p, axis=1)
    reached = np.where(sorted_p <= limits, sorted_p, -1.0).max(axis=1, keepdims=True)
    return np.asarray(p <= reached)


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else math.nan


def stand_in_section(evidence: Evidence, draws: Draws) -> Section | None:
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
        attribute_ratings = people[people["attribute"] == name]
        if attribute_ratings["rater"].nunique() < FEWEST_PEOPLE or not len(arms):
            continue
        wide = attribute_ratings.pivot(index="case", columns="rater", values="number")
        cluster = cluster_numbers(pd.Series(wide.index, dtype=object), groups)
        juries = arms[arms["attribute"] == name].pivot(index="case", columns="rater", values="number")
        juries = juries.reindex(index=wide.index, columns=list(evidence.kinds))
        for arm in evidence.kinds:
            result = alternative_annotator(
                wide, juries[arm], ordered=question.scale.ordered, cluster=cluster, draws=draws
            )
            if math.isnan(result.winning_rate):
                notes.append(f"{arm}, {name}: {result.note}")
                continue
            rows.append(result.people.assign(arm=arm, attribute=name, power=result.power))
            sentences.append(stand_in_sentence(arm, name, result))
            if result.note:
                notes.append(f"{arm}, {name}: {result.note}")
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
            "Alternative-annotator test (Calderon and others 2025): one-sided t tests over cases or groups, with false discoveries controlled at 5% "
            "(Benjamini and Yekutieli). Each person in turn is replaced by the jury. A jury passes if it is shown to be close enough to replace at least half of the people. The power is that of the same test on resampled cases or groups, "
            "for a jury that is as close to the other people as each person is on average (Beran 1986).",
        ),
        notes=tuple(dict.fromkeys(notes)),
    )


def stand_in_sentence(arm: str, attribute: str, found: AlternativeAnnotator) -> str:
    """What the test says of an arm; where it does not pass, with the power."""
    size = (
        f"it is close enough to the other people to replace {found.winning_rate:.0%} of {len(found.people)} people "
        f"(allowed disadvantage epsilon: {found.epsilon:g}; the jury is at least as close as the replaced person on {found.advantage:.0%} of cases)"
    )
    if found.passed:
        return f"{arm} can replace a person on {attribute}: {size}."
    return (
        f"{arm} is not shown to be as good as a person on {attribute}: {size}. "
        f"A jury exactly as good as a person would pass in {found.power:.0%} of studies of this size."
    )


STAND_IN = Audit("stand_in", lambda inputs, draws: stand_in_section(inputs.evidence, draws), 85)
