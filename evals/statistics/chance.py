"""Agreement of any number of raters, case by case, set against chance."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .bootstrap import OfSums, Statistic
from .matrix import FloatArray

Chance = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""Chance agreement of ratings spread as the first rows with ratings spread as the second, under the weights."""


class CaseTotals(NamedTuple):
    """What each case adds to the totals."""

    shares: FloatArray
    """The share of a case's ratings in each category."""
    agreement: FloatArray
    """The weighted share of its pairs of ratings that agree; 0 where there is no pair."""
    paired: FloatArray
    """1 where a case has two ratings or more, otherwise 0."""


def tally(values: FloatArray, scale: FloatArray, weights: FloatArray) -> CaseTotals:
    """The tally of cases with a rating or more."""
    counts = (values[:, :, None] == scale).sum(axis=1).astype(float)
    ratings = counts.sum(axis=1)
    paired = ratings >= 2
    pairs = np.where(paired, ratings * (ratings - 1), 1)
    agreement = (counts * (counts @ weights - 1)).sum(axis=1) / pairs
    return CaseTotals(counts / ratings[:, None], np.where(paired, agreement, 0.0), paired.astype(float))


def chance_corrected(values: FloatArray, scale: FloatArray, weights: FloatArray, chance: Chance) -> Statistic:
    """(observed - chance) / (1 - chance) as a function of the weights of cases."""
    shares, agreement, paired = tally(values, scale, weights)
    sums = np.column_stack([paired, agreement, np.ones(len(paired)), shares])

    def value(total: FloatArray) -> FloatArray:
        observed = _ratio(total[:, 1], total[:, 0])
        spread = total[:, 3:] / total[:, 2:3]
        expected = chance(spread, spread, weights)
        return _ratio(observed - expected, 1 - expected)

    return OfSums(sums, value)


def standard_error(values: FloatArray, scale: FloatArray, weights: FloatArray, chance: Chance) -> float:
    """The standard error of a chance-corrected coefficient over cases, by linearisation.

    References:
        Gwet (2008), British Journal of Mathematical and Statistical Psychology 61:29-48.
    """
    shares, agreement, paired = tally(values, scale, weights)
    n = len(paired)
    if n < 2 or paired.sum() == 0:
        return np.nan
    overall = shares.mean(axis=0, keepdims=True)
    expected = float(chance(overall, overall, weights)[0])
    if expected >= 1:
        return np.nan
    observed = agreement.sum() / paired.sum()
    value = (observed - expected) / (1 - expected)
    own = np.where(paired > 0, n / paired.sum() * (agreement - expected) / (1 - expected), 0.0)
    pull = 2 * (1 - value) * (chance(shares, overall, weights) - expected) / (1 - expected)
    return float(np.sqrt(((own - pull - value) ** 2).sum() / (n * (n - 1))))


def _ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    return np.divide(top, bottom, out=np.full_like(top, np.nan), where=np.abs(bottom) > 1e-12)
