"""How good a triage is, where labels exist: errors found against cases reviewed."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..ratings.marks import Marks
from ..statistics.bootstrap import Statistic
from ..statistics.correlation import spearman_statistic
from ..statistics.draws import Draws
from ..statistics.estimate import Estimate
from ..statistics.matrix import FloatArray, Matrix
from ..statistics.proportion import wilson
from .severity import HAIR, Severity
from .triage import SIGNALS, Docket

CURVE = ["arm", "reviewed", "found"]
AREAS = ["arm", "order", "area", "low", "high", "p", "best", "errors", "n", "note"]
LEVELS = ["arm", "score", "from", "to", "n", "errors", "probability", "low", "high"]
TRIAGED = "triage"
POINTS = 101
FEW = 7
"""Up to so many distinct scores, each has its own probability; more are cut into five groups of equal size."""


def errors(marks: Marks, arm: str, severity: Severity) -> pd.Series:
    """By case, whether the arm is off people's reference by the margin or more, either way, on any attribute; NaN where
    nothing was scored by both."""
    off = (marks.table[arm] - marks.reference()).abs()
    wrong = (off >= severity.margin - HAIR).astype(float).where(off.notna())
    return wrong.groupby(level="case", sort=False).max()


def gains(docket: Docket, wrong: pd.Series) -> pd.DataFrame:
    """The share of errors found once so many of the cases were reviewed in the docket's order; ties are shared out."""
    keys, error = _order_and_error(docket, wrong)
    if not error.sum():
        return pd.DataFrame(columns=CURVE)
    reviewed, found = found_curve(keys, error)
    at = np.linspace(0, 1, min(POINTS, len(keys) + 1))
    return pd.DataFrame({"arm": docket.arm, "reviewed": at, "found": np.interp(at, reviewed, found)})


def areas(docket: Docket, wrong: pd.Series, marks: Marks, draws: Draws) -> pd.DataFrame:
    """The area under that curve, 0.5 in random order, with `p` of its being 0.5; of the triage and of each signal alone.

    `best` is the area when every error comes first. Intervals resample cases or their groups, the order held.
    """
    rows = []
    table = docket.cases.set_index("case")
    cluster, _ = pd.factorize(marks.clusters.reindex(_known_cases(docket, wrong)))
    for order in (TRIAGED, *SIGNALS):
        keys, error = _order_and_error(docket, wrong, None if order == TRIAGED else table[order])
        grid = Matrix(np.column_stack([keys, error]), tuple(range(len(keys))), (), cluster.astype(np.int64))
        why = "the arm made no error of this size, or nothing else"
        each, p = draws.bootstrap().estimate_and_p(
            area_statistic, grid, method="area under the curve of errors found", otherwise=why
        )
        best = 1 - error.mean() / 2 if len(error) else np.nan
        told = (each.value + 0.5, each.low + 0.5, each.high + 0.5, p, best, int(error.sum()), len(error))
        rows.append((docket.arm, order, *told, each.note))
    return pd.DataFrame(rows, columns=AREAS)


def by_score(marks: Marks, arm: str, wrong: pd.Series) -> pd.DataFrame:
    """The probability of an error at each level of the case's mean mark (0 bad, 1 good), with Wilson's interval."""
    mark, error = _levels(marks, arm, wrong)
    if len(mark) < 2:
        return pd.DataFrame(columns=LEVELS)
    distinct = np.unique(mark)
    edges = distinct if len(distinct) <= FEW else np.unique(np.quantile(mark, np.linspace(0, 1, 6)[:-1]))
    group = np.searchsorted(edges, mark, side="right") - 1
    rows = []
    for number in np.unique(group):
        mine = group == number
        n, k = int(mine.sum()), int(error[mine].sum())
        ends = (float(mark[mine].min()), float(mark[mine].max()))
        rows.append((arm, float(mark[mine].mean()), *ends, n, k, k / n, *wilson(k / n, n, 0.95)))
    return pd.DataFrame(rows, columns=LEVELS)


def score_and_error(marks: Marks, arm: str, wrong: pd.Series, draws: Draws) -> tuple[Estimate, float]:
    """Spearman's rho between a case's mean mark and an error: below 0 where low scores are where people disagree."""
    mark, error = _levels(marks, arm, wrong)
    cases = _mean_marks(marks, arm, wrong).index
    cluster, _ = pd.factorize(marks.clusters.reindex(cases))
    grid = Matrix(np.column_stack([mark, error]), tuple(cases), (), cluster.astype(np.int64))
    return draws.bootstrap().estimate_and_p(
        lambda values: spearman_statistic(values[:, 0], values[:, 1]) if len(values) else _nothing,
        grid,
        method="Spearman's rho",
        otherwise="every case is an error, or none, or all scores are the same",
    )


def _nothing(weights: FloatArray) -> FloatArray:
    return np.full(len(weights), np.nan)


def _mean_marks(marks: Marks, arm: str, wrong: pd.Series) -> pd.Series:
    mean = marks.table[arm].groupby(level="case", sort=False).mean()
    return mean[mean.notna() & wrong.reindex(mean.index).notna()]


def _levels(marks: Marks, arm: str, wrong: pd.Series) -> tuple[FloatArray, FloatArray]:
    """Each case's mean mark, to a thousandth, and whether it is an error."""
    mean = _mean_marks(marks, arm, wrong)
    return np.round(mean.to_numpy(float), 3), wrong.reindex(mean.index).to_numpy(float)


def _known_cases(docket: Docket, wrong: pd.Series) -> list[str]:
    known = set(wrong.dropna().index)
    return [case for case in docket.cases["case"] if case in known]


def _order_and_error(
    docket: Docket, wrong: pd.Series, by: pd.Series | None = None
) -> tuple[FloatArray, FloatArray]:
    """What the cases are ordered by, high first, and whether each is an error."""
    cases = _known_cases(docket, wrong)
    table = docket.cases.set_index("case").reindex(cases)
    keys = -table["place"] if by is None else by.reindex(cases).fillna(0.0)
    return keys.to_numpy(float), wrong.reindex(cases).to_numpy(float)


def found_curve(keys: FloatArray, error: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The share of cases reviewed, highest key first and ties together, and the share of errors found by then."""
    _, block = np.unique(-keys, return_inverse=True)
    cases, wrong = np.bincount(block), np.bincount(block, weights=error)
    zero = np.zeros(1)
    return np.append(zero, cases.cumsum() / cases.sum()), np.append(zero, wrong.cumsum() / wrong.sum())


def area_statistic(values: FloatArray) -> Statistic:
    """The area above that of random order, as a function of the weights of cases."""
    order = np.argsort(-values[:, 0], kind="stable")
    keys, error = values[order, 0], values[order, 1]
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else np.zeros(0, dtype=int)

    def area(weights: FloatArray) -> FloatArray:
        if not len(starts):
            return np.full(len(weights), np.nan)
        drawn = weights[:, order]
        cases = np.add.reduceat(drawn, starts, axis=1)
        wrong = np.add.reduceat(drawn * error, starts, axis=1)
        before = wrong.cumsum(axis=1) - wrong / 2
        total, n = wrong.sum(axis=1), cases.sum(axis=1)
        bottom = total * n
        mixed = (bottom > 0) & (total < n)
        under = np.divide(
            (cases * before).sum(axis=1), bottom, out=np.full(len(weights), np.nan), where=mixed
        )
        return under - 0.5

    return area
