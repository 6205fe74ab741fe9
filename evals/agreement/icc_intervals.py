"""ICC(3,k) of an arm and people with both of its published intervals, each under its name."""

from __future__ import annotations

import math
from dataclasses import replace

from ..statistics.draws import Draws
from ..statistics.icc import icc
from ..statistics.matrix import Matrix

COLUMNS = ("icc3k", "f_low", "f_high", "bootstrap_low", "bootstrap_high", "n", "note")
SAME = 1e-9
METHODS = (
    "Beside ICC(3,k) stand the F interval of Shrout and Fleiss (1979), which takes scores as independent and their errors as "
    "normal, and the expanded BCa bootstrap's, which resamples cases or their groups."
)


def icc3k_intervals(grid: Matrix, draws: Draws) -> dict[str, float | int | str]:
    """The coefficient, its F interval and its bootstrap interval; NaN with a note where there is none.

    Args:
        grid: The raters `arm` and `people` as `sheet.pairs` lays them out; the values are numbers.
    """
    if not grid.cases:
        return _row(math.nan, note="no case has both the arm's score and one of people")
    by_f = icc(grid, form="icc3k", interval="f")
    drawn = icc(grid, form="icc3k", bootstrap=draws.bootstrap(by="cluster", kind="expanded"))
    if drawn.high - drawn.low < SAME:
        drawn = replace(
            drawn,
            low=math.nan,
            high=math.nan,
            note="no bootstrap interval: every resample gives the same value",
        )
    told = "; ".join(dict.fromkeys(filter(None, (by_f.note, drawn.note))))
    return _row(by_f.value, by_f.low, by_f.high, drawn.low, drawn.high, by_f.n, told)


def _row(
    value: float,
    f_low: float = math.nan,
    f_high: float = math.nan,
    bootstrap_low: float = math.nan,
    bootstrap_high: float = math.nan,
    n: int = 0,
    note: str = "",
) -> dict[str, float | int | str]:
    return dict(zip(COLUMNS, (value, f_low, f_high, bootstrap_low, bootstrap_high, n, note), strict=True))
