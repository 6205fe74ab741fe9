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
    terms = np.column_stack([x, y, x * y, x**2, y**2, np.ones(len(x))])
    _, code = np.unique(np.zeros(len(x)) if stratum is None else stratum, return_inverse=True)
    strata = int(code.max(initial=0)) + 1
    sums = (terms[:, :, None] * np.eye(strata)[code][:, None, :]).reshape(len(x), -1)

    def value(total: FloatArray) -> FloatArray:
        first, second, both, left, right, n = np.moveaxis(total.reshape(len(total), 6, strata), 1, 0)
        size = np.maximum(n, 1)
        shared = both - first * second / size
        apart = left - first**2 / size + right - second**2 / size + (first - second) ** 2 / size
        top, bottom, every = shared.sum(axis=1), apart.sum(axis=1), np.maximum(n.sum(axis=1), 1)
        return np.divide(
            2 * top / every, bottom / every, out=np.full(len(total), np.nan), where=bottom / every > 1e-12
        )

    return OfSums(sums, value)
