"""Agreement case by case, alone and set against chance: percent, Fleiss' kappa, Gwet's AC1 and AC2, Cohen's kappa plain and weighted."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from .estimate import Estimate, undefined
from .gate import OPEN, RANKED, RANKED_PAIRS, SQUARED_PAIRS
from .jackknife import CASES, FISHER, SHARE, Jackknife
from .matrix import FloatArray, IntArray, Ratings, Value, matrix, on_scale
from .pairs import PairStatistic, Raters, pair_estimate, pair_matrix
from .weighted import Coefficient, OfSums, Statistic

Weighting = Literal["identity", "linear", "quadratic", "ordinal"]
Chance = Callable[[FloatArray, FloatArray], FloatArray]
"""Chance agreement of ratings spread over the values as each row says, under the weights."""
COMPLETE = "chance agreement is complete"


def percent_agreement(ratings: Ratings, *, jackknife: Jackknife = CASES) -> Estimate:
    """The share of pairs of ratings that are equal, averaged over cases; between 0 and 1.

    Missing ratings: cases with fewer than two are left out.

    Args:
        ratings: Columns `case`, `rater`, `value`.

    Returns:
        The estimate; `n` counts cases with two ratings or more. NaN when there is none.
    """
    grid, scale = on_scale(matrix(ratings, by=jackknife.by).pairable())
    return jackknife.estimate(
        lambda values: _mean_agreement(values, scale),
        grid,
        method="percent agreement",
        otherwise="no case has two ratings",
        transform=SHARE,
        gate=OPEN,
    )


def fleiss_kappa(ratings: Ratings, *, jackknife: Jackknife = CASES) -> Estimate:
    """Fleiss' kappa: nominal agreement of many raters beyond chance.

    Missing ratings: Gwet's generalisation. A case with two ratings or more counts for agreement, a case
    with one still counts for how often each value is used. With as many ratings for every case this is
    the coefficient of 1971.

    Args:
        ratings: Columns `case`, `rater`, `value`.

    Returns:
        The estimate; `n` counts cases with two ratings or more. NaN when there is none or only one value
        was ever used.

    References:
        Fleiss (1971), Psychological Bulletin 76:378-382; Gwet (2014), Handbook, chapter 2.
    """
    grid, scale = on_scale(matrix(ratings, by=jackknife.by))
    method, n = "Fleiss' kappa", len(grid.pairable().cases)
    if n == 0 or len(scale) < 2:
        reason = "no case has two ratings" if n == 0 else "all ratings have the same value"
        return undefined(reason, method=method, n=n, confidence=jackknife.confidence)
    return jackknife.estimate(
        fleiss_coefficient(scale), grid, method=method, otherwise=COMPLETE, transform=FISHER, gate=RANKED, n=n
    )


def gwet_ac(
    ratings: Ratings,
    *,
    weighting: Weighting = "identity",
    categories: Sequence[Value] | None = None,
    jackknife: Jackknife = CASES,
) -> Estimate:
    """AC1 (identity weights) or AC2 (any other): agreement beyond chance that does not collapse when one value dominates.

    Missing ratings: a case with two ratings or more counts for agreement; a case with one still counts
    for how often each value is used.

    Args:
        ratings: Columns `case`, `rater`, `value`.
        weighting: Partial credit for near misses; anything but `identity` needs an order.
        categories: The scale. Give it: chance agreement falls as the scale grows, used or not.

    Returns:
        The estimate; `n` counts cases with two ratings or more. NaN when there is none, or when the
        scale has a single value.

    References:
        Gwet (2008), British Journal of Mathematical and Statistical Psychology 61:29-48.
    """
    grid = matrix(ratings, by=jackknife.by)
    if weighting != "identity" and categories is None:
        grid = grid.numbers("AC2")
    grid, scale = on_scale(grid, categories)
    name = "Gwet's AC1" if weighting == "identity" else f"Gwet's AC2, {weighting} weights"
    n = len(grid.pairable().cases)
    if n == 0 or len(scale) < 2:
        reason = (
            "no case has two ratings"
            if n == 0
            else "all ratings have the same value; give the scale's categories"
        )
        return undefined(reason, method=name, n=n, confidence=jackknife.confidence)
    return jackknife.estimate(
        ac_coefficient(scale, weighting),
        grid,
        method=name,
        otherwise=COMPLETE,
        transform=FISHER,
        gate=OPEN,
        n=n,
    )


def fleiss_coefficient(scale: FloatArray) -> Coefficient:
    """Fleiss' kappa on `scale` as a function of the weights of cases."""
    return lambda values: _chance_corrected(values, scale, np.eye(len(scale)), _fleiss_chance)


def ac_coefficient(scale: FloatArray, weighting: Weighting) -> Coefficient:
    """AC1 or AC2 on `scale` as a function of the weights of cases."""
    weights = agreement_weights(scale, weighting)
    return lambda values: _chance_corrected(values, scale, weights, _gwet_chance)


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
        distances = steps * (steps + 1) / 2
    else:
        distances = np.abs(np.subtract.outer(scale, scale))
    return 1 - (distances / distances.max()) ** (2 if weighting == "quadratic" else 1)


class CaseTotals(NamedTuple):
    """What each case adds to the totals."""

    shares: FloatArray
    """The share of a case's ratings in each category."""
    agreement: FloatArray
    """The weighted share of its pairs of ratings that agree; 0 where there is no pair."""
    paired: FloatArray
    """1 where a case has two ratings or more, otherwise 0."""


def _case_totals(values: FloatArray, scale: FloatArray, weights: FloatArray) -> CaseTotals:
    counts = (values[:, :, None] == scale).sum(axis=1).astype(float)
    ratings = counts.sum(axis=1)
    is_paired = ratings >= 2
    pairs = np.where(is_paired, ratings * (ratings - 1), 1)
    agreement = (counts * (counts @ weights - 1)).sum(axis=1) / pairs
    return CaseTotals(counts / ratings[:, None], np.where(is_paired, agreement, 0.0), is_paired.astype(float))


def _mean_agreement(values: FloatArray, scale: FloatArray) -> OfSums:
    agreement = _case_totals(values, scale, np.eye(len(scale))).agreement
    return OfSums(
        np.column_stack([agreement, np.ones(len(values))]), lambda total: _ratio(total[:, 0], total[:, 1])
    )


def _chance_corrected(
    values: FloatArray, scale: FloatArray, weights: FloatArray, chance: Chance
) -> Statistic:
    """(observed - chance) / (1 - chance) as a function of the weights of cases."""
    shares, agreement, is_paired = _case_totals(values, scale, weights)
    sums = np.column_stack([is_paired, agreement, np.ones(len(is_paired)), shares])

    def value(total: FloatArray) -> FloatArray:
        observed = _ratio(total[:, 1], total[:, 0])
        expected = chance(total[:, 3:] / total[:, 2:3], weights)
        return _ratio(observed - expected, 1 - expected)

    return OfSums(sums, value)


def _fleiss_chance(shares: FloatArray, weights: FloatArray) -> FloatArray:
    return ((shares @ weights) * shares).sum(axis=1)


def _gwet_chance(shares: FloatArray, weights: FloatArray) -> FloatArray:
    q = len(weights)
    return weights.sum() / (q * (q - 1)) * (shares * (1 - shares)).sum(axis=1)


def _ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    return np.divide(top, bottom, out=np.full_like(top, np.nan), where=np.abs(bottom) > 1e-12)


def cohen_kappa(
    ratings: Ratings,
    *,
    jackknife: Jackknife = CASES,
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
    grid = pair_matrix(ratings, raters, by=jackknife.by)
    if weighting != "identity" and categories is None:
        grid = grid.numbers(f"{weighting} kappa")
    grid, scale = on_scale(grid, categories)
    name = "Cohen's kappa" if weighting == "identity" else f"Cohen's kappa, {weighting} weights"
    constant = "both raters gave every case one and the same value, so agreement beyond chance is undefined"
    return pair_estimate(
        grid,
        kappa_statistic(scale, weighting),
        jackknife,
        method=name,
        otherwise=constant,
        transform=FISHER,
        gate=SQUARED_PAIRS if weighting == "quadratic" else RANKED_PAIRS,
        # Of two raters one case says 0 or nothing; a pair among many that shares one case would say it as loudly as the rest.
        least=1 if len(grid.raters) == 2 else 2,
    )


def kappa_statistic(scale: FloatArray, weighting: Weighting) -> PairStatistic:
    """Kappa of two raters as a function of the weights of cases."""
    distances = 1 - agreement_weights(scale, weighting)

    def statistic(x: FloatArray, y: FloatArray) -> Statistic:
        rows, columns = np.searchsorted(scale, x), np.searchsorted(scale, y)
        row_member, column_member = np.eye(len(scale))[rows], np.eye(len(scale))[columns]
        distance = distances[rows, columns]

        def value(weights: FloatArray) -> FloatArray:
            n = weights.sum(axis=1)
            observed = weights @ distance
            expected = (((weights @ row_member) @ distances) * (weights @ column_member)).sum(axis=1)
            ratio = np.full(len(weights), np.nan)
            np.divide(observed * n, expected, out=ratio, where=expected > 1e-12)
            return 1 - ratio

        return value

    return statistic


def concordance_statistic(x: FloatArray, y: FloatArray, stratum: IntArray | None = None) -> OfSums:
    """Twice the covariance over what the variances and the offset add up to, as a function of the weights of cases.

    With quadratic weights Cohen's kappa needs no categories: it is this, Lin's concordance with variances
    over n. NaN where both raters gave one and the same value. With strata, covariances, variances and offsets are
    taken within each and then added up: that strata differ in their means is no agreement.

    References:
        Krippendorff (1970), "Bivariate agreement coefficients for reliability of data".
        Lin (1989), "A concordance correlation coefficient to evaluate reproducibility", Biometrics 45:255-268.
    """
    middle = (x.mean() + y.mean()) / 2 if len(x) else 0.0
    x, y = x - middle, y - middle
    _, code = np.unique(np.zeros(len(x)) if stratum is None else stratum, return_inverse=True)
    strata = int(code.max(initial=0)) + 1
    stratum_sums = np.stack([x, y, np.ones(len(x))], axis=1)[:, :, None] * np.eye(strata)[code][:, None, :]
    sums = np.column_stack([stratum_sums.reshape(len(x), 3 * strata), x * y, x**2 + y**2])

    def value(total: FloatArray) -> FloatArray:
        # One row a sum, so that arithmetic runs along the many totals.
        columns = np.ascontiguousarray(total.T)
        (x_sums, y_sums, n), (products, squares) = columns[:-2].reshape(3, strata, -1), columns[-2:]
        # What the squares of means and of their difference add up to is twice their product.
        mean_products = (x_sums * y_sums / np.maximum(n, 1)).sum(axis=0)
        every = np.maximum(n.sum(axis=0), 1)
        top, bottom = 2 * (products - mean_products) / every, (squares - 2 * mean_products) / every
        return np.divide(top, bottom, out=np.full(len(total), np.nan), where=bottom > 1e-12)

    return OfSums(sums, value)
