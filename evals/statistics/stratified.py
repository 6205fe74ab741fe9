"""Spearman's rho of cases that are only comparable within their stratum."""

import numpy as np

from .bootstrap import Statistic
from .matrix import FloatArray, IntArray


def stratified_spearman_statistic(x: FloatArray, y: FloatArray, stratum: IntArray) -> Statistic:
    """Pearson's r of mean ranks within each stratum, centred and divided by its size, as a function of the weights of cases.

    Scores calibrated by different curves are such cases: within a fold a curve that rises keeps every rank, and
    across folds equal scores become unequal for no reason of theirs. With one stratum this is Spearman's rho.
    """
    places = [np.flatnonzero(stratum == each) for each in np.unique(stratum)]
    parts = [(rows, _codes(x[rows]), _codes(y[rows])) for rows in places]

    def value(weights: FloatArray) -> FloatArray:
        shared, left, right = (np.zeros(len(weights)) for _ in range(3))
        for rows, across, down in parts:
            mine, place = _distinct(weights[:, rows])
            (first, square), (second, other) = _ranks(mine, across), _ranks(mine, down)
            shared += np.einsum("ij,ij,ij->i", mine, first[:, across], second[:, down])[place]
            left += square[place]
            right += other[place]
        moving = (left > 1e-12) & (right > 1e-12)
        bottom = np.sqrt(np.where(moving, left, 1.0) * np.where(moving, right, 1.0))
        return np.where(moving, np.clip(shared / bottom, -1.0, 1.0), np.nan)

    return value


def _distinct(weights: FloatArray) -> tuple[FloatArray, IntArray]:
    """The distinct rows and, for each row, which of them it is.

    A stratum holds few clusters, so that thousands of swaps and omissions leave it in a few dozen states. Rows are told
    apart by their product with one random direction; should two that differ share it, all rows are kept.
    """
    key = weights @ np.random.default_rng(0).random(weights.shape[1])
    _, at, place = np.unique(key, return_index=True, return_inverse=True)
    if not np.array_equal(weights[at][place], weights):
        return weights, np.arange(len(weights))
    return weights[at], place


def _codes(values: FloatArray) -> IntArray:
    """For each case the place of its value among the distinct ones, in order."""
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _ranks(weights: FloatArray, code: IntArray) -> tuple[FloatArray, FloatArray]:
    """Each distinct value's mean rank from the middle, as a share of the stratum, and the cases' sum of its squares."""
    used = weights @ np.eye(int(code.max()) + 1)[code]
    total = used.sum(axis=1, keepdims=True)
    rank = (used.cumsum(axis=1) - used / 2 - total / 2) / np.maximum(total, 1)
    return rank, np.einsum("ij,ij,ij->i", used, rank, rank)
