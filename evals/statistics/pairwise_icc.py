"""Agreement between raters on their own scales: z-scored, and pair by pair."""

import numpy as np

from .bootstrap import Bootstrap, Coefficient, Statistic
from .correlation import FLAT, pearson_statistic
from .estimate import Estimate, undefined
from .holding import SQUARES
from .icc import Form, icc_coefficient
from .jackknife import RELIABILITY
from .matrix import FloatArray, Ratings, matrix
from .pairs import pair_estimate


def zscored_icc(ratings: Ratings, *, bootstrap: Bootstrap) -> Estimate:
    """ICC(3,k) after each rater's ratings are brought to mean 0 and variance 1.

    Takes out harshness and spread, and leaves order and shape. Z-scores are made anew in each resample,
    so the interval owns up to them.

    Missing ratings: only cases that every rater rated are used.

    Returns:
        The estimate; `n` counts complete cases. NaN when a rater gave one value throughout.

    References:
        Bedi et al. (2025), MedHELM, "Clinician-LLM agreement".
    """
    everyone = matrix(ratings, by=bootstrap.by).numbers("the ICC")
    grid = everyone.complete()
    method, n = "ICC(3,k) after z-scoring within rater", len(grid.cases)
    if len(grid.raters) < 2 or n < 2:
        few = (
            "fewer than two raters"
            if len(grid.raters) < 2
            else f"{n} case(s) rated by every rater; two are needed"
        )
        return undefined(few, method=method, n=n, confidence=bootstrap.confidence)
    return bootstrap.estimate(
        zscored_coefficient(),
        grid,
        method=method,
        otherwise=FLAT,
        link=RELIABILITY,
        population=lambda trait: _stepped_up(trait.mean_over_pairs(pearson_statistic), trait.raters),
        everyone=everyone,
        basis=SQUARES,
    )


def pairwise_icc(ratings: Ratings, *, bootstrap: Bootstrap, zscore: bool = True) -> Estimate:
    """The mean over pairs of raters of their ICC(3,k), k = 2: what one colleague's word is worth to another.

    Missing ratings: a pair uses the cases both rated and takes part when there are two or more, so this
    serves designs in which no case was rated by everyone.

    References:
        Bedi et al. (2025), MedHELM, "Clinician-LLM agreement".
    """
    grid = matrix(ratings, by=bootstrap.by).numbers("the ICC")
    named = "pairwise ICC(3,k)" + (" after z-scoring within rater and pair" if zscore else "")
    statistic = _zscored_pair if zscore else _plain_pair
    return pair_estimate(
        grid,
        statistic,
        bootstrap,
        method=named,
        otherwise=FLAT,
        link=RELIABILITY,
        population=lambda trait: trait.mean_over_pairs(statistic),
        basis=SQUARES,
    )


def zscored_coefficient() -> Coefficient:
    """ICC(3,k) of z-scores as a function of the weights of complete cases.

    For ratings of unit variance the mean squares are functions of the mean correlation r alone, and the
    ICC is k r / (1 + (k - 1) r).
    """

    def coefficient(values: FloatArray) -> Statistic:
        k = values.shape[1]
        left, right = np.triu_indices(k, 1)
        parts = [pearson_statistic(values[:, i], values[:, j]) for i, j in zip(left, right, strict=True)]

        def value(weights: FloatArray) -> FloatArray:
            mean = np.mean([part(weights) for part in parts], axis=0)
            return _stepped_up(mean, k)

        return value

    return coefficient


def _zscored_pair(x: FloatArray, y: FloatArray) -> Statistic:
    inner = pearson_statistic(x, y)
    return lambda weights: _stepped_up(inner(weights), 2)


def _plain_pair(x: FloatArray, y: FloatArray) -> Statistic:
    form: Form = "icc3k"
    return icc_coefficient(form)(np.column_stack([x, y]))


def _stepped_up(mean: FloatArray, k: int) -> FloatArray:
    """The reliability of k raters from that of one; NaN where raters mirror each other exactly."""
    bottom = 1 + (k - 1) * mean
    return np.divide(k * mean, bottom, out=np.full_like(mean, np.nan), where=bottom > 1e-12)
