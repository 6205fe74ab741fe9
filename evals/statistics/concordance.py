"""Quadratic kappa of scores that need not be categories."""

import numpy as np

from .bootstrap import OfSums
from .matrix import FloatArray


def concordance_statistic(x: FloatArray, y: FloatArray) -> OfSums:
    """Twice the covariance over what the variances and the offset add up to, as a function of the weights of cases.

    With quadratic weights Cohen's kappa needs no categories: it is this, Lin's concordance with variances
    over n. NaN where both raters gave one and the same value.

    References:
        Krippendorff (1970), "Bivariate agreement coefficients for reliability of data".
        Lin (1989), "A concordance correlation coefficient to evaluate reproducibility", Biometrics 45:255-268.
    """
    middle = (x.mean() + y.mean()) / 2 if len(x) else 0.0
    x, y = x - middle, y - middle
    sums = np.column_stack([x, y, x * y, x**2, y**2, np.ones(len(x))])

    def value(total: FloatArray) -> FloatArray:
        n = np.maximum(total[:, 5], 1)
        across, down = total[:, 0] / n, total[:, 1] / n
        shared = total[:, 2] / n - across * down
        apart = total[:, 3] / n - across**2 + total[:, 4] / n - down**2 + (across - down) ** 2
        return np.divide(2 * shared, apart, out=np.full(len(total), np.nan), where=apart > 1e-12)

    return OfSums(sums, value)
