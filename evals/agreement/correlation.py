"""Correlations between raters: Spearman's, Kendall's, Pearson's."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from ..statistics.correlation import kendall, pearson, spearman
from ..statistics.estimate import Estimate
from .coefficient import SCHOBER, Coefficient, Setting


def _correlation(name: str, measure: Callable[..., Estimate], place: int) -> Coefficient:
    def estimate(ratings: pd.DataFrame, setting: Setting) -> Estimate:
        return measure(ratings, jackknife=setting.jackknife)

    return Coefficient(name, estimate, (-1.0, 1.0), place, bands=SCHOBER)


SPEARMAN = _correlation("spearman", spearman, 60)
KENDALL = _correlation("kendall", kendall, 61)
PEARSON = _correlation("pearson", pearson, 62)
