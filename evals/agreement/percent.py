"""The share of pairs of ratings that are the same."""

from __future__ import annotations

import pandas as pd

from ..statistics.chance import percent_agreement
from ..statistics.estimate import Estimate
from .coefficient import Coefficient, Setting


def _percent(ratings: pd.DataFrame, setting: Setting) -> Estimate:
    return percent_agreement(ratings, jackknife=setting.jackknife)


PERCENT = Coefficient("percent", _percent, (0.0, 1.0), 50, level="nominal", counts_values=True)
