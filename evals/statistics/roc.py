"""ROC: how well one rater's scores rank the cases that a reference calls positive."""

import numpy as np
import pandas as pd

from .bootstrap import Bootstrap, Coefficient, Statistic
from .estimate import Estimate
from .matrix import FloatArray, Ratings
from .pairs import Raters, pair_matrix


def roc_auc(ratings: Ratings, *, raters: Raters, bootstrap: Bootstrap, positive: float = 1) -> Estimate:
    """The chance that a positive case scores above a negative one, ties counting half.

    Missing ratings: cases without both are left out.

    Args:
        ratings: Columns `case`, `rater`, `value`; the values are numbers.
        raters: The scoring rater, then the reference.
        positive: What the reference says of a positive case; anything else is negative.

    References:
        Hanley and McNeil (1982), Radiology 143:29-36.
    """
    grid = pair_matrix(ratings, raters, by=bootstrap.by).numbers("the ROC")
    one_sided = "the reference holds no positive case, or no negative one"
    return bootstrap.estimate(auc_coefficient(positive), grid, method="ROC AUC", otherwise=one_sided)


def roc_curve(ratings: Ratings, *, raters: Raters, positive: float = 1) -> pd.DataFrame:
    """Columns `threshold`, `false_positive_rate`, `true_positive_rate`, from the strictest threshold on.

    Rates without a case to count are NaN.
    """
    score, actual = pair_matrix(ratings, raters).numbers("the ROC").values.T
    thresholds = np.concatenate([[np.inf], np.unique(score)[::-1]])
    called = score >= thresholds[:, None]
    rates = {}
    for name, of in (("false_positive_rate", actual != positive), ("true_positive_rate", actual == positive)):
        rates[name] = (called & of).sum(axis=1) / of.sum() if of.any() else np.full(len(thresholds), np.nan)
    return pd.DataFrame({"threshold": thresholds, **rates})


def auc_coefficient(positive: float) -> Coefficient:
    """The area as a function of the weights of cases."""

    def coefficient(values: FloatArray) -> Statistic:
        scale, code = np.unique(values[:, 0], return_inverse=True)
        member = np.eye(len(scale))[code]
        actual = values[:, 1:] == positive
        yes, no = member * actual, member * ~actual

        def area(weights: FloatArray) -> FloatArray:
            above, below = weights @ yes, weights @ no
            beaten = (above * (below.cumsum(axis=1) - below / 2)).sum(axis=1)
            pairs = above.sum(axis=1) * below.sum(axis=1)
            return np.divide(beaten, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)

        return area

    return coefficient
