"""An interval for ICC(2) that holds when a few raters differ much in level."""

from typing import Literal

import numpy as np
import pandas as pd

from .bootstrap import Bootstrap
from .estimate import Estimate
from .icc import F_HOLDS, NAMES, icc, icc_of, mean_squares
from .matrix import matrix


def absolute_icc(
    ratings: pd.DataFrame,
    *,
    rng: np.random.Generator,
    form: Literal["icc2", "icc2k"] = "icc2",
    bootstrap: Bootstrap | None = None,
) -> Estimate:
    """ICC(2,1) or ICC(2,k) with an interval that holds: the F interval up to twenty cases, the generalised one beyond.

    With `bootstrap`, cases are resampled instead, which takes the raters as given: it says nothing of others.
    """
    plain = icc(ratings, form=form, bootstrap=bootstrap)
    return plain if bootstrap or plain.n <= F_HOLDS else generalised_icc(ratings, rng=rng, form=form)


def generalised_icc(
    ratings: pd.DataFrame,
    *,
    rng: np.random.Generator,
    form: Literal["icc2", "icc2k"] = "icc2",
    draws: int = 10_000,
    confidence: float = 0.95,
) -> Estimate:
    """ICC(2,1) or ICC(2,k), with a generalised interval in place of the F interval.

    Each mean square is divided by a draw from its own chi-squared distribution, which gives draws of the
    variances of cases, raters and error, and of the coefficient they make. With three or four raters the
    interval is wide: that is what so few raters can say about raters in general.

    Missing ratings: only cases that every rater rated are used.

    References:
        Tian and Cappelleri (2004), Statistics in Medicine 23:2125-2135.
    """
    grid = matrix(ratings).numbers("the ICC").complete()
    plain = icc_of(grid, form=form, confidence=confidence)
    if not plain.defined:
        return plain
    n, k = grid.values.shape
    squares = mean_squares(grid.values)(np.ones((1, n)))
    freedom = (n - 1, k - 1, (n - 1) * (k - 1))
    cases, raters, error = (
        free * float(part[0]) / rng.chisquare(free, draws)
        for free, part in zip(freedom, (squares.cases, squares.raters, squares.error), strict=True)
    )
    between, level = np.maximum(cases - error, 0) / k, np.maximum(raters - error, 0) / n
    noise = (level + error) / (k if form == "icc2k" else 1)
    total = between + noise
    share = np.divide(between, total, out=np.zeros(draws), where=total > 0)
    low, high = np.quantile(share, [(1 - confidence) / 2, (1 + confidence) / 2])
    method = f"{NAMES[form]}; generalised interval, {draws} draws"
    return Estimate(plain.value, float(low), float(high), n, method, confidence)
