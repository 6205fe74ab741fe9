"""Dependence of jurors' errors: their correlations, and the effective number of independent jurors."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..statistics.bootstrap import Bootstrap, OfSums
from ..statistics.estimate import Estimate, undefined
from ..statistics.matrix import FloatArray, IntArray, Matrix
from .juror_pool import Pool
from .jury_counts import Members

METHOD = "n / (1 + (n - 1) r), r the mean correlation of errors"


def juror_errors(pool: Pool) -> FloatArray:
    """By question and juror: 1 for a wrong answer or none; on numbers, how much better than people say, NaN without an answer.

    Turned so that high is good, a lenient juror errs alike on all attributes.
    """
    away = pool.votes - pool.truth[:, None]
    better = away * (pool.direction / pool.width)[:, None]
    return np.where(pool.exact[:, None], ~(away == 0), better)


def error_correlations(pool: Pool) -> pd.DataFrame:
    """Pearson correlations of the errors of every two jurors on the questions that both answered; NaN where one never varies."""
    found = pd.DataFrame(juror_errors(pool), columns=list(pool.jurors))
    matrix = correlation_matrix(found.to_numpy(float))
    known = found.notna().to_numpy(float)
    together = known.T @ known
    first, second = np.triu_indices(len(pool.jurors), 1)
    names = np.array(pool.jurors, dtype=object)
    return pd.DataFrame(
        {
            "first": names[first],
            "second": names[second],
            "correlation": matrix[first, second],
            "n": together[first, second].astype(int),
        }
    )


def correlation_matrix(values: FloatArray) -> FloatArray:
    """Pearson correlations of pairs of columns, over the rows that both have."""
    known = ~np.isnan(values)
    kept, seen = np.where(known, values, 0.0), known.astype(float)
    n = seen.T @ seen
    first, product = kept.T @ seen, kept.T @ kept
    square = (kept**2).T @ seen
    with np.errstate(invalid="ignore", divide="ignore"):
        joint = product - first * first.T / n
        spread = np.maximum(square - first**2 / n, 0)
        spread[spread < 1e-9] = np.nan
        return joint / np.sqrt(spread * spread.T)


def independence(pool: Pool, juries: dict[str, Members], bootstrap: Bootstrap) -> pd.DataFrame:
    """For each jury: the mean correlation of its members' errors, and how many independent jurors that leaves.

    `effective` is the number of independent jurors whose mean would err as much: the design effect of Kish (1965).
    `participation` counts the dimensions that errors spread over: (sum of eigenvalues)^2 / sum of their squares.
    Jurors whose error never varies have no correlation and are left out of both.
    """
    rows = []
    for name, jury in juries.items():
        mine = juror_errors(pool)[:, jury]
        varies = np.array([np.nanvar(column) > 1e-12 for column in mine.T], dtype=bool)
        found = effective_number(mine[:, varies], pool.cluster, bootstrap)
        n = int(varies.sum())
        rows.append(
            {
                "jury": name,
                "jurors": int(jury.sum()),
                "correlation": (n / found.value - 1) / (n - 1) if n > 1 and found.defined else np.nan,
                "effective": found.value,
                "low": found.low,
                "high": found.high,
                "participation": _participation(mine[:, varies]),
                "note": found.note,
            }
        )
    return pd.DataFrame(rows)


def effective_number(values: FloatArray, cluster: IntArray, bootstrap: Bootstrap) -> Estimate:
    """The effective number of independent jurors: the variance of one juror's error over that of the mean error.

    Every juror's errors are brought to unit variance first.
    """
    if values.shape[1] < 2:
        return undefined("fewer than two jurors with errors that vary", method=METHOD, n=len(values))
    standard = (values - np.nanmean(values, axis=0)) / np.nanstd(values, axis=0)
    full = np.nan_to_num(standard)
    grid = Matrix(full, tuple(range(len(full))), tuple(map(str, range(full.shape[1]))), cluster)
    found = bootstrap.estimate(
        _design_effect, _dense_clusters(grid), method=METHOD, otherwise="errors cancel out"
    )
    if found.defined and found.value > 10 * values.shape[1]:
        return undefined("errors cancel out: the mean hardly errs at all", method=METHOD, n=len(values))
    return found


def _dense_clusters(grid: Matrix) -> Matrix:
    _, cluster = np.unique(grid.cluster, return_inverse=True)
    return Matrix(grid.values, grid.cases, grid.raters, cluster.astype(np.int64))


def _design_effect(values: FloatArray) -> OfSums:
    mean = values.mean(axis=1)
    jurors = values.shape[1]
    sums = np.column_stack([values, (values**2).mean(axis=1), mean, mean**2, np.ones(len(values))])

    def value(totals: FloatArray) -> FloatArray:
        n = np.maximum(totals[:, -1], 1)
        alone = totals[:, jurors] / n - ((totals[:, :jurors] / n[:, None]) ** 2).mean(axis=1)
        together = totals[:, jurors + 2] / n - (totals[:, jurors + 1] / n) ** 2
        return np.where(together > 1e-12, alone / np.maximum(together, 1e-12), np.nan)

    return OfSums(sums, value)


def _participation(values: FloatArray) -> float:
    if values.shape[1] < 2:
        return float(values.shape[1]) if values.shape[1] else np.nan
    matrix = np.nan_to_num(correlation_matrix(values))
    return float(np.trace(matrix) ** 2 / (matrix**2).sum())
