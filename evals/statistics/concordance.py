"""Quadratic kappa of scores that need not be categories."""

import numpy as np

from .bootstrap import OfSums
from .matrix import FloatArray, IntArray


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
