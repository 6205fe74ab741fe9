"""Rates as posteriors: a flat prior, a number of failures, and how sure one rate is below another."""

from functools import lru_cache

import numpy as np
from scipy.special import bdtr, betaincinv, betaln

METHOD = "beta-binomial posterior, flat prior"


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
