"""`within_one`: the share of pairs of ratings that lie within a point of each other."""

from __future__ import annotations

import numpy as np
import pandas as pd

from venire.plugin import SHARE, Coefficient, Estimate, FloatArray, Setting, Statistic, matrix

METHOD = "share of pairs within one point"


def estimate(ratings: pd.DataFrame, setting: Setting) -> Estimate:
    """The share in each case, averaged over the cases that two people or more rated, with the jackknife's interval over cases."""
    grid = matrix(ratings, by=setting.jackknife.by).numbers("within_one").pairable()
    return setting.jackknife.estimate(
        _mean_share, grid, method=METHOD, otherwise="no case has two ratings", transform=SHARE
    )


def _mean_share(values: FloatArray) -> Statistic:
    """From how often each case counts to the mean of their shares, for many weightings at once."""
    near = np.array([_share(row[~np.isnan(row)]) for row in values])
    return lambda weights: weights @ near / weights.sum(axis=1)


def _share(given: FloatArray) -> float:
    first, second = np.triu_indices(len(given), k=1)
    return float((np.abs(given[first] - given[second]) <= 1).mean())


within_one = Coefficient("within_one", estimate, range=(0.0, 1.0))
