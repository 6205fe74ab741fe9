"""Intervals for a share of cases."""

import numpy as np
from scipy.special import ndtri, stdtrit


def wilson(share: float, n: float, confidence: float, freedom: float = np.inf) -> tuple[float, float]:
    """The score interval of a proportion, which stays sensible at 0 and 1 where Wald's has no width.

    `freedom` are the degrees of freedom of the spread from which `n` is known, where it is no count.

    References:
        Wilson (1927), JASA 22:209-212.
    """
    upper = (1 + confidence) / 2
    z = float(ndtri(upper) if np.isinf(freedom) else stdtrit(freedom, upper))
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    low = 0.0 if share == 0 else float(middle - reach)
    return low, 1.0 if share == 1 else float(middle + reach)
