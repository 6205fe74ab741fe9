"""Whether two raters differ in level: Wilcoxon's signed-rank test and the differences themselves."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from .estimate import Estimate, undefined
from .matrix import FloatArray
from .pairs import Raters, pair_matrix


@dataclass(frozen=True, slots=True)
class SignedRank:
    """The test, beside the size of what it tested."""

    statistic: float
    """The smaller of the rank sums of positive and of negative differences."""
    p: float
    """Two-sided."""
    median: Estimate
    """The median difference, first rater minus second."""
    quartiles: tuple[float, float]
    n: int
    note: str = ""


def wilcoxon_signed_rank(ratings: pd.DataFrame, *, raters: Raters, confidence: float = 0.95) -> SignedRank:
    """Wilcoxon's signed-rank test of the first rater against the second, with the median difference.

    Equal ratings are dropped, as Wilcoxon did. Exact for up to 50 differences without ties or zeros,
    otherwise by the normal approximation. The interval of the median is that of order statistics.

    Missing ratings: cases without both are left out.

    References:
        Wilcoxon (1945), Biometrics Bulletin 1:80-83.
    """
    values = pair_matrix(ratings, raters).numbers("the signed-rank test").values
    gap = values[:, 0] - values[:, 1]
    name = f"median of {raters[0]} minus {raters[1]}"
    if len(gap) == 0:
        empty = "no case has both ratings"
        return SignedRank(
            math.nan,
            math.nan,
            undefined(empty, method=name, confidence=confidence),
            (math.nan, math.nan),
            0,
            empty,
        )
    quartiles = (float(np.quantile(gap, 0.25)), float(np.quantile(gap, 0.75)))
    median = _median(gap, name, confidence)
    if not gap.any():
        return SignedRank(math.nan, math.nan, median, quartiles, len(gap), "every difference is zero")
    moved = gap[gap != 0]
    exact = len(moved) <= 50 and len(np.unique(np.abs(moved))) == len(moved)
    statistic, p = np.asarray(stats.wilcoxon(moved, method="exact" if exact else "asymptotic"), dtype=float)
    return SignedRank(float(statistic), float(p), median, quartiles, len(gap))


def differences(ratings: pd.DataFrame, *, raters: Raters) -> pd.DataFrame:
    """How often the first rater stood how far above the second: `difference`, `count`, `share`."""
    values = pair_matrix(ratings, raters).numbers("a difference").values
    size, count = np.unique(values[:, 0] - values[:, 1], return_counts=True)
    return pd.DataFrame({"difference": size, "count": count, "share": count / max(len(values), 1)})


def _median(gap: FloatArray, name: str, confidence: float) -> Estimate:
    """The median, between the order statistics that a fair coin puts around it."""
    n = len(gap)
    ordered = np.sort(gap)
    value = float(np.median(ordered))
    rank = int(stats.binom.ppf((1 - confidence) / 2, n, 0.5))
    if rank < 1:
        return Estimate(value, math.nan, math.nan, n, name, confidence, f"no interval: {n} cases are too few")
    method = f"{name}; order statistics"
    return Estimate(value, float(ordered[rank - 1]), float(ordered[n - rank]), n, method, confidence)
