"""How many repeats are enough: what the scatter of a judge's scores looks like after two of them, three, and so on."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..ratings.evidence import Evidence
from ..statistics.matrix import FloatArray

RELIABLE = 0.9
"""The mean of enough repeats keeps this share of its variance for differences between cases."""
DRAWS = 200
CELLS = 4_000_000
"""Scores shuffled for one judge and attribute at most."""
COLUMNS = ["judge", "attribute", "repeats", "sd", "low", "high", "standard_error", "reliability"]
ENOUGH = ["judge", "attribute", "repeats", "enough", "note"]


def convergence(evidence: Evidence, *, seed: int) -> pd.DataFrame:
    """One row for each judge, attribute and number of repeats from two to all that were made.

    `sd` is the scatter within a case as that many repeats, chosen at random, would show it, with the range of 95% of
    such choices; `standard_error` that of their mean; `reliability` the share of the variance of those means that
    is between cases (Spearman and Brown).
    """
    rows = []
    for judge, attribute, grid in _grids(evidence):
        within, between = _components(grid)
        k = grid.shape[1]
        middle, low, high = _choices(grid, np.random.default_rng(seed))
        for m in range(2, k + 1):
            stable = between / (between + within / m) if between + within > 0 else np.nan
            told = (middle[m - 2], low[m - 2], high[m - 2], np.sqrt(within / m), stable)
            rows.append((judge, attribute, m, *map(float, told)))
    return pd.DataFrame(rows, columns=COLUMNS)


def enough_repeats(evidence: Evidence) -> pd.DataFrame:
    """One row for each judge and attribute: the fewest repeats whose mean is reliable to 0.9."""
    rows: list[tuple[object, ...]] = []
    for judge, attribute, grid in _grids(evidence):
        within, between = _components(grid)
        k = grid.shape[1]
        if within == 0:
            rows.append((judge, attribute, k, 1.0, "every repeat gave the same"))
        elif between == 0:
            rows.append((judge, attribute, k, np.nan, "cases do not differ by more than repeats do"))
        else:
            fewest = max(1, int(np.ceil(RELIABLE / (1 - RELIABLE) * within / between - 1e-9)))
            rows.append((judge, attribute, k, float(fewest), "more than were made" if fewest > k else ""))
    return pd.DataFrame(rows, columns=ENOUGH)


def _grids(evidence: Evidence) -> list[tuple[str, str, FloatArray]]:
    """Each judge and attribute with its scores, cases by repeats; cases with fewer repeats than most are left out."""
    votes = evidence.ballots
    if votes.empty:
        return []
    numeric = [name for name, asked in evidence.questions.items() if asked.scale.numeric]
    votes = votes[votes["attribute"].isin(numeric)]
    votes = votes.assign(judge=votes["arm"] + ": " + votes["seat"])
    found = []
    for (judge, attribute), rows in votes.groupby(["judge", "attribute"], sort=False):
        size = rows.groupby("case")["value"].transform("size")
        k = int(size.mode().iloc[-1])
        kept = rows[size == k].sort_values("case", kind="stable")
        if k > 1 and len(kept) // k > 1:
            values = pd.to_numeric(kept["value"]).to_numpy(float).reshape(-1, k)
            found.append((str(judge), str(attribute), values))
    return found


def _components(grid: FloatArray) -> tuple[float, float]:
    """The variance within cases, and that between them, which is never below 0."""
    k = grid.shape[1]
    within = float(grid.var(axis=1, ddof=1).mean())
    return within, max(0.0, float(grid.mean(axis=1).var(ddof=1)) - within / k)


def _choices(grid: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The SD that two repeats show, three, and so on: its mean over random choices, and the range of 95% of them."""
    k = grid.shape[1]
    draws = int(np.clip(CELLS // grid.size, 20, DRAWS))
    m = np.arange(2, k + 1)
    seen = np.empty((draws, k - 1))
    for draw in range(draws):
        shuffled = rng.permuted(grid, axis=1)
        total, squares = shuffled.cumsum(axis=1)[:, 1:], (shuffled**2).cumsum(axis=1)[:, 1:]
        variance = np.maximum(squares - total**2 / m, 0.0) / (m - 1)
        seen[draw] = np.sqrt(variance.mean(axis=0))
    low, high = np.quantile(seen, [0.025, 0.975], axis=0)
    return seen.mean(axis=0), low, high
