"""How near scores are to people's: the four measures by which a calibration is judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from ..statistics.bootstrap import Statistic
from ..statistics.concordance import concordance_statistic
from ..statistics.error import offset_statistic, rmse_statistic
from ..statistics.matrix import FloatArray, IntArray, Matrix
from ..statistics.stratified import stratified_spearman_statistic

Measure = Callable[[FloatArray, FloatArray, IntArray, IntArray], Statistic]
"""From scores, labels, attributes and folds to the measure as a function of the weights of cases."""


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
FLAT = "scores or labels have one value throughout"


def grid(scores: pd.DataFrame, sides: tuple[str, str]) -> Matrix:
    """The rows that have both sides and a label: columns first side, second side, people, attribute, fold."""
    scored = np.column_stack([scores[name].to_numpy(float) for name in (*sides, "people", "fold")])
    whole = ~np.isnan(scored).any(axis=1)
    cluster, attribute = (
        pd.factorize(scores[name].to_numpy()[whole])[0] for name in ("cluster", "attribute")
    )
    values = np.column_stack([scored[whole, :3], attribute, scored[whole, 3]])
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
