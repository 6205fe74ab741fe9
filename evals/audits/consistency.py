"""Internal consistency: how an evaluator's attributes go together, and whether more so than people's."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..ratings.marks import Marks
from ..statistics.bootstrap import Coefficient, OfSums
from ..statistics.draws import Draws
from ..statistics.estimate import Estimate, undefined
from ..statistics.matrix import FloatArray
from ..statistics.mean_ranks import mean_ranks
from ..statistics.multiplicity import holm
from ..statistics.paired_test import swap_test

PEOPLE = "people's reference"
CORRELATIONS = ["evaluator", "kind", "first", "second", "spearman", "n", "note"]
HALO = [
    *(
        "evaluator",
        "kind",
        "mean",
        "people",
        "difference",
        "low",
        "high",
        "p",
        "p_holm",
        "apart",
        "n",
        "note",
    ),
]
METHOD = "mean Spearman's rho among attributes, minus people's"
LEAST = 3
"""Cases without which two attributes have no correlation worth the name."""


def grids(marks: Marks) -> dict[str, tuple[str, pd.DataFrame]]:
    """By evaluator, its kind and its marks, cases by attributes; the people's reference first."""
    names = marks.attributes()
    columns = {PEOPLE: marks.reference()} if marks.people else {}
    columns |= {name: marks.table[name] for name in marks.kinds}
    found = {}
    for name, column in columns.items():
        wide = column.unstack("attribute").reindex(columns=names)
        if wide.notna().any(axis=None):
            found[name] = (marks.kinds.get(name, "people"), wide)
    return found


def correlations(marks: Marks) -> pd.DataFrame:
    """One row for each evaluator and two attributes: Spearman's rho over the cases, good being high on both."""
    rows = []
    for evaluator, (kind, wide) in grids(marks).items():
        values = wide.to_numpy(float)
        known = ~np.isnan(values)
        pairs = list(combinations(range(wide.shape[1]), 2))
        # Without gaps every pair has all cases, whose ranks and correlations are then taken at once.
        whole = _table(_ranks(values)) if known.all() and pairs else None
        for place, (i, j) in enumerate(pairs):
            both = values[known[:, i] & known[:, j]][:, [i, j]]
            rho, note = _spearman(both, None if whole is None else float(whole[place]))
            rows.append((evaluator, kind, wide.columns[i], wide.columns[j], rho, len(both), note))
    return pd.DataFrame(rows, columns=CORRELATIONS)


def halo(marks: Marks, draws: Draws) -> pd.DataFrame:
    """One row for each evaluator: the mean correlation among its attributes, against the people's on the same cases.

    A positive `difference` is a halo: attributes that people tell apart go together. `apart` is the root mean
    squared distance between the two sets of correlations. Tested by swapping evaluator and people within cases or their
    groups; scores are ranked once. `p` is corrected by Holm's method over the evaluators.
    """
    everyone = grids(marks)
    people = everyone.get(PEOPLE)
    rows: list[dict[str, object]] = []
    for evaluator, (kind, wide) in everyone.items():
        if evaluator == PEOPLE:
            continue
        row = {"evaluator": evaluator, "kind": kind, "p": np.nan, "people": np.nan, "apart": np.nan}
        if people is None or wide.shape[1] < 2:
            why = "nobody rated the cases" if people is None else "one attribute correlates with nothing"
            each: Estimate = undefined(why, method=METHOD, n=len(wide))
            mean = _mean(_table(_ranks(wide.to_numpy(float)))) if wide.shape[1] > 1 else np.nan
            rows.append({**row, "mean": mean, **_cells(each)})
            continue
        reference = people[1]
        if kind == "person":
            reference = (
                marks.reference(without=[evaluator]).unstack("attribute").reindex(columns=wide.columns)
            )
        mine, theirs = wide.align(reference, join="inner", axis=0)
        both = mine.notna() & theirs.notna()
        held = both.any(axis=1)
        mine, theirs = mine.where(both)[held], theirs.where(both)[held]
        cluster, _ = pd.factorize(marks.clusters.reindex(mine.index))
        ranked = _ranks(mine.to_numpy(float)), _ranks(theirs.to_numpy(float))
        own, others = map(_table, ranked)
        apart = own - others
        known = ~np.isnan(apart)
        each, p = swap_test(
            _mean_of_pairs(known),
            *ranked,
            cluster.astype(np.int64),
            draws=draws,
            method=METHOD,
            otherwise="too few cases or values to correlate"
            if held.any()
            else "nobody else rated these cases",
        )
        row |= {"p": p, "apart": float(np.sqrt((apart[known] ** 2).mean())) if known.any() else np.nan}
        row |= {"mean": _mean(own), "people": _mean(others)}
        rows.append({**row, **_cells(each)})
    table = pd.DataFrame(rows, columns=[name for name in HALO if name != "p_holm"])
    return table.assign(p_holm=holm(table["p"].tolist()))[HALO]


def _cells(each: Estimate) -> dict[str, object]:
    return {"difference": each.value, "low": each.low, "high": each.high, "n": each.n, "note": each.note}


def _spearman(both: FloatArray, known: float | None) -> tuple[float, str]:
    """Spearman's rho of two columns, unless it is known, and why it is NaN."""
    if len(both) < LEAST:
        return np.nan, f"{len(both)} cases have both; {LEAST} are needed"
    if not np.ptp(both, axis=0).all():
        return np.nan, "one value throughout, so there is nothing to correlate"
    return float(_table(_ranks(both))[0]) if known is None else known, ""


def _ranks(values: FloatArray) -> FloatArray:
    """Ranks by column, centred on the middle one; NaN stays."""
    ranked = np.full(values.shape, np.nan)
    for column in range(values.shape[1]):
        known = ~np.isnan(values[:, column])
        ranked[known, column] = mean_ranks(values[known, column]) - (known.sum() + 1) / 2
    return ranked


def _table(ranked: FloatArray) -> FloatArray:
    """The correlations of every two columns of ranks."""
    each = _of_sums(ranked)
    return each.value(each.sums.sum(axis=0, keepdims=True))[0]


def _mean(correlations: FloatArray) -> float:
    known = correlations[~np.isnan(correlations)]
    return float(known.mean()) if len(known) else np.nan


def _mean_of_pairs(chosen: npt.NDArray[np.bool_]) -> Coefficient:
    """The mean correlation over the `chosen` pairs of columns; after a swap, over those it leaves defined."""

    def coefficient(ranked: FloatArray) -> OfSums:
        each = _of_sums(ranked)

        def value(total: FloatArray) -> FloatArray:
            found = each.value(total).T if chosen.all() else each.value(total).T[chosen]
            summed = found.sum(axis=0)
            if len(found) and not np.isnan(summed).any():
                return summed / len(found)
            known = ~np.isnan(found)
            count = known.sum(axis=0)
            summed = np.where(known, found, 0.0).sum(axis=0)
            return np.divide(summed, count, out=np.full(len(count), np.nan), where=count > 0)

        return OfSums(each.sums, value)

    return coefficient


def _of_sums(ranked: FloatArray) -> OfSums:
    """Pearson's r of every two columns as a function of weighted sums, over the cases that have both."""
    pairs = list(combinations(range(ranked.shape[1]), 2))
    parts = []
    for i, j in pairs:
        both = ~np.isnan(ranked[:, i] + ranked[:, j])
        x, y = (np.where(both, ranked[:, column], 0.0) for column in (i, j))
        parts.append(np.column_stack([both, x, y, x * y, x * x, y * y]))
    every = np.hstack(parts) if parts else np.zeros((len(ranked), 0))
    # Without gaps most sums are the same for many pairs, and are taken once.
    places: dict[bytes, int] = {}
    where = np.array([places.setdefault(column.tobytes(), len(places)) for column in every.T], dtype=np.int64)
    _, first = np.unique(where, return_index=True)
    sums = every[:, first]

    n_, x_, y_, xy_, xx_, yy_ = (where[offset::6] for offset in range(6))
    # Each column's count, sum and sum of squares, once for all pairs that share them.
    sides, side = np.unique(
        np.concatenate([np.column_stack([n_, x_, xx_]), np.column_stack([n_, y_, yy_])]),
        axis=0,
        return_inverse=True,
    )
    left, right = side.reshape(2, -1)

    def value(total: FloatArray) -> FloatArray:
        # One row a pair, so that arithmetic runs along the many totals.
        rows = total.T
        n, x, squares = (rows[column] for column in sides.T)
        count = np.maximum(n, 1)
        mean = x / count
        spread = squares - x * mean
        spread[(n < LEAST) | (spread <= 1e-9 * count)] = np.nan
        found, bottom = rows[xy_], spread[left]
        found -= rows[x_] * mean[right]
        bottom *= spread[right]
        found /= np.sqrt(bottom, out=bottom)
        return np.clip(found, -1.0, 1.0, out=found).T

    return OfSums(sums, value)
