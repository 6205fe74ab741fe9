"""What calibration changed: four measures of nearness to people, before and after."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..statistics.chance import concordance_statistic
from ..statistics.contrast import Contrast, paired_difference
from ..statistics.correlation import stratified_spearman_statistic
from ..statistics.error import offset_statistic, rmse_statistic
from ..statistics.estimate import Estimate
from ..statistics.gate import OPEN, RANKED_PAIRS, SQUARED_PAIRS, Gate
from ..statistics.jackknife import FISHER, LOG, RAW, Jackknife, Transform
from ..statistics.matrix import FloatArray, IntArray, Matrix
from ..statistics.weighted import Coefficient, Statistic

Measure = Callable[[FloatArray, FloatArray, IntArray, IntArray], Statistic]
"""From scores, labels, attributes and folds to the measure as a function of the weights of cases."""
SCALES: Mapping[str, Transform] = {"offset": RAW, "rmse": LOG, "spearman": FISHER, "kappa_quadratic": FISHER}
"""Where each measure's error is about even."""
GATES: Mapping[str, Gate] = {
    "offset": OPEN,
    "rmse": OPEN,
    "spearman": RANKED_PAIRS,
    "kappa_quadratic": SQUARED_PAIRS,
}
"""What scores and labels must have before a measure of them gets an interval."""
FLAT = "all scores or all labels are the same"
Sides = tuple[str, str]


def _rank_correlation(
    scores: FloatArray, labels: FloatArray, attribute: IntArray, fold: IntArray
) -> Statistic:
    return stratified_spearman_statistic(scores, labels, attribute * (fold.max(initial=0) + 1) + fold)


MEASURES: Mapping[str, Measure] = {
    "offset": lambda scores, labels, *_: offset_statistic(scores, labels),
    "rmse": lambda scores, labels, *_: rmse_statistic(scores, labels),
    "spearman": _rank_correlation,
    "kappa_quadratic": lambda scores, labels, attribute, _: concordance_statistic(scores, labels, attribute),
}
"""Of several attributes, each is taken within them: that their means differ says nothing of how near scores are."""


def grid(scores: pd.DataFrame, sides: tuple[str, str]) -> Matrix:
    """The rows that have both sides and a label: columns first side, second side, people, attribute, fold."""
    columns = np.column_stack([scores[name].to_numpy(float) for name in (*sides, "people", "fold")])
    complete = ~np.isnan(columns).any(axis=1)
    cluster, attribute = (
        pd.factorize(scores[name].to_numpy()[complete])[0] for name in ("cluster", "attribute")
    )
    values = np.column_stack([columns[complete, :3], attribute, columns[complete, 3]])
    names = (*sides, "people", "attribute", "fold")
    return Matrix(values, tuple(range(len(values))), names, cluster.astype(np.int64))


def one_side(values: FloatArray, number: int) -> FloatArray:
    """The rows of one side of a `grid`'s values: score, label, attribute, fold."""
    return values[:, [number, 2, 3, 4]]


def nearness(measure: Measure, rows: FloatArray) -> Statistic:
    """The measure of rows of score, label, attribute and fold."""
    return measure(rows[:, 0], rows[:, 1], rows[:, 2].astype(np.int64), rows[:, 3].astype(np.int64))


def side(measure: Measure, values: FloatArray, number: int) -> Statistic:
    """The measure of one side of a `grid`'s values."""
    return nearness(measure, one_side(values, number))


class CalibrationChange(NamedTuple):
    """A measure of agreement on two sides, and the second's minus the first's on the same cases."""

    measure: str
    before: Estimate
    after: Estimate
    change: Estimate
    p: float

    def row(self, sides: Sides = ("before", "after")) -> dict[str, object]:
        """The cells of a table; the two sides are named as told."""
        return {
            "measure": self.measure,
            **_cells(sides[0], self.before),
            **_cells(sides[1], self.after),
            "change": self.change.value,
            "low": self.change.low,
            "high": self.change.high,
            "p": self.p,
            "n": self.change.n,
            "note": self.change.note or self.after.note or self.before.note,
        }


def changes(
    scores: pd.DataFrame, *, sides: Sides = ("before", "after"), measures: Iterable[str] = tuple(MEASURES)
) -> list[CalibrationChange]:
    """Each measure of the two sides against `people`, over the rows that have all three.

    Args:
        scores: Columns `cluster`, `fold`, `attribute`, `people` and the two sides; what shares a cluster is left out
            together, ranks are compared within a fold and an attribute, and agreement is taken within attributes.
    """
    rows = grid(scores, sides)
    results = []
    for name in measures:
        measure = MEASURES[name]
        before, after = (
            Jackknife(own=True).estimate(
                _score_measure(measure),
                replace(rows, values=one_side(rows.values, number), raters=("score", "people")),
                method=name,
                otherwise=_undefined_note(rows),
                transform=SCALES[name],
                gate=GATES[name],
            )
            for number in (0, 1)
        )
        results.append(CalibrationChange(name, before, after, *tested_change(name, rows)))
    return results


def tested_change(name: str, rows: Matrix) -> Contrast:
    """The measure `name` of the second side of a `grid` minus that of the first."""
    before_rows, after_rows = (one_side(rows.values, number) for number in (0, 1))
    return paired_difference(
        _score_measure(MEASURES[name]),
        after_rows,
        before_rows,
        rows.cluster,
        method=name,
        otherwise=_undefined_note(rows),
        gate=GATES[name],
    )


def _undefined_note(rows: Matrix) -> str:
    """Why a measure of these rows is NaN, should it be."""
    return FLAT if len(rows.cases) else "no case has both a score and a label"


def _score_measure(measure: Measure) -> Coefficient:
    return lambda rows: nearness(measure, rows)


def _cells(side: str, estimate: Estimate) -> dict[str, float]:
    return {side: estimate.value, f"{side}_low": estimate.low, f"{side}_high": estimate.high}
