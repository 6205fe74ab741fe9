"""Pearson, Spearman and Kendall correlations between raters."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .estimate import Estimate
from .gate import RANKED_PAIRS, SQUARED_PAIRS, Gate
from .jackknife import CASES, FISHER, Jackknife
from .matrix import FloatArray, IntArray, Ratings
from .pairs import PairStatistic, Raters, pair_estimate, pair_matrix
from .weighted import BLOCK, OfSums, Statistic


def mean_ranks(values: FloatArray) -> FloatArray:
    """The rank of each value from 1, the lowest; equal ones share the mean of theirs."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[place]


FLAT = "a rater gave the same value for every case, so there is nothing to correlate"


def pearson(ratings: Ratings, *, jackknife: Jackknife = CASES, raters: Raters | None = None) -> Estimate:
    """Pearson's r. Pairs of raters use the cases both rated; more than two raters give the mean over pairs."""
    return _estimate(ratings, pearson_statistic, "Pearson's r", jackknife, raters, SQUARED_PAIRS)


def spearman(ratings: Ratings, *, jackknife: Jackknife = CASES, raters: Raters | None = None) -> Estimate:
    """Spearman's rho: Pearson's r of ranks, ties sharing their mean rank; ranked anew without each case.

    Pairs of raters use the cases both rated; more than two raters give the mean over pairs.
    """
    return _estimate(ratings, spearman_statistic, "Spearman's rho", jackknife, raters)


def kendall(ratings: Ratings, *, jackknife: Jackknife = CASES, raters: Raters | None = None) -> Estimate:
    """Kendall's tau-b, which allows for ties.

    Pairs of raters use the cases both rated; more than two raters give the mean over pairs.

    References:
        Kendall (1945), Biometrika 33:239-251.
    """
    return _estimate(ratings, kendall_statistic, "Kendall's tau-b", jackknife, raters)


def pearson_statistic(x: FloatArray, y: FloatArray) -> Statistic:
    """Pearson's r of two raters as a function of the weights of cases."""
    x, y = _standard(x), _standard(y)
    sums = np.column_stack([x, y, x * y, x**2, y**2, np.ones(len(x))])

    def value(total: FloatArray) -> FloatArray:
        n = np.maximum(total[:, 5], 1)
        mean_x, mean_y = total[:, 0] / n, total[:, 1] / n
        covariance = total[:, 2] - n * mean_x * mean_y
        return _correlation(covariance, total[:, 3] - n * mean_x**2, total[:, 4] - n * mean_y**2, n)

    return OfSums(sums, value)


def spearman_statistic(x: FloatArray, y: FloatArray) -> Statistic:
    """Spearman's rho of two raters as a function of the weights of cases."""
    rank_x, rank_y = _ranker(x), _ranker(y)

    def value(weights: FloatArray) -> FloatArray:
        ranks_x, ranks_y = rank_x(weights), rank_y(weights)
        n = weights.sum(axis=1)
        return _correlation(
            (weights * ranks_x * ranks_y).sum(axis=1),
            (weights * ranks_x**2).sum(axis=1),
            (weights * ranks_y**2).sum(axis=1),
            n,
        )

    return value


def kendall_statistic(x: FloatArray, y: FloatArray) -> Statistic:
    """Kendall's tau-b of two raters as a function of the weights of cases."""
    order_x, order_y = (np.sign(np.subtract.outer(side, side)) for side in (x, y))
    concordance, untied_x, untied_y = order_x * order_y, np.abs(order_x), np.abs(order_y)

    def value(weights: FloatArray) -> FloatArray:
        concordant, untied_pairs_x, untied_pairs_y = (
            ((weights @ form) * weights).sum(axis=1) for form in (concordance, untied_x, untied_y)
        )
        return _correlation(concordant, untied_pairs_x, untied_pairs_y, np.ones(len(weights)))

    return value


def _estimate(
    ratings: Ratings,
    statistic: PairStatistic,
    method: str,
    jackknife: Jackknife,
    raters: Raters | None,
    gate: Gate = RANKED_PAIRS,
) -> Estimate:
    grid = pair_matrix(ratings, raters, by=jackknife.by).numbers(method)
    return pair_estimate(
        grid, statistic, jackknife, method=method, otherwise=FLAT, transform=FISHER, gate=gate
    )


def _standard(values: FloatArray) -> FloatArray:
    """Centred and scaled, so that a flat column can be told from rounding."""
    centred = values - values.mean()
    return centred / max(float(np.abs(centred).max()), 1e-300)


def _ranker(values: FloatArray) -> Statistic:
    """From weights to the mean rank of each case, centred on the middle rank."""
    scale, code = np.unique(values, return_inverse=True)
    member = np.eye(len(scale))[code]

    def ranks(weights: FloatArray) -> FloatArray:
        tallies = weights @ member
        middle = tallies.cumsum(axis=1) - tallies / 2 - tallies.sum(axis=1, keepdims=True) / 2
        return middle[:, code]

    return ranks


def _correlation(cov: FloatArray, var_x: FloatArray, var_y: FloatArray, n: FloatArray) -> FloatArray:
    """Covariance over the root of the variances; NaN where either is zero but for rounding."""
    moving = (var_x > 1e-12 * n) & (var_y > 1e-12 * n)
    bottom = np.sqrt(np.where(moving, var_x, 1.0)) * np.sqrt(np.where(moving, var_y, 1.0))
    return np.where(moving, np.clip(cov / bottom, -1.0, 1.0), np.nan)


NOBODY = -1
"""In the place of a case, where a stratum has fewer than the largest."""

Part = Callable[[FloatArray], FloatArray]
"""From the weights of the strata's cases (stratum, place, row) to what each stratum adds (stratum, row, sum)."""


@dataclass(frozen=True, slots=True)
class OfStrata:
    """A statistic of sums over strata, each a function of the weights of that stratum's own cases."""

    cases: IntArray
    """The cases of each stratum, one row a stratum, `NOBODY` at the end."""
    part: Part
    value: Statistic
    """From rows of sums to one value each."""

    def __call__(self, weights: FloatArray) -> FloatArray:
        step = max(1, BLOCK // max(1, self.cases.size))
        total = [
            self.part(self._of_cases(weights[start : start + step].T)).sum(axis=0)
            for start in range(0, len(weights), step)
        ]
        return self.value(np.concatenate(total))

    def of_clusters(self, cluster: IntArray, clusters: int) -> "OfStrata":
        """The same of the weights of clusters; `cluster` says which each case is in."""
        return replace(self, cases=np.where(self.cases == NOBODY, NOBODY, cluster[self.cases]))

    def _of_cases(self, rows: FloatArray) -> FloatArray:
        """The rows of the cases, by stratum and place: zeros where there is nobody."""
        return np.concatenate([rows, np.zeros((1, *rows.shape[1:]))])[self.cases]


def stratified_spearman_statistic(x: FloatArray, y: FloatArray, stratum: IntArray) -> OfStrata:
    """Pearson's r of mean ranks within each stratum, centred and divided by its size, as a function of the weights of cases.

    Scores calibrated by different curves are such cases: within a fold a curve that rises keeps every rank, and
    across folds equal scores become unequal for no reason of theirs. With one stratum this is Spearman's rho.
    """
    _, number, size = np.unique(stratum, return_inverse=True, return_counts=True)
    cases = np.full((len(size), int(size.max(initial=0))), NOBODY)
    for stratum_number, count in enumerate(size):
        cases[stratum_number, :count] = np.flatnonzero(number == stratum_number)
    members_x, members_y = _members(x, cases), _members(y, cases)

    def rank_products(weights: FloatArray) -> FloatArray:
        sides = (_stratum_ranks(weights, members) for members in (members_x, members_y))
        (ranks_x, square_x), (ranks_y, square_y) = sides
        return np.stack([(weights * ranks_x * ranks_y).sum(axis=1), square_x, square_y], axis=2)

    return OfStrata(cases, rank_products, _stratified_correlation)


def _stratified_correlation(total: FloatArray) -> FloatArray:
    covariance, variance_x, variance_y = total.T
    moving = (variance_x > 1e-12) & (variance_y > 1e-12)
    bottom = np.sqrt(np.where(moving, variance_x, 1.0) * np.where(moving, variance_y, 1.0))
    return np.where(moving, np.clip(covariance / bottom, -1.0, 1.0), np.nan)


def _members(values: FloatArray, cases: IntArray) -> FloatArray:
    """By stratum, distinct value in order and case: 1 where the case has the value."""
    stratum_values = np.where(cases == NOBODY, np.inf, np.append(values, np.nan)[cases])
    order = stratum_values.argsort(axis=1, kind="stable")
    sorted_values = np.take_along_axis(stratum_values, order, axis=1)
    # The first case of a stratum has its first value, and each that differs from the one before it the next.
    rises = np.column_stack([np.zeros(len(cases), dtype=bool), sorted_values[:, 1:] != sorted_values[:, :-1]])
    value = np.empty_like(cases)
    np.put_along_axis(value, order, rises.cumsum(axis=1), axis=1)
    is_member = (value[:, None, :] == np.arange(cases.shape[1])[:, None]) & (cases != NOBODY)[:, None, :]
    value_count = int(is_member.any(axis=(0, 2)).sum())
    return is_member[:, :value_count].astype(float)


def _stratum_ranks(weights: FloatArray, members: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Each case's mean rank from the middle, as a share of its stratum, and the sum of its squares over the stratum's cases."""
    value_weights = members @ weights
    reached = value_weights.cumsum(axis=1)
    total = reached[:, -1:]
    rank = (reached - (value_weights + total) / 2) / np.maximum(total, 1)
    return members.transpose(0, 2, 1) @ rank, (value_weights * rank * rank).sum(axis=1)
