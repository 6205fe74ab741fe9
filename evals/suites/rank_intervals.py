"""Intervals of ranks: who may stand above whom, had other scenarios and other cases been drawn."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri, stdtrit

from ..statistics.draws import Draws
from ..statistics.matrix import FloatArray
from .win_rates import TieRule, scenario_win_rates

FEWEST = 5
"""Scenarios below which every rank stays possible: no simulation shows narrower intervals to hold."""
NARROW = 0.6
"""Share of the error allowed that resamples are given: errors are taken from the whole board and not from each resample, which alone
held 92 to 93% of boards of equal systems where 95% were asked for."""
BORROWED = 8
"""Degrees of freedom that each pair's error borrows from all pairs'."""


def rank_intervals(
    scores: FloatArray,
    cases: list[FloatArray | None],
    ties: TieRule,
    draws: Draws,
    *,
    confidence: float = 0.95,
) -> list[tuple[int, int]]:
    """The best and the worst rank by win rate that each system may have.

    A system's best rank counts those that demonstrably beat it, its worst those that it demonstrably beats: differences of
    win rates, held against the largest on the whole board that chance alone gives. So all intervals hold at once, and systems that
    are equal share their ranks, where the percentiles of resampled ranks would part them.

    Args:
        scores: Systems by scenarios, higher is better, NaN where there is none.
        cases: For each scenario, its cases by systems on the same scale; None where they are not known.
        draws: Each resample draws scenarios and, within them, cases.

    References:
        Mogstad, Romano, Shaikh and Wilhelm (2024), "Inference for Ranks", Review of Economic Studies 91.
    """
    systems, scenarios = scores.shape
    if scenarios < FEWEST:
        return [(1, systems)] * systems
    rates = scenario_win_rates(scores, ties)
    resampled = _resampled_rates(scores, cases, ties, draws)
    found = _mean_rates(rates, np.ones((1, scenarios)))[0]
    apart = found[:, None] - found[None, :]
    noise = (resampled[:, :, None] - resampled[:, None, :]) - apart
    error = _moderated_errors(noise, scenarios)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = np.where(error > 1e-12, np.abs(noise) / error, 0.0)
        seen = np.where(error > 1e-12, apart / error, np.sign(np.round(apart, 12)) * np.inf)
    largest = np.quantile(np.nanmax(ratios, axis=(1, 2)), 1 - NARROW * (1 - confidence))
    limit = largest * _small_sample_factor(
        scenarios - 1 + BORROWED // 2, systems * (systems - 1) // 2, confidence
    )
    above = (seen < -limit).sum(axis=1)
    below = (seen > limit).sum(axis=1)
    return [(1 + int(better), systems - int(worse)) for better, worse in zip(above, below, strict=True)]


def _moderated_errors(noise: FloatArray, scenarios: int) -> FloatArray:
    """Standard errors of the differences, each drawn towards the mean of all: alone, one of few scenarios may be tiny by chance."""
    variances = np.nanmean(noise**2, axis=0) * scenarios / (scenarios - 1)
    typical = variances[~np.eye(len(variances), dtype=bool)].mean() if len(variances) > 1 else 0.0
    freedom = scenarios - 1
    return np.sqrt((freedom * variances + BORROWED * typical) / (freedom + BORROWED))


def _small_sample_factor(freedom: int, pairs: int, confidence: float) -> float:
    """How much further out the largest of so many differences lies when errors are estimated from few scenarios."""
    level = 1 - (1 - confidence) / (2 * max(pairs, 1))
    return float(stdtrit(freedom, level) / ndtri(level))


def _resampled_rates(
    scores: FloatArray, cases: list[FloatArray | None], ties: TieRule, draws: Draws
) -> FloatArray:
    """Win rates of each resample: resamples by systems."""
    rng = draws.rng()
    scenarios = scores.shape[1]
    counts = rng.multinomial(scenarios, np.full(scenarios, 1 / scenarios), size=draws.resamples).astype(float)
    if all(its is None for its in cases):
        return _mean_rates(scenario_win_rates(scores, ties), counts)
    drawn = np.repeat(scores[None], draws.resamples, axis=0)
    for number, its in enumerate(cases):
        if its is not None and len(its):
            drawn[:, :, number] = _resampled_means(its, draws.resamples, rng)
    # In parts: all pairs of systems on all scenarios of all resamples at once would be large.
    parts = np.array_split(np.arange(draws.resamples), 1 + drawn.size * len(scores) // 5_000_000)
    return np.concatenate(
        [_mean_rates(scenario_win_rates(drawn[part], ties), counts[part]) for part in parts]
    )


def _resampled_means(cases: FloatArray, resamples: int, rng: np.random.Generator) -> FloatArray:
    n = len(cases)
    counts = rng.multinomial(n, np.full(n, 1 / n), size=resamples).astype(float)
    present = ~np.isnan(cases)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (counts @ np.where(present, cases, 0.0)) / (counts @ present)


def _mean_rates(rates: FloatArray, counts: FloatArray) -> FloatArray:
    """The mean of each system's rates over scenarios, each counted so often; by resample."""
    present = ~np.isnan(rates)
    filled = np.where(present, rates, 0.0)
    if rates.ndim == 2:
        total, number = counts @ filled.T, counts @ present.T.astype(float)
    else:
        total = np.einsum("rs,rks->rk", counts, filled)
        number = np.einsum("rs,rks->rk", counts, present.astype(float))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(number > 0, total / number, np.nan)
