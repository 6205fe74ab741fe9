"""Cohen's kappa, plain and weighted, and quadratic kappa of scores that need not be categories."""

from collections.abc import Sequence

import numpy as np

from .chance import Weighting, agreement_weights
from .estimate import Estimate
from .gate import RANKED_PAIRS, SQUARED_PAIRS
from .jackknife import CASES, FISHER, Jackknife
from .matrix import FloatArray, IntArray, Ratings, Value, on_scale
from .pairs import PairStatistic, Raters, pair_estimate, pair_matrix
from .weighted import OfSums, Statistic


def cohen_kappa(
    ratings: Ratings,
    *,
    jackknife: Jackknife = CASES,
    weighting: Weighting = "identity",
    raters: Raters | None = None,
    categories: Sequence[Value] | None = None,
) -> Estimate:
    """Agreement of two raters beyond what their own margins would give by chance.

    Linear and quadratic weights measure distance between the values themselves, so that a value nobody
    used still keeps its neighbours apart. With skewed margins kappa is low however often raters agree;
    read it beside AC1.

    Missing ratings: each pair of raters uses the cases both rated. More than two raters give the mean
    over pairs that share two cases or more.

    Args:
        ratings: Columns `case`, `rater`, `value`.
        weighting: `identity` for plain kappa; `linear`, `quadratic` or `ordinal` for partial credit.
        raters: The two to compare; None for all pairs.
        categories: The scale, in order; needed to weight text. None takes the values in use.

    Returns:
        The estimate. NaN when chance agreement is complete: both raters gave one and the same value.

    References:
        Cohen (1960), Educational and Psychological Measurement 20:37-46.
        Cohen (1968), Psychological Bulletin 70:213-220.
    """
    grid = pair_matrix(ratings, raters, by=jackknife.by)
    if weighting != "identity" and categories is None:
        grid = grid.numbers(f"{weighting} kappa")
    grid, scale = on_scale(grid, categories)
    name = "Cohen's kappa" if weighting == "identity" else f"Cohen's kappa, {weighting} weights"
    same = "both raters gave one and the same value throughout, so chance agreement is complete"
    return pair_estimate(
        grid,
        kappa_statistic(scale, weighting),
        jackknife,
        method=name,
        otherwise=same,
        transform=FISHER,
        gate=SQUARED_PAIRS if weighting == "quadratic" else RANKED_PAIRS,
        # Of two raters one case says 0 or nothing; a pair among many that shares one case would say it as loudly as the rest.
        least=1 if len(grid.raters) == 2 else 2,
    )


def kappa_statistic(scale: FloatArray, weighting: Weighting) -> PairStatistic:
    """Kappa of two raters as a function of the weights of cases."""
    apart = 1 - agreement_weights(scale, weighting)

    def statistic(x: FloatArray, y: FloatArray) -> Statistic:
        rows, columns = np.searchsorted(scale, x), np.searchsorted(scale, y)
        left, right = np.eye(len(scale))[rows], np.eye(len(scale))[columns]
        distance = apart[rows, columns]

        def value(weights: FloatArray) -> FloatArray:
            n = weights.sum(axis=1)
            observed = weights @ distance
            expected = (((weights @ left) @ apart) * (weights @ right)).sum(axis=1)
            ratio = np.full(len(weights), np.nan)
            np.divide(observed * n, expected, out=ratio, where=expected > 1e-12)
            return 1 - ratio

        return value

    return statistic


def concordance_statistic(x: FloatArray, y: FloatArray, stratum: IntArray | None = None) -> OfSums:
    """Twice the covariance over what the variances and the offset add up to, as a function of the weights of cases.

    With quadratic weights Cohen's kappa needs no categories: it is this, Lin's concordance with variances
    over n. NaN where both raters gave one and the same value. With strata, covariances, variances and offsets are
    taken within each and then added up: that strata differ in their means is no agreement.

    References:
        Krippendorff (1970), "Bivariate agreement coefficients for reliability of data".
        Lin (1989), "A concordance correlation coefficient to evaluate reproducibility", Biometrics 45:255-268.
    """
    middle = (x.mean() + y.mean()) / 2 if len(x) else 0.0
    x, y = x - middle, y - middle
    _, code = np.unique(np.zeros(len(x)) if stratum is None else stratum, return_inverse=True)
    strata = int(code.max(initial=0)) + 1
    within = np.stack([x, y, np.ones(len(x))], axis=1)[:, :, None] * np.eye(strata)[code][:, None, :]
    sums = np.column_stack([within.reshape(len(x), -1), x * y, x**2 + y**2])

    def value(total: FloatArray) -> FloatArray:
        # One row a sum, so that arithmetic runs along the many totals.
        columns = np.ascontiguousarray(total.T)
        (first, second, n), (both, squares) = columns[:-2].reshape(3, strata, -1), columns[-2:]
        # What the squares of means and of their difference add up to is twice their product.
        shared = (first * second / np.maximum(n, 1)).sum(axis=0)
        every = np.maximum(n.sum(axis=0), 1)
        top, bottom = 2 * (both - shared) / every, (squares - 2 * shared) / every
        return np.divide(top, bottom, out=np.full(len(total), np.nan), where=bottom > 1e-12)

    return OfSums(sums, value)
