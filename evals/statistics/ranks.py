"""Ranks of systems by the mean of their cases, and how far two rankings agree, with intervals from resampling cases."""

import numpy as np
import pandas as pd

from ...rubrics.errors import count_words
from .draws import Bootstrap
from .estimate import Estimate, undefined
from .matrix import FloatArray, Matrix
from .weighted import Coefficient, Statistic, over_clusters

FEW = 5
"""With fewer cases than this a system has a rank and no interval: resampling two or three cases knows nothing."""
SIDES = ("before", "after", "people")


def ranking(scores: pd.DataFrame, *, seed: int, resamples: int) -> pd.DataFrame:
    """One row for each side and system: `mean`, `rank` (1 is best, ties share the middle), `low`, `high`, `n`, `tied`.

    Args:
        scores: One row a case: `cluster`, `system`, `before`, `after`, `people`.
    """
    sides = [side for side in SIDES if scores[side].notna().all()]
    grid, names = _grid(scores, sides)
    size = scores.groupby("system").size().reindex(names).to_numpy(int)
    rows = []
    for number, side in enumerate(sides):
        boot = Bootstrap(np.random.default_rng(seed), resamples)
        statistic, frequency = over_clusters(_means(len(names), number), grid)
        mean = statistic(frequency[None, :].astype(float))
        rank = _ranks(mean)[0]
        drawn_ranks = _ranks(boot.draws(statistic, frequency))
        # Cases of one group are never drawn apart.
        ends = (
            np.quantile(drawn_ranks, [0.025, 0.975], axis=0, method="nearest")
            if len(drawn_ranks)
            else np.full((2, len(names)), np.nan)
        )
        low, high = ends
        sure = (size >= FEW) & (len(drawn_ranks) > 0)
        for place, system in enumerate(names):
            rows.append(
                {
                    "side": side,
                    "system": system,
                    "mean": float(mean[0, place]),
                    "rank": float(rank[place]),
                    "low": float(low[place]) if sure[place] else np.nan,
                    "high": float(high[place]) if sure[place] else np.nan,
                    "n": int(size[place]),
                    "tied": bool((np.abs(mean[0] - mean[0, place]) < 1e-9).sum() > 1),
                    "note": ""
                    if sure[place]
                    else f"{count_words(int(size[place]), 'case')}{'' if len(drawn_ranks) else ' of one group'}: too few cases for an interval of the rank",
                }
            )
    return pd.DataFrame(rows)


def rank_agreement(scores: pd.DataFrame, *, seed: int, resamples: int) -> pd.DataFrame:
    """Kendall's tau-b with people's ranking before calibration, after it, and the change: `side`, `tau`, `low`, `high`, `p`, `systems`."""
    sides = [side for side in SIDES if scores[side].notna().all()]
    grid, names = _grid(scores, sides)
    people = len(sides) - 1
    measures: dict[str, Coefficient] = {
        side: _tau(len(names), number, people) for number, side in enumerate(sides[:-1])
    }
    if len(measures) == 2:
        measures["change"] = _apart(_tau(len(names), 1, people), _tau(len(names), 0, people))
    rows = []
    for side in ("before", "after", "change"):
        boot = Bootstrap(np.random.default_rng(seed), resamples)
        estimate: Estimate = undefined("there are no calibrated scores", method="Kendall's tau-b")
        if side in measures:
            estimate = boot.estimate(
                measures[side], grid, method="Kendall's tau-b", otherwise="all systems are tied on one side"
            )
        rows.append(
            {
                "side": side,
                "tau": estimate.value,
                "low": estimate.low,
                "high": estimate.high,
                "p": estimate.p,
                "systems": len(names),
                "n": len(grid.cases),
                "note": estimate.note,
            }
        )
    return pd.DataFrame(rows)


def _grid(scores: pd.DataFrame, sides: list[str]) -> tuple[Matrix, list[str]]:
    code, names = pd.factorize(scores["system"], sort=True)
    cluster, _ = pd.factorize(scores["cluster"])
    values = np.column_stack([scores[sides].to_numpy(float), code, np.zeros(len(code))])
    return Matrix(values, tuple(range(len(scores))), (*sides, "system", ""), cluster.astype(np.int64)), list(
        map(str, names)
    )


def _means(systems: int, side: int) -> Coefficient:
    """The mean of each system, a column each; where a resample lacks one, its mean over all cases."""

    def coefficient(values: FloatArray) -> Statistic:
        member = np.eye(systems)[values[:, -2].astype(int)]
        system_scores = member * values[:, [side]]
        overall = system_scores.sum(axis=0) / member.sum(axis=0)

        def means(weights: FloatArray) -> FloatArray:
            count = weights @ member
            return np.where(count > 0, (weights @ system_scores) / np.maximum(count, 1), overall)

        return means

    return coefficient


def _tau(systems: int, side: int, people: int) -> Coefficient:
    def coefficient(values: FloatArray) -> Statistic:
        side_means, people_means = (_means(systems, number)(values) for number in (side, people))
        return lambda weights: _tau_b(side_means(weights), people_means(weights))

    return coefficient


def _apart(minuend: Coefficient, subtrahend: Coefficient) -> Coefficient:
    def coefficient(values: FloatArray) -> Statistic:
        left, right = minuend(values), subtrahend(values)
        return lambda weights: left(weights) - right(weights)

    return coefficient


def _order(means: FloatArray) -> FloatArray:
    """Of each two columns in each row, whether the first is higher (1), lower (-1) or tied but for rounding (0)."""
    gap = means[:, :, None] - means[:, None, :]
    return np.where(np.abs(gap) < 1e-9, 0.0, np.sign(gap))


def _ranks(means: FloatArray) -> FloatArray:
    """The highest is 1; ties share the middle of their ranks."""
    order = _order(means)
    return 1 + (order < 0).sum(axis=2) + ((order == 0).sum(axis=2) - 1) / 2


def _tau_b(side_means: FloatArray, people_means: FloatArray) -> FloatArray:
    side_order, people_order = _order(side_means), _order(people_means)
    top = (side_order * people_order).sum(axis=(1, 2))
    bottom = np.sqrt(np.abs(side_order).sum(axis=(1, 2)) * np.abs(people_order).sum(axis=(1, 2)))
    return np.divide(top, bottom, out=np.full(len(side_means), np.nan), where=bottom > 0)
