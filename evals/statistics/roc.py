"""ROC: how well one rater's scores rank the cases that a reference calls positive."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from .estimate import Estimate
from .jackknife import CASES, FISHER, RATIO, RAW, Jackknife, Transform
from .matrix import FloatArray, IntArray, Matrix, Ratings
from .pairs import Raters, pair_matrix
from .weighted import Coefficient, OfSums, Statistic


def roc_auc(
    ratings: Ratings, *, raters: Raters, positive: float = 1, jackknife: Jackknife = CASES
) -> Estimate:
    """The chance that a positive case scores above a negative one, ties counting half.

    Missing ratings: cases without both are left out.

    Args:
        ratings: Columns `case`, `rater`, `value`; the values are numbers.
        raters: The scoring rater, then the reference.
        positive: What the reference says of a positive case; anything else is negative.

    References:
        Hanley and McNeil (1982), Radiology 143:29-36.
    """
    grid = pair_matrix(ratings, raters, by=jackknife.by).numbers("the ROC")
    one_sided = "the reference has no positive case or no negative case, so ROC AUC is undefined"
    return jackknife.estimate(
        auc_coefficient(positive), grid, method="ROC AUC", otherwise=one_sided, transform=RATIO
    )


def roc_curve(ratings: Ratings, *, raters: Raters) -> pd.DataFrame:
    """Columns `threshold`, `false_positive_rate`, `true_positive_rate`, from the strictest threshold on.

    Rates without a case to count are NaN.
    """
    score, actual = pair_matrix(ratings, raters).numbers("the ROC").values.T
    thresholds = np.concatenate([[np.inf], np.unique(score)[::-1]])
    is_above = score >= thresholds[:, None]
    rates = {}
    for name, of in (("false_positive_rate", actual != 1), ("true_positive_rate", actual == 1)):
        rates[name] = (is_above & of).sum(axis=1) / of.sum() if of.any() else np.full(len(thresholds), np.nan)
    return pd.DataFrame({"threshold": thresholds, **rates})


def auc_coefficient(positive: float) -> Coefficient:
    """The area as a function of the weights of cases."""

    def coefficient(values: FloatArray) -> Statistic:
        scale, code = np.unique(values[:, 0], return_inverse=True)
        member = np.eye(len(scale))[code]
        actual = values[:, 1:] == positive
        yes, no = member * actual, member * ~actual

        def area(weights: FloatArray) -> FloatArray:
            positives, negatives = weights @ yes, weights @ no
            beaten = (positives * (negatives.cumsum(axis=1) - negatives / 2)).sum(axis=1)
            pairs = positives.sum(axis=1) * negatives.sum(axis=1)
            return np.divide(beaten, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)

        return area

    return coefficient


FLAT = "the scores, or people's values, are the same for every case, so they cannot be correlated"


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
) -> Tracking:
    """All four, over the cases that have both a score and a severity.

    Args:
        severity: Higher is worse.
        severe: The severity from which on a case is severe.
        none: The severity up to which it has none.
        low_is_good: Whether a low score is the good one, as of an error rate; turns the AUC, not delta and tau.
    """
    is_complete = ~(np.isnan(score) | np.isnan(severity))
    _, numbers = np.unique(cluster[is_complete], return_inverse=True)
    is_severe, mild = severity[is_complete] >= severe, severity[is_complete] <= none

    def estimate(
        coefficient: Coefficient, values: FloatArray, method: str, otherwise: str, transform: Transform
    ) -> Estimate:
        use = ~np.isnan(values).any(axis=1)
        _, codes = np.unique(numbers[use], return_inverse=True)
        grid = Matrix(values[use], tuple(range(int(use.sum()))), ("score", "people"), codes.astype(np.int64))
        return Jackknife().estimate(
            coefficient, grid, method=method, otherwise=otherwise, transform=transform
        )

    missing = "no case is severe, or none is harmless, so severe and harmless cases cannot be compared"
    badness = score[is_complete] if low_is_good else -score[is_complete]
    ends = np.where(is_severe, 1.0, np.where(mild, 0.0, np.nan))
    return Tracking(
        estimate(_delta, np.column_stack([score[is_complete], ends]), "mean of severe cases minus mean of harmless cases", missing, RAW),
        estimate(_tau_b, np.column_stack([score[is_complete], severity[is_complete]]), "Kendall's tau-b", FLAT, FISHER),
        estimate(auc_coefficient(1), np.column_stack([badness, is_severe]), "ROC AUC of severe cases against all other cases",
                 "no case is severe, or every case is, so severe cases cannot be compared with other cases", RATIO),
        estimate(auc_coefficient(1), np.column_stack([badness, ends]), "ROC AUC of severe cases against harmless cases", missing, RATIO),
    )  # fmt: skip


def _delta(values: FloatArray) -> OfSums:
    score, is_severe = values.T
    sums = np.column_stack([score * is_severe, is_severe, score * (1 - is_severe), 1 - is_severe])

    def value(total: FloatArray) -> FloatArray:
        has_both = (total[:, 1] > 0) & (total[:, 3] > 0)
        safe = np.where(has_both[:, None], total, 1.0)
        return np.where(has_both, safe[:, 0] / safe[:, 1] - safe[:, 2] / safe[:, 3], np.nan)

    return OfSums(sums, value)


def _tau_b(values: FloatArray) -> Statistic:
    """Tau-b from the table of the two, class of severity by class: no table of all pairs of cases is made."""
    scores, place = np.unique(values[:, 0], return_inverse=True)
    levels, level = np.unique(values[:, 1], return_inverse=True)
    member = np.eye(len(scores))[place]

    def tau(weights: FloatArray) -> FloatArray:
        by_level = [(weights * (level == place)) @ member for place in range(len(levels))]
        concordant = np.zeros(len(weights))
        lower_counts = np.zeros_like(by_level[0])
        for counts in by_level:
            cumulative = lower_counts.cumsum(axis=1)
            higher = cumulative[:, -1:] - cumulative
            concordant += (counts * (cumulative - lower_counts - higher)).sum(axis=1)
            lower_counts = lower_counts + counts
        total = weights.sum(axis=1)
        untied_x = (total**2 - (lower_counts**2).sum(axis=1)) / 2
        untied_y = (total**2 - sum(counts.sum(axis=1) ** 2 for counts in by_level)) / 2
        moving = (untied_x > 0) & (untied_y > 0)
        return np.where(moving, concordant / np.sqrt(np.where(moving, untied_x * untied_y, 1.0)), np.nan)

    return tau
