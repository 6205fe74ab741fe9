"""An interval for ICC(2) that holds when a few raters differ much in level."""

import numpy as np

DRAWS = 10_000


def generalised_bounds(
    cases: float,
    raters: float,
    error: float,
    *,
    n: int,
    k: int,
    mean: bool,
    confidence: float,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """The bounds of ICC(2,1), or of ICC(2,k) for the `mean` of raters, from the mean squares of n cases and k raters.

    Each mean square is divided by a draw from its own chi-squared distribution, which gives draws of the
    variances of cases, raters and error, and of the coefficient they make. With three or four raters the
    interval is wide: that is what so few raters can say about raters in general.

    References:
        Tian and Cappelleri (2004), Statistics in Medicine 23:2125-2135.
    """
    freedom = (n - 1, k - 1, (n - 1) * (k - 1))
    of_cases, of_raters, of_error = (
        free * square / rng.chisquare(free, DRAWS)
        for free, square in zip(freedom, (cases, raters, error), strict=True)
    )
    between, level = np.maximum(of_cases - of_error, 0) / k, np.maximum(of_raters - of_error, 0) / n
    total = between + (level + of_error) / (k if mean else 1)
    share = np.divide(between, total, out=np.zeros(DRAWS), where=total > 0)
    low, high = np.quantile(share, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
