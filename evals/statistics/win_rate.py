"""A win rate with its standard error and interval."""

import numpy as np

from .estimate import Estimate, undefined
from .matrix import FloatArray, IntArray
from .proportion import wilson

METHOD = "win rate; Wilson interval at the number of comparisons that the standard error stands for"


def win_rate(shares: FloatArray, cluster: IntArray, *, confidence: float = 0.95) -> Estimate:
    """The mean of `shares` (1 won, 0 lost, 0.5 a tie, or the probability of winning), comparisons of one case together.

    With one comparison a case `se` is the standard error of the mean, as AlpacaEval has it. The interval is Wilson's,
    which stays between 0 and 1 and has a width where every comparison was won.
    """
    n = len(shares)
    if not n:
        return undefined("nothing was compared", method=METHOD, confidence=confidence)
    rate = float(shares.mean())
    cases = int(cluster.max()) + 1
    if cases < 2:
        note = "no interval: comparisons of one case alone"
        return Estimate(rate, np.nan, np.nan, n, METHOD, confidence, note)
    apart = np.bincount(cluster, shares - rate)
    error = float(np.sqrt(cases / (cases - 1) * (apart**2).sum()) / n)
    size = rate * (1 - rate) / error**2 if error > 1e-12 else cases
    low, high = wilson(rate, size, confidence)
    return Estimate(rate, low, high, n, METHOD, confidence, se=error)
