"""Stability: how far one judge's scores of one case scatter when nothing is changed, against people's scatter."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from ..ratings.clusters import cluster_numbers
from ..ratings.evidence import Evidence
from ..ratings.sheet import OVERALL
from ..statistics.bootstrap import OfSums
from ..statistics.draws import Draws
from ..statistics.estimate import undefined
from ..statistics.matrix import FloatArray, Matrix
from ..statistics.multiplicity import holm
from ..statistics.paired_test import Contrast, swap_test

PEOPLE = "people"
BY_CASE = ["judge", "attribute", "case", "repeats", "mean", "sd", "cv"]
BY_JUDGE = ["judge", "attribute", "cases", "repeats", "sd", "low", "high", "mean_sd", "mean_cv", "note"]
STEADIER = ["first", "second", "attribute", "difference", "low", "high", "p", "p_holm", "n", "note"]
METHOD = "difference of root mean variances within a case"


def scatter(evidence: Evidence) -> pd.DataFrame:
    """One row for each judge, attribute and case with two scores or more: their mean, SD and CV.

    A judge is a seat with its arm, its scores the repeats it was asked for; `people` is everyone who rated the case.
    SD has n - 1 below; CV is SD over mean, NaN where the mean is 0. Points of the scale, not turned.
    """
    numeric = [name for name, asked in evidence.questions.items() if asked.scale.numeric]
    votes = evidence.ballots
    parts = []
    if len(votes):
        parts.append(votes.assign(judge=votes["arm"] + ": " + votes["seat"]))
    parts.append(evidence.people.assign(judge=PEOPLE))
    rows = pd.concat([part[["judge", "attribute", "case", "value"]] for part in parts], ignore_index=True)
    rows = rows[rows["attribute"].isin(numeric)]
    rows = rows.assign(value=pd.to_numeric(rows["value"], errors="coerce").astype(float))
    found = rows.groupby(["judge", "attribute", "case"], sort=False)["value"].agg(["count", "mean", "std"])
    found = found[found["count"] > 1].reset_index()
    found.columns = pd.Index(["judge", "attribute", "case", "repeats", "mean", "sd"])
    mean = found["mean"].abs().to_numpy(float)
    cv = np.divide(found["sd"], mean, out=np.full(len(found), np.nan), where=mean > 0)
    return found.assign(cv=cv)[BY_CASE]


def judges_scatter(by_case: pd.DataFrame, groups: pd.Series, draws: Draws) -> pd.DataFrame:
    """One row for each judge and attribute: `sd` is the root of the mean variance, with an interval from resampling cases."""
    found = []
    for (judge, attribute), rows in by_case.groupby(["judge", "attribute"], sort=False):
        grid = _grid(rows[["case"]].assign(one=rows["sd"] ** 2), groups)
        each = draws.bootstrap().estimate(_root, grid, method="SD within a case", otherwise="no repeats")
        told = [each.value, each.low, each.high, rows["sd"].mean(), rows["cv"].mean()]
        found.append((judge, attribute, len(rows), rows["repeats"].median(), *told, each.note))
    return pd.DataFrame(found, columns=BY_JUDGE)


def steadier(by_case: pd.DataFrame, groups: pd.Series, pooled: Sequence[str], draws: Draws) -> pd.DataFrame:
    """One row for each two judges and attribute: the first's SD minus the second's, on the cases both scored twice or more.

    Tested by swapping the two judges' variances within cases. `overall` takes the variances of the `pooled` attributes, which share a scale, together. `p` is corrected by Holm's method over the pairs,
    `overall` being one family and the attributes another.
    """
    judges = list(dict.fromkeys(by_case["judge"]))
    variance = by_case.assign(variance=by_case["sd"] ** 2)
    found = []
    for first, second in combinations(judges, 2):
        sides = [variance[variance["judge"] == name] for name in (first, second)]
        both = sides[0].merge(sides[1], on=["case", "attribute"], suffixes=("_one", "_two"))
        for attribute in (OVERALL, *dict.fromkeys(both["attribute"])):
            wanted = pooled if attribute == OVERALL else (attribute,)
            rows = both[both["attribute"].isin(wanted)]
            each, p = _difference(rows, groups, draws)
            told = (each.value, each.low, each.high, p, rows["case"].nunique(), each.note)
            found.append((first, second, attribute, *told))
    table = pd.DataFrame(found, columns=[name for name in STEADIER if name != "p_holm"])
    family = table["attribute"] == OVERALL
    table["p_holm"] = table.groupby(family)["p"].transform(lambda p: holm(p.tolist())) if len(table) else []
    return table[STEADIER]


def _difference(rows: pd.DataFrame, groups: pd.Series, draws: Draws) -> Contrast:
    if rows["case"].nunique() < 2:
        few = f"{rows['case'].nunique()} case(s) that both scored twice or more; two are needed"
        return Contrast(undefined(few, method=METHOD), np.nan)
    paired = rows.rename(columns={"variance_one": "one", "variance_two": "two"})[["case", "one", "two"]]
    grid = _grid(paired, groups)
    return swap_test(
        _root,
        grid.values[:, :1],
        grid.values[:, 1:],
        grid.cluster,
        draws=draws,
        method=METHOD,
        otherwise="no repeats",
    )


def _grid(rows: pd.DataFrame, groups: pd.Series) -> Matrix:
    """Variances as columns; rows of one case or group are drawn together."""
    cluster = cluster_numbers(rows["case"], groups)
    values = rows.drop(columns="case").to_numpy(float)
    return Matrix(values, tuple(range(len(rows))), tuple(rows.columns[1:]), cluster)


def _root(values: FloatArray) -> OfSums:
    sums = np.column_stack([values[:, 0], np.ones(len(values))])
    return OfSums(sums, lambda total: np.sqrt(total[:, 0] / np.maximum(total[:, 1], 1)))
