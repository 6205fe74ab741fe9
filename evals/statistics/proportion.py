"""Intervals for a share of cases."""

from functools import lru_cache

import numpy as np
from scipy.special import bdtr, betaincinv, betaln, ndtri, stdtrit

from .estimate import Estimate, undefined
from .matrix import FloatArray, IntArray


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


def credible(failures: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """The equal-tailed interval of a rate's posterior, Beta(1 + failures, 1 + n - failures)."""
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    low, high = betaincinv(1 + failures, 1 + n - failures, tails)
    return float(low), float(high)


@lru_cache(maxsize=10_000)
def chance_lower(first: tuple[int, int], second: tuple[int, int]) -> float:
    """The posterior probability that the first's rate is below the second's; each is failures of n.

    The two posteriors are taken as independent. Exact: with whole-number parameters the integral is a sum.

    References:
        Cook (2005), "Exact calculation of beta inequalities", UT MD Anderson technical report.
    """
    (k, n), (m, total) = first, second
    a, b, c, d = 1 + k, 1 + n - k, 1 + m, 1 + total - m
    i = np.arange(c)
    terms = betaln(a + i, b + d) - np.log(d + i) - betaln(1 + i, d) - betaln(a, b)
    return float(np.clip(np.exp(terms).sum(), 0.0, 1.0))


@lru_cache(maxsize=10_000)
def paired_p(only_first: int, only_second: int) -> float:
    """McNemar's exact two-sided p: whether failures that one has and the other has not fall evenly; 1 without any.

    References:
        McNemar (1947), Psychometrika 12:153-157.
    """
    n = only_first + only_second
    return float(min(1.0, 2 * bdtr(min(only_first, only_second), n, 0.5))) if n else 1.0


WIN_RATE = "win rate; Wilson interval, with the number of comparisons adjusted because comparisons of one case are not independent"


def win_rate(shares: FloatArray, cluster: IntArray, *, confidence: float = 0.95) -> Estimate:
    """The mean of `shares` (1 won, 0 lost, 0.5 a tie, or the probability of winning), comparisons of one case together.

    With one comparison a case `se` is the standard error of the mean, as AlpacaEval has it. The interval is Wilson's,
    which stays between 0 and 1 and has a width where every comparison was won.
    """
    n = len(shares)
    if not n:
        return undefined("nothing was compared", method=WIN_RATE, confidence=confidence)
    rate = float(shares.mean())
    cases = int(cluster.max()) + 1
    if cases < 2:
        note = "no interval: all comparisons are of one case"
        return Estimate(rate, np.nan, np.nan, n, WIN_RATE, confidence, note)
    deviations = np.bincount(cluster, shares - rate)
    error = float(np.sqrt(cases / (cases - 1) * (deviations**2).sum()) / n)
    size = rate * (1 - rate) / error**2 if error > 1e-12 else cases
    low, high = wilson(rate, size, confidence)
    return Estimate(rate, low, high, n, WIN_RATE, confidence, se=error)
