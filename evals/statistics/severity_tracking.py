"""Does a score follow how bad people call a case? Enrichment delta, Kendall's tau-b and ROC AUC, cases resampled by cluster."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .bootstrap import Coefficient, OfSums, Statistic
from .draws import Draws
from .estimate import Estimate
from .matrix import FloatArray, IntArray, Matrix
from .roc import auc_coefficient

FLAT = "either the scores or people's values are the same throughout"


class Tracking(NamedTuple):
    """What a score and people's severity have to do with each other."""

    delta: Estimate
    """Mean score of the severe cases less that of those without severity."""
    kendall: Estimate
    """Tau-b of score and severity."""
    auc: Estimate
    """The chance that a severe case has a worse score than any other case."""
    auc_none: Estimate
    """The chance that a severe case has a worse score than one without severity."""


def severity_tracking(
    score: FloatArray,
    severity: FloatArray,
    cluster: IntArray,
    *,
    severe: float,
    none: float,
    low_is_good: bool,
    draws: Draws,
) -> Tracking:
    """All four, over the cases that have both a score and a severity.

    Args:
        severity: Higher is worse.
        severe: The severity from which on a case is severe.
        none: The severity up to which it has none.
        low_is_good: Whether a low score is the good one, as of an error rate; turns the AUC, not delta and tau.
    """
    both = ~(np.isnan(score) | np.isnan(severity))
    _, numbers = np.unique(cluster[both], return_inverse=True)
    bad, mild = severity[both] >= severe, severity[both] <= none

    def estimate(coefficient: Coefficient, values: FloatArray, method: str, otherwise: str) -> Estimate:
        use = ~np.isnan(values).any(axis=1)
        _, kept = np.unique(numbers[use], return_inverse=True)
        grid = Matrix(values[use], tuple(range(int(use.sum()))), ("score", "people"), kept.astype(np.int64))
        return draws.bootstrap().estimate(coefficient, grid, method=method, otherwise=otherwise)

    missing = "no severe case, or none without severity"
    worse = score[both] if low_is_good else -score[both]
    ends = np.where(bad, 1.0, np.where(mild, 0.0, np.nan))
    return Tracking(
        estimate(_delta, np.column_stack([score[both], ends]), "mean of severe less mean of none", missing),
        estimate(_tau_b, np.column_stack([score[both], severity[both]]), "Kendall's tau-b", FLAT),
        estimate(auc_coefficient(1), np.column_stack([worse, bad]), "ROC AUC, severe against all others",
                 "no severe case, or no other"),
        estimate(auc_coefficient(1), np.column_stack([worse, ends]), "ROC AUC, severe against none", missing),
    )  # fmt: skip


def _delta(values: FloatArray) -> OfSums:
    score, bad = values.T
    sums = np.column_stack([score * bad, bad, score * (1 - bad), 1 - bad])

    def value(total: FloatArray) -> FloatArray:
        known = (total[:, 1] > 0) & (total[:, 3] > 0)
        safe = np.where(known[:, None], total, 1.0)
        return np.where(known, safe[:, 0] / safe[:, 1] - safe[:, 2] / safe[:, 3], np.nan)

    return OfSums(sums, value)


def _tau_b(values: FloatArray) -> Statistic:
    """Tau-b from the table of the two, class of severity by class: no table of all pairs of cases is made."""
    scores, place = np.unique(values[:, 0], return_inverse=True)
    levels, level = np.unique(values[:, 1], return_inverse=True)
    member = np.eye(len(scores))[place]

    def tau(weights: FloatArray) -> FloatArray:
        by_level = [(weights * (level == each)) @ member for each in range(len(levels))]
        shared = np.zeros(len(weights))
        below = np.zeros_like(by_level[0])
        for counts in by_level:
            under = below.cumsum(axis=1)
            above = under[:, -1:] - under
            shared += (counts * (under - below - above)).sum(axis=1)
            below = below + counts
        total = weights.sum(axis=1)
        left = (total**2 - (below**2).sum(axis=1)) / 2
        right = (total**2 - sum(counts.sum(axis=1) ** 2 for counts in by_level)) / 2
        moving = (left > 0) & (right > 0)
        return np.where(moving, shared / np.sqrt(np.where(moving, left * right, 1.0)), np.nan)

    return tau
