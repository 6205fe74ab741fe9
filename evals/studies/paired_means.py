"""Means and paired differences over questions with the jackknife's intervals over whole cases or groups, and the differences that so many cases detect."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pandas as pd
from scipy.special import ndtri

from ..comparison.objectives import Objective, ScoredVotes
from ..ratings.folds import Rows
from ..statistics.contrast import LEAST_CLUSTERS, Contrast
from ..statistics.estimate import Estimate, undefined
from ..statistics.jackknife import FISHER, LOG, RATIO, RAW, SAME, Transform, jackknife_spread
from ..statistics.matrix import FloatArray, IntArray
from ..statistics.proportion import wilson
from .jury_search import mean_credit

ALIKE = "both arms score the same on every case"
"""The note of a difference that is zero on every case."""


def mean_credit_estimate(
    values: FloatArray, cluster: IntArray, *, method: str, widening: float = 1.0
) -> Estimate:
    """The mean of credits from 0 to 1 that are not NaN, its interval within that range; `n` counts the questions.

    The interval is Wilson's, at the number of cases that the error stands for: most credits lie near 1, where errors can
    only fall to one side.
    """
    return _tested_mean(values, cluster, RATIO, method, widening).difference


def mean_difference(
    differences: FloatArray, cluster: IntArray, *, method: str, widening: float = 1.0
) -> Contrast:
    """The mean of paired differences that are not NaN, with the p of a true mean of zero: both from one Student's t.

    Args:
        differences: From -1 to 1. Where all are zero the interval allows for as many others that are not as Wilson's does.
        cluster: The case or group of each difference, left out as a whole.
        widening: How many times the error is what clusters show, where arms were chosen in folds that share cases.

    Returns:
        Neither interval nor p, and a note, with fewer than `LEAST_CLUSTERS` cases or groups.
    """
    return _tested_mean(differences, cluster, RAW, method, widening)


def _tested_mean(
    values: FloatArray, cluster: IntArray, transform: Transform, method: str, widening: float
) -> Contrast:
    known = ~np.isnan(values)
    n = int(known.sum())
    if not n:
        return Contrast(
            undefined("no question has an answer that can be compared with people's", method=method), np.nan
        )
    _, at = np.unique(cluster[known], return_inverse=True)
    total, number = np.bincount(at, values[known]), np.bincount(at)
    without = (total.sum() - total) / (n - number)
    return _jackknife_test(float(total.sum() / n), without, n, transform, method, widening)


def _jackknife_test(
    value: float, without: FloatArray, n: int, transform: Transform, method: str, widening: float
) -> Contrast:
    """A statistic with interval and p, from what it is `without` each case or group; neither with too few of them."""
    clusters = len(without)
    what = "cases" if clusters == n else "cases or groups"
    if clusters < LEAST_CLUSTERS:
        note = f"{clusters} {what} cannot distinguish a difference from chance; {LEAST_CLUSTERS} or more are needed"
        return Contrast(Estimate(value, np.nan, np.nan, n, method, note=f"no interval: {note}"), np.nan)
    found = jackknife_spread(value, without, transform)
    if isinstance(found, str):
        if found != SAME:
            return Contrast(Estimate(value, np.nan, np.nan, n, method, note=f"no interval: {found}"), np.nan)
        return _of_equals(value, n, clusters / widening**2, transform, method)
    method = f"{method}; jackknife over {clusters} {what}, Student's t"
    found = found._replace(se=widening * found.se)
    method = method if widening == 1 else f"{method}, error widened by {widening:.2f}"
    return Contrast(Estimate(value, *found.bounds(0.95), n, method, se=found.se), found.p())


class Measure(Protocol):
    """What arms are compared by: how answers to the questions held out are scored, one column a question."""

    words: str
    better: float
    """-1 where less is better."""
    cluster: IntArray
    """Of each question held out, what is left out as a whole."""

    def scores(self, answers: FloatArray, rows: Rows) -> FloatArray:
        """Of each row of answers to the questions `rows`, the score, high being good."""

    def estimate(self, answers: FloatArray, *, method: str, widening: float = 1.0) -> Estimate:
        """The measure of answers to the questions held out."""

    def difference(
        self, first: FloatArray, second: FloatArray, *, method: str, widening: float = 1.0
    ) -> Contrast:
        """How much better the first answers are."""


@dataclass(slots=True)
class MeanCredit:
    """Mean credit; answers are the credits that they earned."""

    cluster: IntArray
    words: str = "mean credit"
    better: float = 1.0

    def scores(self, answers: FloatArray, rows: Rows) -> FloatArray:
        return mean_credit(answers)

    def estimate(self, answers: FloatArray, *, method: str, widening: float = 1.0) -> Estimate:
        return mean_credit_estimate(answers, self.cluster, method=method, widening=widening)

    def difference(
        self, first: FloatArray, second: FloatArray, *, method: str, widening: float = 1.0
    ) -> Contrast:
        return mean_difference(first - second, self.cluster, method=method, widening=widening)


class HeldObjective:
    """An objective as the measure: the mean over attributes of its value on the questions held out."""

    def __init__(self, votes: ScoredVotes, held: Rows, objective: Objective) -> None:
        self._votes, self._objective = votes, objective
        self._held = votes.at(held)
        self.cluster, self.words, self.better = self._held.cluster, objective.words, objective.better
        number = np.unique(self.cluster, return_inverse=True)[1]
        self._kept = np.asarray(number[None, :] != np.arange(int(number.max()) + 1)[:, None], dtype=float)

    def scores(self, answers: FloatArray, rows: Rows) -> FloatArray:
        return self._votes.at(rows).scores(answers, self._objective)

    def estimate(self, answers: FloatArray, *, method: str, widening: float = 1.0) -> Estimate:
        value, without = self._jackknife(answers)
        scale = LOG if self.better < 0 else FISHER if self._objective.most == 1 else RAW
        n = int((~np.isnan(answers)).sum())
        found = _jackknife_test(
            self.better * value, self.better * without, n, scale, method, widening
        ).difference
        low, high = max(found.low, self._objective.least), min(found.high, self._objective.most)
        return found if np.isnan(found.low) else replace(found, low=low, high=high)

    def difference(
        self, first: FloatArray, second: FloatArray, *, method: str, widening: float = 1.0
    ) -> Contrast:
        (one, one_without), (other, other_without) = map(self._jackknife, (first, second))
        n = int((~np.isnan(first + second)).sum())
        return _jackknife_test(one - other, one_without - other_without, n, RAW, method, widening)

    def _jackknife(self, answers: FloatArray) -> tuple[float, FloatArray]:
        """The score, and what it is without each case or group."""
        every = self._held.scores(answers[None, :], self._objective)
        rows = np.broadcast_to(answers, self._kept.shape)
        return float(every[0]), self._held.scores(rows, self._objective, self._kept)


def _of_equals(value: float, n: int, clusters: float, transform: Transform, method: str) -> Contrast:
    """A mean of values that are all the same, which do not show how far others would lie apart."""
    note = "all cases have the same value"
    if transform is RATIO and value in (0.0, 1.0):
        low, high = wilson(value, clusters, 0.95)
        return Contrast(Estimate(value, low, high, n, f"{method}; Wilson", note=note), np.nan)
    if transform is RAW and value == 0:
        apart = wilson(0.0, clusters, 0.95)[1]
        return Contrast(Estimate(value, -apart, apart, n, f"{method}; Wilson", note=ALIKE), 1.0)
    p = 2.0 ** (1 - clusters) if transform is RAW else np.nan
    return Contrast(Estimate(value, np.nan, np.nan, n, method, note=f"no interval: {note}"), p)


def by_cluster(values: FloatArray, cluster: IntArray) -> FloatArray:
    """The mean of each cluster (of each column), NaN where it has none."""
    table = values.reshape(len(values), -1)
    _, at = np.unique(cluster, return_inverse=True)
    known = ~np.isnan(table)
    total, number = np.zeros((2, at.max() + 1, table.shape[1]))
    np.add.at(total, at, np.where(known, table, 0))
    np.add.at(number, at, known)
    means = np.where(number > 0, total / np.maximum(number, 1), np.nan)
    return means.reshape(-1, *values.shape[1:])


EFFECTS = (0.05, 0.02)
"""The differences that `cases_for` answers."""
COLUMNS = [
    "first", "second", "n", "difference", "sd", "detectable", *(f"cases_for_{effect}" for effect in EFFECTS)
]  # fmt: skip


def detectable(sd: float, n: int, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The minimum detectable difference: the least true one that n cases show with that power.

    NaN without a case, or where no two differ: they do not show how far others would lie apart.
    """
    return _reach(alpha, power) * sd / math.sqrt(n) if n and sd > 0 else math.nan


def cases_for(effect: float, sd: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The sample size: how many cases show a true difference of `effect` with that power; two at least."""
    return (
        float(max(2, math.ceil((_reach(alpha, power) * sd / abs(effect)) ** 2 - 1e-9)))
        if effect
        else math.inf
    )


def pairs_power(
    pairs: Mapping[tuple[str, str], FloatArray], cluster: IntArray, *, widening: float = 1.0
) -> pd.DataFrame:
    """One row for each two arms, from their credits' difference on the same questions; cases or groups are the units.

    `widening` is what intervals of these differences are widened by; `sd` includes it.
    """
    rows = []
    for (first, second), difference in pairs.items():
        means = by_cluster(difference, cluster)
        means = means[~np.isnan(means)]
        n = len(means)
        sd = float(means.std(ddof=1)) * widening if n > 1 and np.ptp(means) > 0 else math.nan
        rows.append(
            {
                "first": first,
                "second": second,
                "n": n,
                "difference": float(means.mean()) if n else math.nan,
                "sd": sd,
                "detectable": detectable(sd, n),
                **{
                    f"cases_for_{effect}": int(cases_for(effect, sd)) if sd > 0 else math.nan
                    for effect in EFFECTS
                },
            }
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def contrast_power(pairs: Mapping[tuple[str, str], Contrast], clusters: int) -> pd.DataFrame:
    """`pairs_power` of differences in any measure, from their standard errors."""
    rows = []
    for (first, second), found in pairs.items():
        sd = found.difference.se * math.sqrt(clusters) if found.difference.se > 0 else math.nan
        rows.append(
            {
                "first": first,
                "second": second,
                "n": clusters,
                "difference": found.difference.value,
                "sd": sd,
                "detectable": detectable(sd, clusters),
                **{
                    f"cases_for_{effect}": int(cases_for(effect, sd)) if sd > 0 else math.nan
                    for effect in EFFECTS
                },
            }
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def typical(credits: FloatArray, cluster: IntArray) -> tuple[float, float]:
    """Mean and standard deviation, over the pairs of columns that differ, of the minimum detectable difference."""
    means = by_cluster(credits, cluster)
    found = []
    for first in range(means.shape[1]):
        gaps = means[:, first, None] - means[:, first + 1 :]
        n = (~np.isnan(gaps)).sum(axis=0)
        found += [detectable(float(np.nanstd(gap, ddof=1)), int(k)) for gap, k in zip(gaps.T, n, strict=True) if k > 1]  # fmt: skip
    found = [each for each in found if not math.isnan(each)]
    if not found:
        return math.nan, math.nan
    return float(np.mean(found)), float(np.std(found, ddof=1)) if len(found) > 1 else math.nan


def _reach(alpha: float, power: float) -> float:
    return float(ndtri(1 - alpha / 2) + ndtri(power))
