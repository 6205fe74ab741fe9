"""Whether two raters differ in level: Wilcoxon's signed-rank test and the differences themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import bdtr, chdtrc, ndtr, stdtr

from .correlation import mean_ranks
from .draws import Draws
from .estimate import Estimate, undefined
from .matrix import FloatArray, Ratings
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
    name = f"median difference, {raters[0]} minus {raters[1]}"
    if len(gap) == 0:
        empty = "no case was rated by both raters"
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
    positive_sum = float(ranks[gap > 0].sum())
    _, tied = np.unique(size, return_counts=True)
    if n <= EXACT and len(tied) == n:
        # How many of all ways to give the ranks signs have each sum of positive ones, rank by rank.
        counts = np.ones(1)
        for rank in range(1, n + 1):
            counts = np.append(counts, np.zeros(rank)) + np.append(np.zeros(rank), counts)
        p = 2 * min(counts[: int(positive_sum) + 1].sum(), counts[int(positive_sum) :].sum()) / counts.sum()
    else:
        variance = (n * (n + 1) * (2 * n + 1) - (tied.astype(float) ** 3 - tied).sum() / 2) / 24
        p = 2 * ndtr(-abs(positive_sum - n * (n + 1) / 4) / math.sqrt(variance))
    return min(positive_sum, n * (n + 1) / 2 - positive_sum), min(float(p), 1.0)


def _median(gap: FloatArray, name: str, confidence: float) -> Estimate:
    """The median, between the order statistics that a fair coin puts around it."""
    n = len(gap)
    sorted_gaps = np.sort(gap)
    value = float(np.median(sorted_gaps))
    rank = int(np.searchsorted(bdtr(np.arange(n + 1), n, 0.5), (1 - confidence) / 2))
    if rank < 1:
        return Estimate(value, math.nan, math.nan, n, name, confidence, f"no interval: {n} cases are too few")
    method = f"{name}; order statistics"
    return Estimate(value, float(sorted_gaps[rank - 1]), float(sorted_gaps[n - rank]), n, method, confidence)


EXACT_FLIPS = 14
"""Clusters that differ up to which all ways to flip are counted; beyond that they are drawn."""


def flip_p(sums: FloatArray, draws: Draws) -> float:
    """The one-sided mid-p of a mean above zero: 1 where nothing differs.

    Args:
        sums: One sum of differences for each cluster, which is flipped as a whole.

    References:
        Fisher (1935), "The Design of Experiments", section 21; Lancaster (1961), JASA 56:223-234, for the mid-p.
    """
    differing = sums[sums != 0]
    if not len(differing):
        return 1.0
    if len(differing) <= EXACT_FLIPS:
        flips = np.arange(2 ** len(differing))[:, None] >> np.arange(len(differing)) & 1
    else:
        flips = draws.rng().integers(0, 2, (max(draws.resamples, 2000), len(differing)))
        flips[0] = 0
    totals = (1 - 2 * flips) @ differing
    observed, tolerance = totals[0], 1e-12 * np.abs(differing).sum()
    return float(np.mean(totals > observed + tolerance) + np.mean(np.abs(totals - observed) <= tolerance) / 2)


def welch_p(one: FloatArray, two: FloatArray) -> float:
    """The two-sided p of equal means; NaN where a sample has fewer than two values, or neither varies.

    References:
        Welch (1947), Biometrika 34:28-35.
    """
    if min(len(one), len(two)) < 2:
        return float("nan")
    parts = [float(sample.var(ddof=1)) / len(sample) for sample in (one, two)]
    error = sum(parts)
    if error <= 0:
        return float("nan")
    free = error**2 / sum(part**2 / (len(sample) - 1) for part, sample in zip(parts, (one, two), strict=True))
    return float(2 * stdtr(free, -abs(one.mean() - two.mean()) / error**0.5))


def mean_p(gaps: FloatArray) -> float:
    """The two-sided p of a mean of zero by Student's t, for paired differences; NaN below two, or where none differs from another."""
    if len(gaps) < 2 or np.ptp(gaps) == 0:
        return float("nan")
    return float(2 * stdtr(len(gaps) - 1, -abs(gaps.mean()) / (gaps.std(ddof=1) / len(gaps) ** 0.5)))


def chi_square_p(counts: FloatArray) -> float:
    """The p of independent rows and columns of a table of counts; NaN where only one row or column has any.

    References:
        Pearson (1900), Philosophical Magazine 50:157-175; no correction for continuity.
    """
    table = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    if min(table.shape) < 2:
        return float("nan")
    expected = table.sum(axis=1)[:, None] * table.sum(axis=0)[None] / table.sum()
    statistic = float(((table - expected) ** 2 / expected).sum())
    return float(chdtrc((table.shape[0] - 1) * (table.shape[1] - 1), statistic))


def median_and_quartiles(values: FloatArray) -> tuple[float, float, float]:
    """The median and the quartiles; NaN of nothing."""
    if not len(values):
        return float("nan"), float("nan"), float("nan")
    middle, low, high = np.quantile(values, [0.5, 0.25, 0.75])
    return float(middle), float(low), float(high)
