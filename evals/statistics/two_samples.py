"""Whether two samples differ: of numbers by Welch's t test, of categories by Pearson's chi-square."""

from __future__ import annotations

import numpy as np
from scipy.special import chdtrc, stdtr

from .matrix import FloatArray


def welch_p(one: FloatArray, two: FloatArray) -> float:
    """The two-sided p of equal means; NaN where a sample has fewer than two values, or neither varies.

    References:
        Welch (1947), Biometrika 34:28-35.
    """
    if min(len(one), len(two)) < 2:
        return float("nan")
    parts = [float(each.var(ddof=1)) / len(each) for each in (one, two)]
    error = sum(parts)
    if error <= 0:
        return float("nan")
    free = error**2 / sum(part**2 / (len(each) - 1) for part, each in zip(parts, (one, two), strict=True))
    return float(2 * stdtr(free, -abs(one.mean() - two.mean()) / error**0.5))


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
