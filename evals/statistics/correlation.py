"""Pearson, Spearman and Kendall correlations between raters."""

import numpy as np

from .bootstrap import Bootstrap, Statistic
from .estimate import Estimate
from .holding import RANKS, SQUARES, Basis
from .jackknife import CORRELATION
from .matrix import FloatArray, Ratings
from .pairs import PairStatistic, Raters, pair_estimate, pair_matrix

FLAT = "a rater gave one value throughout, so there is nothing to correlate"


def pearson(ratings: Ratings, *, bootstrap: Bootstrap, raters: Raters | None = None) -> Estimate:
    """Pearson's r. Pairs of raters use the cases both rated; more than two raters give the mean over pairs."""
    return _estimate(ratings, pearson_statistic, "Pearson's r", bootstrap, raters, basis=SQUARES)


def spearman(ratings: Ratings, *, bootstrap: Bootstrap, raters: Raters | None = None) -> Estimate:
    """Spearman's rho: Pearson's r of ranks, ties sharing their mean rank; ranked anew in each resample.

    Pairs of raters use the cases both rated; more than two raters give the mean over pairs.
    """
    return _estimate(ratings, spearman_statistic, "Spearman's rho", bootstrap, raters)


def kendall(ratings: Ratings, *, bootstrap: Bootstrap, raters: Raters | None = None) -> Estimate:
    """Kendall's tau-b, which allows for ties.

    Pairs of raters use the cases both rated; more than two raters give the mean over pairs.

    References:
        Kendall (1945), Biometrika 33:239-251.
    """
    return _estimate(ratings, kendall_statistic, "Kendall's tau-b", bootstrap, raters)


def pearson_statistic(x: FloatArray, y: FloatArray) -> Statistic:
    """Pearson's r of two raters as a function of the weights of cases."""
    x, y = _standard(x), _standard(y)
    sums = np.column_stack([x, y, x * y, x**2, y**2, np.ones(len(x))])

    def value(weights: FloatArray) -> FloatArray:
        total = weights @ sums
        n = np.maximum(total[:, 5], 1)
        across, down = total[:, 0] / n, total[:, 1] / n
        shared = total[:, 2] - n * across * down
        return _correlation(shared, total[:, 3] - n * across**2, total[:, 4] - n * down**2, n)

    return value


def spearman_statistic(x: FloatArray, y: FloatArray) -> Statistic:
    """Spearman's rho of two raters as a function of the weights of cases."""
    across, down = _ranker(x), _ranker(y)

    def value(weights: FloatArray) -> FloatArray:
        left, right = across(weights), down(weights)
        n = weights.sum(axis=1)
        return _correlation(
            (weights * left * right).sum(axis=1),
            (weights * left**2).sum(axis=1),
            (weights * right**2).sum(axis=1),
            n,
        )

    return value


def kendall_statistic(x: FloatArray, y: FloatArray) -> Statistic:
    """Kendall's tau-b of two raters as a function of the weights of cases."""
    across, down = (np.sign(np.subtract.outer(side, side)) for side in (x, y))
    concordance, untied_x, untied_y = across * down, np.abs(across), np.abs(down)

    def value(weights: FloatArray) -> FloatArray:
        shared, left, right = (
            ((weights @ form) * weights).sum(axis=1) for form in (concordance, untied_x, untied_y)
        )
        return _correlation(shared, left, right, np.ones(len(weights)))

    return value


def _estimate(
    ratings: Ratings,
    statistic: PairStatistic,
    method: str,
    bootstrap: Bootstrap,
    raters: Raters | None,
    basis: Basis = RANKS,
) -> Estimate:
    grid = pair_matrix(ratings, raters, by=bootstrap.by).numbers(method)
    return pair_estimate(
        grid,
        statistic,
        bootstrap,
        method=method,
        otherwise=FLAT,
        link=CORRELATION,
        population=lambda trait: trait.mean_over_pairs(statistic),
        basis=basis,
    )


def _standard(values: FloatArray) -> FloatArray:
    """Centred and scaled, so that a flat resample can be told from rounding."""
    centred = values - values.mean()
    return centred / max(float(np.abs(centred).max()), 1e-300)


def _ranker(values: FloatArray) -> Statistic:
    """From weights to the mean rank of each case, centred on the middle rank."""
    scale, code = np.unique(values, return_inverse=True)
    member = np.eye(len(scale))[code]

    def ranks(weights: FloatArray) -> FloatArray:
        used = weights @ member
        middle = used.cumsum(axis=1) - used / 2 - used.sum(axis=1, keepdims=True) / 2
        return middle[:, code]

    return ranks


def _correlation(shared: FloatArray, left: FloatArray, right: FloatArray, n: FloatArray) -> FloatArray:
    """Covariance over the root of the variances; NaN where either is zero but for rounding."""
    moving = (left > 1e-12 * n) & (right > 1e-12 * n)
    bottom = np.sqrt(np.where(moving, left, 1.0)) * np.sqrt(np.where(moving, right, 1.0))
    return np.where(moving, np.clip(shared / bottom, -1.0, 1.0), np.nan)
