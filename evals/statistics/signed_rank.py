"""Whether two raters differ in level: Wilcoxon's signed-rank test and the differences themselves."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import bdtr, ndtr

from .estimate import Estimate, undefined
from .matrix import FloatArray, Ratings
from .mean_ranks import mean_ranks
from .pairs import Raters, pair_matrix

EXACT = 50
"""Differences up to which, if none are tied, all ways to give them signs are counted."""


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


def wilcoxon_signed_rank(ratings: Ratings, *, raters: Raters, confidence: float = 0.95) -> SignedRank:
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
    return SignedRank(*_signed_rank_test(gap[gap != 0]), median, quartiles, len(gap))


def differences(ratings: Ratings, *, raters: Raters) -> pd.DataFrame:
    """How often the first rater stood how far above the second: `difference`, `count`, `share`."""
    values = pair_matrix(ratings, raters).numbers("a difference").values
    size, count = np.unique(values[:, 0] - values[:, 1], return_counts=True)
    return pd.DataFrame({"difference": size, "count": count, "share": count / max(len(values), 1)})


def _signed_rank_test(gap: FloatArray) -> tuple[float, float]:
    """The smaller rank sum of differences that are not zero, and its two-sided p."""
    n, size = len(gap), np.abs(gap)
    ranks = mean_ranks(size)
    above = float(ranks[gap > 0].sum())
    _, tied = np.unique(size, return_counts=True)
    if n <= EXACT and len(tied) == n:
        # How many of all ways to give the ranks signs have each sum of positive ones, rank by rank.
        ways = np.ones(1)
        for rank in range(1, n + 1):
            ways = np.append(ways, np.zeros(rank)) + np.append(np.zeros(rank), ways)
        p = 2 * min(ways[: int(above) + 1].sum(), ways[int(above) :].sum()) / ways.sum()
    else:
        variance = (n * (n + 1) * (2 * n + 1) - (tied.astype(float) ** 3 - tied).sum() / 2) / 24
        p = 2 * ndtr(-abs(above - n * (n + 1) / 4) / math.sqrt(variance))
    return min(above, n * (n + 1) / 2 - above), min(float(p), 1.0)


def _median(gap: FloatArray, name: str, confidence: float) -> Estimate:
    """The median, between the order statistics that a fair coin puts around it."""
    n = len(gap)
    ordered = np.sort(gap)
    value = float(np.median(ordered))
    rank = int(np.searchsorted(bdtr(np.arange(n + 1), n, 0.5), (1 - confidence) / 2))
    if rank < 1:
        return Estimate(value, math.nan, math.nan, n, name, confidence, f"no interval: {n} cases are too few")
    method = f"{name}; order statistics"
    return Estimate(value, float(ordered[rank - 1]), float(ordered[n - rank]), n, method, confidence)
