"""The coefficients that are shipped: each is a function of `statistics/`, with its range, its bands and what it asks of a scale."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import pandas as pd

from ..statistics.alpha import Level, krippendorff_alpha
from ..statistics.chance import Weighting, fleiss_kappa, gwet_ac, percent_agreement
from ..statistics.correlation import kendall, pearson, spearman
from ..statistics.error import mae, offset, rmse
from ..statistics.estimate import Estimate
from ..statistics.icc import Form, icc
from ..statistics.kappa import cohen_kappa
from .coefficient import KOO_LI, KRIPPENDORFF, LANDIS_KOCH, SCHOBER, Coefficient, Setting

_SIGNED = (-1.0, 1.0)
_UP_TO_ONE = (-math.inf, 1.0)


def _icc(form: Form, place: int) -> Coefficient:
    def estimate(ratings: pd.DataFrame, setting: Setting) -> Estimate:
        return icc(ratings, form=form, interval=setting.icc_interval, jackknife=setting.jackknife)

    return Coefficient(form, estimate, _UP_TO_ONE, place, bands=KOO_LI)


def _alpha(
    level: Level, place: int, *, needs: Literal["nominal", "ordinal", "ratio"], counts_values: bool = False
) -> Coefficient:
    def estimate(ratings: pd.DataFrame, setting: Setting) -> Estimate:
        return krippendorff_alpha(ratings, level=level, jackknife=setting.jackknife)

    return Coefficient(
        f"alpha_{level}",
        estimate,
        _UP_TO_ONE,
        place,
        level=needs,
        counts_values=counts_values,
        bands=KRIPPENDORFF,
    )


def _ac1(ratings: pd.DataFrame, setting: Setting) -> Estimate:
    return gwet_ac(ratings, categories=setting.categories, jackknife=setting.jackknife)


def _ac2(ratings: pd.DataFrame, setting: Setting) -> Estimate:
    return gwet_ac(ratings, weighting="quadratic", categories=setting.categories, jackknife=setting.jackknife)


def _cohen(ratings: pd.DataFrame, setting: Setting, weighting: Weighting) -> Estimate:
    return cohen_kappa(
        ratings, weighting=weighting, categories=setting.categories, jackknife=setting.jackknife
    )


def _weighted_kappa(weighting: Literal["linear", "quadratic"], place: int) -> Coefficient:
    return Coefficient(
        f"kappa_{weighting}",
        lambda ratings, setting: _cohen(ratings, setting, weighting),
        _SIGNED,
        place,
        counts_values=True,
        orders_words=True,
        bands=LANDIS_KOCH,
    )


def _plain(measure: Callable[..., Estimate]) -> Callable[[pd.DataFrame, Setting], Estimate]:
    """A measure that asks for nothing but ratings and how to take its interval."""
    return lambda ratings, setting: measure(ratings, jackknife=setting.jackknife)


ICC1 = _icc("icc1", 10)
ICC2 = _icc("icc2", 11)
ICC3 = _icc("icc3", 12)
ICC1K = _icc("icc1k", 13)
ICC2K = _icc("icc2k", 14)
ICC3K = _icc("icc3k", 15)
ALPHA_NOMINAL = _alpha("nominal", 20, needs="nominal", counts_values=True)
ALPHA_ORDINAL = _alpha("ordinal", 21, needs="ordinal")
ALPHA_INTERVAL = _alpha("interval", 22, needs="ordinal")
ALPHA_RATIO = _alpha("ratio", 23, needs="ratio", counts_values=True)
AC1 = Coefficient("ac1", _ac1, _SIGNED, 30, level="nominal", counts_values=True, bands=LANDIS_KOCH)
AC2 = Coefficient("ac2", _ac2, _SIGNED, 31, counts_values=True, orders_words=True, bands=LANDIS_KOCH)
KAPPA = Coefficient(
    "kappa",
    lambda ratings, setting: _cohen(ratings, setting, "identity"),
    _SIGNED,
    40,
    level="nominal",
    counts_values=True,
    bands=LANDIS_KOCH,
)
KAPPA_LINEAR = _weighted_kappa("linear", 41)
KAPPA_QUADRATIC = _weighted_kappa("quadratic", 42)
FLEISS = Coefficient(
    "fleiss", _plain(fleiss_kappa), _SIGNED, 43, level="nominal", counts_values=True, bands=LANDIS_KOCH
)
PERCENT = Coefficient(
    "percent", _plain(percent_agreement), (0.0, 1.0), 50, level="nominal", counts_values=True
)
SPEARMAN = Coefficient("spearman", _plain(spearman), _SIGNED, 60, bands=SCHOBER)
KENDALL = Coefficient("kendall", _plain(kendall), _SIGNED, 61, bands=SCHOBER)
PEARSON = Coefficient("pearson", _plain(pearson), _SIGNED, 62, bands=SCHOBER)
OFFSET = Coefficient("offset", _plain(offset), (-math.inf, math.inf), 70)
RMSE = Coefficient("rmse", _plain(rmse), (0.0, math.inf), 71)
MAE = Coefficient("mae", _plain(mae), (0.0, math.inf), 72)
