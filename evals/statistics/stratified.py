"""Spearman's rho of cases that are only comparable within their stratum."""

from dataclasses import dataclass

import numpy as np

from .bootstrap import Statistic
from .matrix import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class OfStrata:
    """A statistic of sums over strata, each a function of the weights of that stratum's own cases."""

    strata: tuple[tuple[IntArray, Statistic], ...]
    """The cases of each stratum, and what they add: one row for each row of weights, `width` columns."""
    width: int
    value: Statistic
    """From rows of sums to one value each."""

    def __call__(self, weights: FloatArray) -> FloatArray:
        total = np.zeros((len(weights), self.width))
        for rows, part in self.strata:
            total += part(weights[:, rows])
        return self.value(total)


def stratified_spearman_statistic(x: FloatArray, y: FloatArray, stratum: IntArray) -> OfStrata:
    """Pearson's r of mean ranks within each stratum, centred and divided by its size, as a function of the weights of cases.

    Scores calibrated by different curves are such cases: within a fold a curve that rises keeps every rank, and
    across folds equal scores become unequal for no reason of theirs. With one stratum this is Spearman's rho.
    """
    places = [np.flatnonzero(stratum == each) for each in np.unique(stratum)]
    return OfStrata(tuple((rows, _rank_products(x[rows], y[rows])) for rows in places), 3, _correlation)


def _rank_products(x: FloatArray, y: FloatArray) -> Statistic:
    """A stratum's sums of products and squares of mean ranks."""
    across, down = _members(x), _members(y)

    def products(weights: FloatArray) -> FloatArray:
        (first, square), (second, other) = _ranks(weights, across), _ranks(weights, down)
        shared = np.einsum("ij,ij,ij->i", weights, first @ across.T, second @ down.T)
        return np.stack([shared, square, other], axis=1)

    return products


def _correlation(total: FloatArray) -> FloatArray:
    shared, left, right = total.T
    moving = (left > 1e-12) & (right > 1e-12)
    bottom = np.sqrt(np.where(moving, left, 1.0) * np.where(moving, right, 1.0))
    return np.where(moving, np.clip(shared / bottom, -1.0, 1.0), np.nan)


def _members(values: FloatArray) -> FloatArray:
    """For each case a row that marks its value among the distinct ones, in order."""
    distinct, code = np.unique(values, return_inverse=True)
    return np.eye(len(distinct))[code]


def _ranks(weights: FloatArray, member: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Each distinct value's mean rank from the middle, as a share of the stratum, and the cases' sum of its squares."""
    used = weights @ member
    reached = used.cumsum(axis=1)
    total = reached[:, -1:]
    rank = (reached - (used + total) / 2) / np.maximum(total, 1)
    return rank, np.einsum("ij,ij,ij->i", used, rank, rank)
