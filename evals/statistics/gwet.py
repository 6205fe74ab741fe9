"""Gwet's AC1 and AC2: agreement beyond chance that does not collapse when one value dominates."""

from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from .bootstrap import Bootstrap, Coefficient
from .chance import chance_corrected, standard_error
from .estimate import Estimate, undefined
from .holding import SHARES, SQUARED_SHARES
from .jackknife import CORRELATION
from .matrix import FloatArray, Ratings, Value, matrix, on_scale
from .weights import Weighting, agreement_weights


def gwet_ac(
    ratings: Ratings,
    *,
    weighting: Weighting = "identity",
    categories: Sequence[Value] | None = None,
    confidence: float = 0.95,
    bootstrap: Bootstrap | None = None,
) -> Estimate:
    """AC1 (identity weights) or AC2 (any other), with Gwet's standard error and Student's t interval.

    Missing ratings: a case with two ratings or more counts for agreement; a case with one still counts
    for how often each value is used.

    Args:
        ratings: Columns `case`, `rater`, `value`.
        weighting: Partial credit for near misses; anything but `identity` needs an order.
        categories: The scale. Give it: chance agreement falls as the scale grows, used or not.
        bootstrap: Resample cases instead of using the standard error.

    Returns:
        The estimate; `n` counts cases with two ratings or more. NaN when there is none, or when the
        scale has a single value.

    References:
        Gwet (2008), British Journal of Mathematical and Statistical Psychology 61:29-48.
    """
    grid = matrix(ratings, by=bootstrap.by if bootstrap else "case")
    if weighting != "identity" and categories is None:
        grid = grid.numbers("AC2")
    grid, scale = on_scale(grid, categories)
    name = "Gwet's AC1" if weighting == "identity" else f"Gwet's AC2, {weighting} weights"
    n = len(grid.pairable().cases)
    confidence = bootstrap.confidence if bootstrap else confidence
    if n == 0 or len(scale) < 2:
        why = (
            "no case has two ratings"
            if n == 0
            else "only one value was ever used; give the scale's categories"
        )
        return undefined(why, method=name, n=n, confidence=confidence)
    coefficient = ac_coefficient(scale, weighting)
    if bootstrap:
        return bootstrap.estimate(
            coefficient,
            grid,
            method=name,
            otherwise="chance agreement is complete",
            n=n,
            link=CORRELATION,
            population=lambda trait: trait.of_pairs(ac_coefficient(scale, weighting)),
            basis=SQUARED_SHARES if weighting == "quadratic" else SHARES,
        )
    weights = agreement_weights(scale, weighting)
    value = float(coefficient(grid.values)(np.ones((1, len(grid.cases))))[0])
    se = standard_error(grid.values, scale, weights, _chance)
    if np.isnan(se):
        return Estimate(value, np.nan, np.nan, n, name, confidence, "no interval: one case has no spread")
    reach = float(stdtrit(len(grid.cases) - 1, (1 + confidence) / 2)) * se
    low, high = min(max(value - reach, -1.0), value), min(value + reach, 1.0)
    return Estimate(value, low, high, n, f"{name}; linearised t interval", confidence, se=se)


def ac_coefficient(scale: FloatArray, weighting: Weighting) -> Coefficient:
    """AC1 or AC2 on `scale` as a function of the weights of cases."""
    weights = agreement_weights(scale, weighting)
    return lambda values: chance_corrected(values, scale, weights, _chance)


def _chance(own: FloatArray, overall: FloatArray, weights: FloatArray) -> FloatArray:
    q = len(weights)
    return weights.sum() / (q * (q - 1)) * (own * (1 - overall)).sum(axis=1)
