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
    parts = [(rows, _members(x[rows]), _members(y[rows])) for rows in places]

    def value(weights: FloatArray) -> FloatArray:
        shared, left, right = (np.zeros(len(weights)) for _ in range(3))
        for rows, across, down in parts:
            mine = weights[:, rows]
            first, second = _ranks(mine, across), _ranks(mine, down)
            shared += (mine * first * second).sum(axis=1)
            left += (mine * first**2).sum(axis=1)
            right += (mine * second**2).sum(axis=1)
        moving = (left > 1e-12) & (right > 1e-12)
        bottom = np.sqrt(np.where(moving, left, 1.0) * np.where(moving, right, 1.0))
        return np.where(moving, np.clip(shared / bottom, -1.0, 1.0), np.nan)

    return value


def _members(values: FloatArray) -> FloatArray:
    """Which of the distinct values, in order, each case has."""
    used, code = np.unique(values, return_inverse=True)
    return np.eye(len(used))[code]


def _ranks(weights: FloatArray, member: FloatArray) -> FloatArray:
    """Each case's mean rank from the middle, as a share of the stratum."""
    used = weights @ member
    total = used.sum(axis=1, keepdims=True)
    middle = used.cumsum(axis=1) - used / 2 - total / 2
    return (middle / np.maximum(total, 1)) @ member.T
