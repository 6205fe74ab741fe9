"""Intervals for a share of cases."""

import numpy as np
from scipy.special import ndtri


def wilson(share: float, n: float, confidence: float) -> tuple[float, float]:
    """The score interval of a proportion, which stays sensible at 0 and 1 where Wald's has no width.

    References:
        Wilson (1927), JASA 22:209-212.
    """
    z = float(ndtri((1 + confidence) / 2))
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    low = 0.0 if share == 0 else float(middle - reach)
    return low, 1.0 if share == 1 else float(middle + reach)
