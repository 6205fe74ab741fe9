"""Dependence of jurors' errors: their correlations, and the effective number of independent jurors."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..statistics.effective_number import LEAST, PairSums, correlation_matrix, effective_number
from ..statistics.estimate import Estimate, undefined
from ..statistics.jackknife import ERROR, jackknife
from ..statistics.matrix import FloatArray, IntArray
from .juror_pool import Pool
from .jury_counts import Members

METHOD = "n / (1 + (n - 1) r), r the mean correlation of two jurors' errors on what both answered"
FURTHEST = 10
"""Beyond so many times its jurors a jury's errors cancel out, and no number of independent jurors says what it is worth."""


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


def independence(pool: Pool, juries: dict[str, Members]) -> pd.DataFrame:
    """For each jury: the mean correlation of its members' errors, and how many independent jurors that leaves.

    `effective` is the number of independent jurors whose mean would err as much: the design effect of Kish (1965).
    `participation` counts the dimensions that errors spread over: (sum of eigenvalues)^2 / sum of their squares.
    Every correlation is of the questions that both jurors answered. Jurors whose error never varies have none and are left
    out of both.
    """
    errors = juror_errors(pool)
    rows = []
    for name, jury in juries.items():
        mine = errors[:, jury]
        mine = mine[:, [np.nanvar(column) > 1e-12 for column in mine.T]]
        number = effective_number(correlation_matrix(mine))
        found = effective_jurors(mine, pool.cluster)
        rows.append(
            {
                "jury": name,
                "jurors": int(jury.sum()),
                "correlation": number.correlation if found.defined else np.nan,
                "effective": found.value,
                "low": found.low,
                "high": found.high,
                "participation": number.participation,
                "note": found.note,
            }
        )
    return pd.DataFrame(rows)


def effective_jurors(errors: FloatArray, cluster: IntArray, confidence: float = 0.95) -> Estimate:
    """The effective number of independent jurors, by Kish, with the interval of a jackknife over clusters.

    Args:
        errors: By question and juror; NaN without an answer, which has no part in any correlation.
        cluster: By question, the number of what is left out as a whole.
    """
    questions, jurors = errors.shape
    if jurors < 2:
        return undefined("fewer than two jurors with errors that vary", method=METHOD, n=questions)
    sums = PairSums.of(errors)
    number = effective_number(sums.correlations)
    lacking = f"{number.unknown} pairs of jurors share fewer than {LEAST} questions on which both vary"
    if np.isnan(number.correlation):
        return undefined(lacking, method=METHOD, n=questions)
    if not number.kish <= FURTHEST * jurors:
        return undefined("errors cancel out: the mean hardly errs at all", method=METHOD, n=questions)
    groups = [errors[rows] for rows in _rows_by_cluster(cluster)]
    without = [
        effective_number(sums.less(PairSums.of(rows, sums.centre)).correlations).kish for rows in groups
    ]
    spread = jackknife(number.kish, np.array(without), np.ones(len(groups), dtype=np.int64), ERROR)
    low, high = (np.nan, np.nan) if spread is None else spread.bounds(confidence)
    notes = [lacking + " and have no part in it"] if number.unknown else []
    if spread is None:
        notes.append(f"no interval: {len(groups)} cases or groups that can be left out tell too little")
    return Estimate(number.kish, low, high, questions, METHOD, confidence, "; ".join(notes))


def _rows_by_cluster(cluster: IntArray) -> list[IntArray]:
    order = np.argsort(cluster, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(cluster[order])) + 1)
