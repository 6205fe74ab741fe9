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

Measure = Callable[[FloatArray, FloatArray, IntArray], Statistic]
"""From scores, labels and folds to the measure as a function of the weights of cases."""

MEASURES: Mapping[str, Measure] = {
    "offset": lambda scores, labels, _: offset_statistic(scores, labels),
    "rmse": lambda scores, labels, _: rmse_statistic(scores, labels),
    "spearman": stratified_spearman_statistic,
    "kappa_quadratic": lambda scores, labels, _: concordance_statistic(scores, labels),
}
FLAT = "scores or labels have one value throughout"


def grid(scores: pd.DataFrame, sides: tuple[str, str]) -> Matrix:
    """The rows that have both sides and a label: columns first side, second side, people, fold."""
    whole = scores[["cluster", *sides, "people", "fold"]].dropna()
    cluster, _ = pd.factorize(whole["cluster"])
    values = whole[[*sides, "people", "fold"]].to_numpy(float)
    names = (*sides, "people", "fold")
    return Matrix(values, tuple(range(len(whole))), names, cluster.astype(np.int64))


def side(measure: Measure, values: FloatArray, number: int) -> Statistic:
    """The measure of one side of a `grid`'s values."""
    return measure(values[:, number], values[:, 2], values[:, 3].astype(np.int64))
