"""Cohen's kappa, plain and weighted, and Fleiss's."""

from __future__ import annotations

import pandas as pd

from ..statistics.chance import Weighting, fleiss_kappa
from ..statistics.estimate import Estimate
from ..statistics.kappa import cohen_kappa
from .coefficient import LANDIS_KOCH, Coefficient, Setting


def _cohen(ratings: pd.DataFrame, setting: Setting, weighting: Weighting) -> Estimate:
    return cohen_kappa(
        ratings, weighting=weighting, categories=setting.categories, jackknife=setting.jackknife
    )


def _fleiss(ratings: pd.DataFrame, setting: Setting) -> Estimate:
    return fleiss_kappa(ratings, jackknife=setting.jackknife)


KAPPA = Coefficient(
    "kappa",
    lambda ratings, setting: _cohen(ratings, setting, "identity"),
    (-1.0, 1.0),
    40,
    level="nominal",
    counts_values=True,
    bands=LANDIS_KOCH,
)
KAPPA_LINEAR = Coefficient(
    "kappa_linear",
    lambda ratings, setting: _cohen(ratings, setting, "linear"),
    (-1.0, 1.0),
    41,
    counts_values=True,
    orders_words=True,
    bands=LANDIS_KOCH,
)
KAPPA_QUADRATIC = Coefficient(
    "kappa_quadratic",
    lambda ratings, setting: _cohen(ratings, setting, "quadratic"),
    (-1.0, 1.0),
    42,
    counts_values=True,
    orders_words=True,
    bands=LANDIS_KOCH,
)
FLEISS = Coefficient(
    "fleiss",
    _fleiss,
    (-1.0, 1.0),
    43,
    level="nominal",
    counts_values=True,
    bands=LANDIS_KOCH,
)
