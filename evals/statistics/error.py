"""How far one rater is from another: offset, absolute and squared error, exact match."""

from dataclasses import replace

import numpy as np

from .estimate import Estimate
from .gate import OPEN
from .jackknife import CASES, LOG, RAW, Jackknife
from .matrix import FloatArray, Ratings
from .pairs import PairStatistic, Raters, pair_estimate, pair_matrix
from .weighted import OfSums, Statistic

EMPTY = "no case was rated by both raters"


def offset(ratings: Ratings, *, jackknife: Jackknife = CASES, raters: Raters | None = None) -> Estimate:
    """The mean of the first rater minus the second, over the cases both rated.

    With two raters and none named, the first is the first by name. With more it is the mean over pairs
    of the size of their offset, as its sign would depend on their names, and has no interval.
    """
    grid = pair_matrix(ratings, raters, by=jackknife.by).numbers("the offset")
    if len(grid.raters) == 2:
        name = f"offset, {grid.raters[0]} minus {grid.raters[1]}"
        return pair_estimate(
            grid, offset_statistic, jackknife, method=name, otherwise=EMPTY, least=1, transform=RAW, gate=OPEN
        )
    estimate = pair_estimate(
        grid,
        size_of_offset,
        jackknife,
        method="size of the offset",
        otherwise=EMPTY,
        least=1,
        transform=RAW,
        gate=OPEN,
    )
    note = (
        estimate.note
        or "no interval: by chance alone, absolute offsets are above zero even if raters do not differ"
    )
    return replace(estimate, low=np.nan, high=np.nan, note=note)


def mae(ratings: Ratings, *, jackknife: Jackknife = CASES, raters: Raters | None = None) -> Estimate:
    """The mean absolute difference, over the cases both rated; over pairs when there are more raters."""
    return _estimate(ratings, mae_statistic, "mean absolute error", jackknife, raters)


def rmse(ratings: Ratings, *, jackknife: Jackknife = CASES, raters: Raters | None = None) -> Estimate:
    """The root of the mean squared difference, over the cases both rated; over pairs when more raters."""
    return _estimate(ratings, rmse_statistic, "root mean squared error", jackknife, raters)


def offset_statistic(x: FloatArray, y: FloatArray) -> OfSums:
    """The mean signed difference as a function of the weights of cases."""
    return _mean_of(x - y)


def mae_statistic(x: FloatArray, y: FloatArray) -> OfSums:
    """The mean absolute difference as a function of the weights of cases."""
    return _mean_of(np.abs(x - y))


def rmse_statistic(x: FloatArray, y: FloatArray) -> OfSums:
    """The root mean squared difference as a function of the weights of cases."""
    mean = _mean_of((x - y) ** 2)
    # Sums less those of a group that holds every difference come out a rounding below zero.
    return OfSums(mean.sums, lambda total: np.sqrt(np.maximum(mean.value(total), 0.0)))


def size_of_offset(x: FloatArray, y: FloatArray) -> Statistic:
    """The size of the mean signed difference as a function of the weights of cases."""
    mean = _mean_of(x - y)
    return lambda weights: np.abs(mean(weights))


def _estimate(
    ratings: Ratings, statistic: PairStatistic, method: str, jackknife: Jackknife, raters: Raters | None
) -> Estimate:
    grid = pair_matrix(ratings, raters, by=jackknife.by).numbers(f"the {method}")
    return pair_estimate(
        grid, statistic, jackknife, method=method, otherwise=EMPTY, least=1, transform=LOG, gate=OPEN
    )


def _mean_of(gap: FloatArray) -> OfSums:
    """A weighted mean; NaN where a resample holds none of the cases."""

    def mean(total: FloatArray) -> FloatArray:
        n = total[:, 1]
        return np.divide(total[:, 0], n, out=np.full(len(n), np.nan), where=n > 0)

    return OfSums(np.column_stack([gap, np.ones(len(gap))]), mean)
