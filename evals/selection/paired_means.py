"""Means and paired differences over questions, with the jackknife's intervals over whole cases or groups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..statistics.estimate import Estimate, undefined
from ..statistics.jackknife import DIFFERENCE, SHARE, Link, jackknife
from ..statistics.matrix import FloatArray, IntArray
from ..statistics.paired_test import LEAST_CLUSTERS, Contrast
from ..statistics.proportion import wilson

ALIKE = "no case tells them apart"
"""The note of a difference that is zero on every case."""


def mean_credit_estimate(
    values: FloatArray, cluster: IntArray, *, method: str, widening: float = 1.0
) -> Estimate:
    """The mean of credits from 0 to 1 that are not NaN, its interval within that range; `n` counts the questions.

    The interval is symmetric in the logit of the mean: most credits lie near 1, where errors can only fall to one side.
    """
    return _tested_mean(values, cluster, SHARE, method, widening).difference


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
    return _tested_mean(differences, cluster, DIFFERENCE, method, widening)


def _tested_mean(values: FloatArray, cluster: IntArray, link: Link, method: str, widening: float) -> Contrast:
    known = ~np.isnan(values)
    n = int(known.sum())
    if not n:
        return Contrast(undefined("no question has an answer to compare", method=method), np.nan)
    _, at = np.unique(cluster[known], return_inverse=True)
    total, number = np.bincount(at, values[known]), np.bincount(at)
    value, clusters = float(total.sum() / n), len(total)
    what = "cases" if clusters == n else "cases or groups"
    if clusters < LEAST_CLUSTERS:
        note = f"{clusters} {what} cannot tell a difference from chance; {LEAST_CLUSTERS} or more are needed"
        return Contrast(Estimate(value, np.nan, np.nan, n, method, note=f"no interval: {note}"), np.nan)
    without = (total.sum() - total) / (n - number)
    found = jackknife(value, without, np.ones(clusters, dtype=np.int64), link)
    if found is None:
        return _of_equals(value, n, clusters / widening**2, link, method)
    method = f"{method}; jackknife over {clusters} {what}, Student's t"
    found = replace(found, se=widening * found.se)
    method = method if widening == 1 else f"{method}, error widened by {widening:.2f}"
    return Contrast(Estimate(value, *found.bounds(0.95), n, method, se=found.se), found.p(0.0))


def _of_equals(value: float, n: int, clusters: float, link: Link, method: str) -> Contrast:
    """A mean of values that are all the same, which do not show how far others would lie apart."""
    note = "every case says the same"
    if link is SHARE and value in (0.0, 1.0):
        low, high = wilson(value, clusters, 0.95)
        return Contrast(Estimate(value, low, high, n, f"{method}; Wilson", note=note), np.nan)
    if link is DIFFERENCE and value == 0:
        apart = wilson(0.0, clusters, 0.95)[1]
        return Contrast(Estimate(value, -apart, apart, n, f"{method}; Wilson", note=ALIKE), 1.0)
    p = 2.0 ** (1 - clusters) if link is DIFFERENCE else np.nan
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
