"""How much credit two values on a scale earn for being close."""

from typing import Literal

import numpy as np

from .matrix import FloatArray

Weighting = Literal["identity", "linear", "quadratic", "ordinal"]


def agreement_weights(scale: FloatArray, weighting: Weighting) -> FloatArray:
    """The weight of each pair of values: 1 when equal, 0 when as far apart as the scale allows.

    `linear` and `quadratic` go by the distance between values, `ordinal` by the number of pairs of
    ranks that lie between them, `identity` gives no partial credit.

    References:
        Gwet (2014), "Handbook of Inter-Rater Reliability", 4th ed., chapter 3.
    """
    q = len(scale)
    if weighting == "identity" or q < 2:
        return np.eye(q)
    if weighting == "ordinal":
        steps = np.abs(np.subtract.outer(np.arange(q), np.arange(q)))
        apart = steps * (steps + 1) / 2
    else:
        apart = np.abs(np.subtract.outer(scale, scale))
    return 1 - (apart / apart.max()) ** (2 if weighting == "quadratic" else 1)
