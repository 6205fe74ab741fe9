"""Percent agreement: how often two ratings of a case are the same."""

import numpy as np

from .bootstrap import Bootstrap, Statistic
from .chance import tally
from .estimate import Estimate, undefined
from .holding import SHARES
from .jackknife import PLAIN_SHARE
from .matrix import FloatArray, Ratings, matrix, on_scale
from .proportion import wilson

METHOD = "percent agreement"


def percent_agreement(
    ratings: Ratings, *, confidence: float = 0.95, bootstrap: Bootstrap | None = None
) -> Estimate:
    """The share of pairs of ratings that are equal, averaged over cases; between 0 and 1.

    The interval is Wilson's, with the number of cases that would give the spread seen: more than two
    raters make a case's share less noisy than a coin. Their spread is known from the cases alone, so Student's t is its reach.

    Missing ratings: cases with fewer than two are left out.

    Args:
        ratings: Columns `case`, `rater`, `value`.
        bootstrap: Resample cases instead of using Wilson's interval.

    Returns:
        The estimate; `n` counts cases with two ratings or more. NaN when there is none.
    """
    grid, scale = on_scale(matrix(ratings, by=bootstrap.by if bootstrap else "case").pairable())
    n = len(grid.cases)
    if n == 0:
        level = bootstrap.confidence if bootstrap else confidence
        return undefined("no case has two ratings", method=METHOD, confidence=level)

    def coefficient(values: FloatArray) -> Statistic:
        agreement = tally(values, scale, np.eye(len(scale))).agreement
        return lambda weights: weights @ agreement / weights.sum(axis=1)

    if bootstrap:
        return bootstrap.estimate(
            coefficient,
            grid,
            method=METHOD,
            otherwise="no case has two ratings",
            link=PLAIN_SHARE,
            population=lambda trait: trait.mean_over_pairs(_share_equal),
            basis=SHARES,
        )
    agreement = tally(grid.values, scale, np.eye(len(scale))).agreement
    value = float(agreement.mean())
    variance = float(agreement.var(ddof=1)) / n if n > 1 else 0.0
    effective = value * (1 - value) / variance if variance > 0 else float(n)
    # Two raters agree on a case or do not, so that the share itself tells the spread.
    freedom = n - 1 if variance > 0 and len(grid.raters) > 2 else np.inf
    low, high = wilson(value, effective, confidence, freedom)
    return Estimate(value, low, high, n, f"{METHOD}; Wilson interval", confidence)


def _share_equal(x: FloatArray, y: FloatArray) -> Statistic:
    """How often two raters agree as a function of the weights of cases."""
    return lambda weights: weights @ (x == y) / weights.sum(axis=1)
