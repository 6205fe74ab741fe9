"""Which raters the others would agree better without."""

import numpy as np
import pandas as pd

from .alpha import Level, alpha_coefficient
from .bootstrap import Bootstrap, Statistic
from .jackknife import DIFFERENCE
from .matrix import FloatArray, Matrix, Ratings, matrix, on_scale

WORTH_NAMING = 0.05
"""How much alpha must rise without a rater before the rater is named."""


def rater_outliers(ratings: Ratings, *, level: Level, bootstrap: Bootstrap) -> pd.DataFrame:
    """One row per rater: how harsh, how much alpha would rise without them, and whether that says outlier.

    A rater is an outlier when leaving them out raises Krippendorff's alpha by 0.05 or more and the interval
    of that rise, cases resampled, lies above zero. Two raters cannot outvote each other, so fewer than three
    raters have no outlier.

    Returns:
        Columns `rater`, `n` (ratings), `severity` (mean distance above the others' mean on the same cases;
        NaN for text), `rise`, `low`, `high`, `outlier`, `note`.
    """
    grid = matrix(ratings, by=bootstrap.by)
    rated = (~np.isnan(grid.values)).sum(axis=0)
    rows = []
    for number, rater in enumerate(grid.raters):
        rise, low, high, note = _rise(grid, number, level, bootstrap)
        rows.append(
            {
                "rater": rater,
                "n": int(rated[number]),
                "severity": _severity(grid, number),
                "rise": rise,
                "low": low,
                "high": high,
                "outlier": bool(rise >= WORTH_NAMING and low > 0),
                "note": note,
            }
        )
    columns = ["rater", "n", "severity", "rise", "low", "high", "outlier", "note"]
    return pd.DataFrame(rows, columns=columns)


def _rise(grid: Matrix, number: int, level: Level, bootstrap: Bootstrap) -> tuple[float, float, float, str]:
    """Alpha of the others minus alpha of everyone, with its interval."""
    if len(grid.raters) < 3:
        return np.nan, np.nan, np.nan, "fewer than three raters"
    others = [column for column in range(len(grid.raters)) if column != number]
    _, scale = on_scale(grid)
    if len(scale) < 2:
        return np.nan, np.nan, np.nan, "only one value was ever used"
    make = alpha_coefficient(scale, level)

    def rise(values: FloatArray) -> Statistic:
        whole, rest = _pairable(values, range(values.shape[1])), _pairable(values, others)
        everyone, without = make(values[whole]), make(values[rest][:, others])
        return lambda weights: without(weights[:, rest]) - everyone(weights[:, whole])

    found = bootstrap.estimate(
        rise, grid, method="rise in alpha", otherwise="alpha is undefined with or without", link=DIFFERENCE
    )
    return found.value, found.low, found.high, found.note


def _pairable(values: FloatArray, columns: "range | list[int]") -> np.ndarray:
    """The cases with two ratings or more in `columns`."""
    return np.flatnonzero((~np.isnan(values[:, list(columns)])).sum(axis=1) >= 2)


def _severity(grid: Matrix, number: int) -> float:
    if grid.labels is not None:
        return np.nan
    mine = grid.values[:, number]
    others = np.delete(grid.values, number, axis=1)
    shared = ~np.isnan(mine) & (~np.isnan(others)).any(axis=1)
    if not shared.any():
        return np.nan
    return float((mine[shared] - np.nanmean(others[shared], axis=1)).mean())
