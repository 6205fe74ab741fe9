"""Gwet's AC1, and AC2 with quadratic weights."""

from __future__ import annotations

import pandas as pd

from ..statistics.chance import gwet_ac
from ..statistics.estimate import Estimate
from .coefficient import LANDIS_KOCH, Coefficient, Setting


def _ac1(ratings: pd.DataFrame, setting: Setting) -> Estimate:
    return gwet_ac(ratings, categories=setting.categories, jackknife=setting.jackknife)


def _ac2(ratings: pd.DataFrame, setting: Setting) -> Estimate:
    return gwet_ac(ratings, weighting="quadratic", categories=setting.categories, jackknife=setting.jackknife)


AC1 = Coefficient("ac1", _ac1, (-1.0, 1.0), 30, level="nominal", counts_values=True, bands=LANDIS_KOCH)
AC2 = Coefficient("ac2", _ac2, (-1.0, 1.0), 31, counts_values=True, orders_words=True, bands=LANDIS_KOCH)
