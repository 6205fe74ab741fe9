"""Two arms judged on the same cases: their difference with its interval and its p, both from the jackknife of the difference.

The rule is `jackknife.py`'s on the difference as it is. So p is below 0.05 exactly where the 95% interval excludes 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...rubrics.errors import count_words
from .estimate import Estimate, undefined
from .gate import OPEN, SQUARED, Gate, interval_refusal
from .icc import NAMES, Form, icc_coefficient
from .jackknife import RAW, SAME, Jackknife, units
from .matrix import FloatArray, IntArray, Matrix, Ratings, matrix
from .significance import shown_sign
from .weighted import Coefficient, Statistic, leave_one_out, of_clusters

LEAST_CLUSTERS = 7
"""Cases or groups below which no difference is claimed: of six that all point one way, chance gives one in 32."""


class Contrast(NamedTuple):
    """A difference with its interval, and the two-sided p of there being none."""

    difference: Estimate
    p: float

    @property
    def shown(self) -> float:
        """The sign of the difference where it is shown; 0 where it is not, NaN where that cannot be told."""
        return shown_sign(self.difference.value, self.p)


def paired_difference(
    measure: Coefficient,
    first: FloatArray,
    second: FloatArray,
    cluster: IntArray,
    *,
    method: str,
    otherwise: str,
    gate: Gate = OPEN,
    confidence: float = 0.95,
) -> Contrast:
    """The measure of `first` minus that of `second`.

    Args:
        measure: From rows of cases to the measure as a function of how often each counts. It is made once, for the
            rows of both arms together.
        first: One row a case, such as an arm's score and the people's.
        second: The same cases in the same order.
        cluster: For each case, the number of the cluster that is left out as a whole.
        otherwise: Why the difference is NaN, should it be.
        gate: What both arms must have for an interval and a p, their scores and the people's being the first two columns.

    Returns:
        Neither interval nor p, and a note, where the gate is shut. Where the arms are the same on every case p is 1, and where
        every case shows the same difference it is the exact p of so many equal signs; neither has an interval.
    """
    n = len(first)
    if not n:
        return Contrast(undefined(otherwise, method=method, confidence=confidence), np.nan)
    clusters = int(cluster.max()) + 1
    statistic = of_clusters(
        measure(np.vstack([first, second])), np.append(cluster, cluster + clusters), 2 * clusters
    )
    sides = np.repeat(np.eye(2, dtype=np.int64), clusters, axis=1)
    values = statistic(sides.astype(float))
    left_out = [
        leave_one_out(statistic, side, np.arange(clusters) + number * clusters)
        for number, side in enumerate(sides)
    ]
    grids = [
        Matrix(rows[:, :2], tuple(range(n)), ("arm", "people")[: rows.shape[1]], cluster)
        for rows in (first, second)
    ]
    bar = next(filter(None, (interval_refusal(grid, gate, own=True) for grid in grids)), "")
    return _contrast(
        float(values[0] - values[1]), left_out[0] - left_out[1], grids[0], bar, method, otherwise, confidence
    )


def jackknifed_change(
    coefficient: Coefficient,
    grid: Matrix,
    *,
    method: str,
    otherwise: str,
    why: str = "",
    confidence: float = 0.95,
) -> Contrast:
    """A coefficient of `grid` that is zero where there is no difference, such as that of a panel with and without one more rater.

    Args:
        why: Why there is neither interval nor p, should a gate be shut.
    """
    statistic = of_clusters(coefficient(grid.values), grid.cluster, grid.clusters)
    frequency = np.ones(grid.clusters, dtype=np.int64)
    value, left_out = float(statistic(frequency[None].astype(float))[0]), leave_one_out(statistic, frequency)
    return _contrast(value, left_out, grid, why, method, otherwise, confidence)


def _contrast(
    gap: float,
    left_out: FloatArray,
    grid: Matrix,
    refusal: str,
    method: str,
    otherwise: str,
    confidence: float,
) -> Contrast:
    """The difference with interval and p, from what it is without each cluster."""
    n = len(grid.cases)
    if not refusal and grid.clusters < LEAST_CLUSTERS:
        problem = (
            f"{units(grid)} cannot distinguish a difference from chance; {LEAST_CLUSTERS} or more are needed"
        )
        refusal = f"no interval: {problem}"
    if refusal and not np.isnan(gap):
        return Contrast(Estimate(gap, np.nan, np.nan, n, method, confidence, refusal), np.nan)
    difference = Jackknife(confidence=confidence).of_left_out(
        gap, lambda: (left_out, None), grid, method=method, otherwise=otherwise, transform=RAW, n=n
    )
    if not difference.note.endswith(SAME):
        return Contrast(difference, difference.p)
    equal = abs(gap) < 1e-12
    reason = (
        f"both sides of the comparison are the same on all {units(grid)}"
        if equal
        else f"the difference is the same on all {units(grid)}"
    )
    return Contrast(
        replace(difference, note=f"no interval: {reason}"), 1.0 if equal else 2.0 ** (1 - grid.clusters)
    )


@dataclass(frozen=True, slots=True)
class IccChange:
    """An ICC before and after, and whether the change could be chance."""

    before: float
    after: float
    change: Estimate
    p: float
    """Two-sided."""


def as_extra_rater(ratings: Ratings, *, jury: str, by: str = "case", form: Form = "icc3k") -> IccChange:
    """The change in the people's ICC when `jury` sits as one more rater.

    Missing ratings: only cases rated by everyone, the jury among them, are used before and after.

    Args:
        ratings: Columns `case`, `rater`, `value`; one of the raters is `jury`, the others are people.
        by: The column whose equal values belong together.
    """
    grid, seat = _panel(ratings, jury, by)
    people = [column for column in range(len(grid.raters)) if column != seat]
    return _change(grid, people, [*people, seat], form)


def as_substitute(
    ratings: Ratings, *, jury: str, by: str = "case", form: Form = "icc3k"
) -> dict[str, IccChange]:
    """For each person, the change in the people's ICC when `jury` takes that person's place.

    Missing ratings: as for `as_extra_rater`.
    """
    grid, seat = _panel(ratings, jury, by)
    people = [column for column in range(len(grid.raters)) if column != seat]
    return {
        grid.raters[person]: _change(grid, people, [seat if p == person else p for p in people], form)
        for person in people
    }


def _panel(ratings: Ratings, jury: str, by: str) -> tuple[Matrix, int]:
    grid = matrix(ratings, by=by).numbers("the ICC").complete()
    grid.column(jury)
    return grid, grid.raters.index(jury)


def _change(grid: Matrix, base: list[int], grown: list[int], form: Form) -> IccChange:
    method, n = f"change in {NAMES[form]}", len(grid.cases)
    if len(base) < 2 or n < 2:
        few = (
            "fewer than two people"
            if len(base) < 2
            else f"{count_words(n, 'case')} rated by everyone; at least two cases are needed"
        )
        return IccChange(np.nan, np.nan, undefined(few, method=method, n=n), np.nan)
    make, ones = icc_coefficient(form), np.ones((1, n))
    was, becomes = (float(make(grid.values[:, side])(ones)[0]) for side in (base, grown))

    def difference(values: FloatArray) -> Statistic:
        old, new = make(values[:, base]), make(values[:, grown])
        return lambda weights: new(weights) - old(weights)

    flat = "the scores of cases do not differ, so the ICC is undefined"
    sides = (
        replace(grid, values=grid.values[:, side], raters=tuple(grid.raters[i] for i in side))
        for side in (base, grown)
    )
    refusal = next(filter(None, (interval_refusal(side, SQUARED) for side in sides)), "")
    return IccChange(
        was, becomes, *jackknifed_change(difference, grid, method=method, otherwise=flat, why=refusal)
    )
