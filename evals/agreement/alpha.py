"""Krippendorff's alpha at each level of measurement."""

from __future__ import annotations

from typing import Literal

import pandas as pd

from ..statistics.alpha import Level, krippendorff_alpha
from ..statistics.estimate import Estimate
from .coefficient import KRIPPENDORFF, Coefficient, Setting


def _alpha(
    level: Level, place: int, *, needs: Literal["nominal", "ordinal", "ratio"], counts_values: bool = False
) -> Coefficient:
    def estimate(ratings: pd.DataFrame, setting: Setting) -> Estimate:
        return krippendorff_alpha(ratings, level=level, jackknife=setting.jackknife)

    return Coefficient(
        f"alpha_{level}",
        estimate,
        (float("-inf"), 1.0),
        place,
        level=needs,
        counts_values=counts_values,
        bands=KRIPPENDORFF,
    )


ALPHA_NOMINAL = _alpha("nominal", 20, needs="nominal", counts_values=True)
ALPHA_ORDINAL = _alpha("ordinal", 21, needs="ordinal")
ALPHA_INTERVAL = _alpha("interval", 22, needs="ordinal")
ALPHA_RATIO = _alpha("ratio", 23, needs="ratio", counts_values=True)
