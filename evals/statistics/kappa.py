"""Cohen's kappa, plain and weighted."""

from collections.abc import Sequence

import numpy as np

from .bootstrap import Bootstrap, Statistic
from .estimate import Estimate
from .holding import COUNTS, SQUARES
from .jackknife import CORRELATION, MEAN_OF_PAIRS
from .matrix import FloatArray, Ratings, Value, on_scale
from .pairs import PairStatistic, Raters, pair_estimate, pair_matrix
from .weights import Weighting, agreement_weights


def cohen_kappa(
    ratings: Ratings,
    *,
    bootstrap: Bootstrap,
    weighting: Weighting = "identity",
    raters: Raters | None = None,
    categories: Sequence[Value] | None = None,
) -> Estimate:
    """Agreement of two raters beyond what their own margins would give by chance.

    Linear and quadratic weights measure distance between the values themselves, so that a value nobody
    used still keeps its neighbours apart. With skewed margins kappa is low however often raters agree;
    read it beside AC1.

    Missing ratings: each pair of raters uses the cases both rated. More than two raters give the mean
    over pairs that share two cases or more.

    Args:
        ratings: Columns `case`, `rater`, `value`.
        weighting: `identity` for plain kappa; `linear`, `quadratic` or `ordinal` for partial credit.
        raters: The two to compare; None for all pairs.
        categories: The scale, in order; needed to weight text. None takes the values in use.

    Returns:
        The estimate. NaN when chance agreement is complete: both raters gave one and the same value.

    References:
        Cohen (1960), Educational and Psychological Measurement 20:37-46.
        Cohen (1968), Psychological Bulletin 70:213-220.
    """
    grid = pair_matrix(ratings, raters, by=bootstrap.by)
    if weighting != "identity" and categories is None:
        grid = grid.numbers(f"{weighting} kappa")
    grid, scale = on_scale(grid, categories)
    name = "Cohen's kappa" if weighting == "identity" else f"Cohen's kappa, {weighting} weights"
    same = "both raters gave one and the same value throughout, so chance agreement is complete"
    return pair_estimate(
        grid,
        kappa_statistic(scale, weighting),
        bootstrap,
        method=name,
        otherwise=same,
        link=CORRELATION if len(grid.raters) == 2 else MEAN_OF_PAIRS,
        # Of two raters one case says 0 or nothing; a pair among many that shares one case would say it as loudly as the rest.
        least=1 if len(grid.raters) == 2 else 2,
        population=lambda trait: trait.mean_over_pairs(kappa_statistic(trait.scale, weighting)),
        basis=SQUARES if weighting == "quadratic" else COUNTS,
    )


def kappa_statistic(scale: FloatArray, weighting: Weighting) -> PairStatistic:
    """Kappa of two raters as a function of the weights of cases."""
    apart = 1 - agreement_weights(scale, weighting)

    def statistic(x: FloatArray, y: FloatArray) -> Statistic:
        rows, columns = np.searchsorted(scale, x), np.searchsorted(scale, y)
        left, right = np.eye(len(scale))[rows], np.eye(len(scale))[columns]
        distance = apart[rows, columns]

        def value(weights: FloatArray) -> FloatArray:
            n = weights.sum(axis=1)
            observed = weights @ distance
            expected = (((weights @ left) @ apart) * (weights @ right)).sum(axis=1)
            ratio = np.full(len(weights), np.nan)
            np.divide(observed * n, expected, out=ratio, where=expected > 1e-12)
            return 1 - ratio

        return value

    return statistic
