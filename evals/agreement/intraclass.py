"""The six intraclass correlations."""

from __future__ import annotations

import pandas as pd

from ..statistics.estimate import Estimate
from ..statistics.icc import Form, icc
from .coefficient import KOO_LI, Coefficient, Setting


def _icc(form: Form, place: int) -> Coefficient:
    def estimate(ratings: pd.DataFrame, setting: Setting) -> Estimate:
        return icc(ratings, form=form, interval=setting.icc_interval, jackknife=setting.jackknife)

    unbounded = (float("-inf"), 1.0)
    return Coefficient(form, estimate, unbounded, place, bands=KOO_LI)


ICC1 = _icc("icc1", 10)
ICC2 = _icc("icc2", 11)
ICC3 = _icc("icc3", 12)
ICC1K = _icc("icc1k", 13)
ICC2K = _icc("icc2k", 14)
ICC3K = _icc("icc3k", 15)
