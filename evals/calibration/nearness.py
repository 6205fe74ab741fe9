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
    whole = scores[["cluster", *sides, "people", "attribute", "fold"]].dropna()
    cluster, _ = pd.factorize(whole["cluster"])
    numbered = whole.assign(attribute=pd.factorize(whole["attribute"])[0])
    names = (*sides, "people", "attribute", "fold")
    values = numbered[list(names)].to_numpy(float)
    return Matrix(values, tuple(range(len(whole))), names, cluster.astype(np.int64))


def one_side(values: FloatArray, number: int) -> FloatArray:
    """The rows of one side of a `grid`'s values: score, label, attribute, fold."""
    return values[:, [number, 2, 3, 4]]


def nearness(measure: Measure, rows: FloatArray) -> Statistic:
    """The measure of rows of score, label, attribute and fold."""
    return measure(rows[:, 0], rows[:, 1], rows[:, 2].astype(np.int64), rows[:, 3].astype(np.int64))


def side(measure: Measure, values: FloatArray, number: int) -> Statistic:
    """The measure of one side of a `grid`'s values."""
    return nearness(measure, one_side(values, number))
