"""Fleiss' kappa: nominal agreement of many raters beyond chance."""

import numpy as np
from scipy.special import stdtrit

from .bootstrap import Bootstrap, Coefficient
from .chance import chance_corrected, standard_error
from .estimate import Estimate, undefined
from .jackknife import CORRELATION
from .matrix import FloatArray, Ratings, matrix, on_scale

METHOD = "Fleiss' kappa"


def fleiss_kappa(
    ratings: Ratings, *, confidence: float = 0.95, bootstrap: Bootstrap | None = None
) -> Estimate:
    """Fleiss' kappa, with a linearised standard error and Student's t interval.

    Missing ratings: Gwet's generalisation. A case with two ratings or more counts for agreement, a case
    with one still counts for how often each value is used. With as many ratings for every case this is
    the coefficient of 1971.

    Args:
        ratings: Columns `case`, `rater`, `value`.
        bootstrap: Resample cases instead of using the standard error.

    Returns:
        The estimate; `n` counts cases with two ratings or more. NaN when there is none or only one value
        was ever used.

    References:
        Fleiss (1971), Psychological Bulletin 76:378-382; Gwet (2014), Handbook, chapter 2.
    """
    grid = matrix(ratings, by=bootstrap.by if bootstrap else "case")
    grid, scale = on_scale(grid)
    n = len(grid.pairable().cases)
    confidence = bootstrap.confidence if bootstrap else confidence
    if n == 0 or len(scale) < 2:
        why = "no case has two ratings" if n == 0 else "only one value was ever used"
        return undefined(why, method=METHOD, n=n, confidence=confidence)
    if bootstrap:
        return bootstrap.estimate(
            fleiss_coefficient(scale),
            grid,
            method=METHOD,
            otherwise="chance agreement is complete",
            n=n,
            link=CORRELATION,
            population=lambda trait: trait.of_pairs(fleiss_coefficient(trait.scale)),
        )
    value = float(fleiss_coefficient(scale)(grid.values)(np.ones((1, len(grid.cases))))[0])
    se = standard_error(grid.values, scale, np.eye(len(scale)), _chance)
    if np.isnan(se):
        return Estimate(value, np.nan, np.nan, n, METHOD, confidence, "no interval: one case has no spread")
    reach = float(stdtrit(len(grid.cases) - 1, (1 + confidence) / 2)) * se
    low, high = min(max(value - reach, -1.0), value), min(value + reach, 1.0)
    return Estimate(value, low, high, n, f"{METHOD}; linearised t interval", confidence, se=se)


def fleiss_coefficient(scale: FloatArray) -> Coefficient:
    """Fleiss' kappa on `scale` as a function of the weights of cases."""
    return lambda values: chance_corrected(values, scale, np.eye(len(scale)), _chance)


def _chance(own: FloatArray, overall: FloatArray, weights: FloatArray) -> FloatArray:
    return ((own @ weights) * overall).sum(axis=1)
