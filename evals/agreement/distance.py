"""Distances between raters, in points of the scale: offset, root mean squared and mean absolute error."""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd

from ..statistics.error import mae, offset, rmse
from ..statistics.estimate import Estimate
from .coefficient import Coefficient, Setting


def _distance(name: str, measure: Callable[..., Estimate], low: float, place: int) -> Coefficient:
    def estimate(ratings: pd.DataFrame, setting: Setting) -> Estimate:
        return measure(ratings, jackknife=setting.jackknife)

    return Coefficient(name, estimate, (low, math.inf), place)


OFFSET = _distance("offset", offset, -math.inf, 70)
RMSE = _distance("rmse", rmse, 0.0, 71)
MAE = _distance("mae", mae, 0.0, 72)
