"""Many tests at once."""

from collections.abc import Sequence

import numpy as np

from .matrix import FloatArray


def holm(p_values: Sequence[float]) -> FloatArray:
    """Holm's step-down p-values; NaN stays NaN and counts as no test.

    References:
        Holm (1979), Scandinavian Journal of Statistics 6:65-70.
    """
    p = np.asarray(p_values, dtype=float)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    corrected = np.full(len(p), np.nan)
    steps = (len(order) - np.arange(len(order))) * p[order]
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0) if len(order) else steps
    return corrected
