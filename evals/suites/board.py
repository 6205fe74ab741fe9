"""A board: systems over scenarios by win rate and macro average, with what each rank and difference is worth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit

from ..statistics.draws import Draws
from ..statistics.matrix import FloatArray
from .differences import SystemDifference, macro_leader, system_differences
from .score_table import ScoreTable

TieRule = Literal["half", "strict", "wins"]
TIE_SHARE = {"half": 0.5, "strict": 0.0, "wins": 1.0}
"""What a tie counts for either side."""
FEWEST = 5
"""Scenarios below which every rank stays possible: no simulation shows narrower intervals to hold."""
NARROW = 0.6
"""Share of the error allowed that resamples are given: errors are taken from the whole board and not from each resample, which alone
held 92 to 93% of boards of equal systems where 95% were asked for."""
BORROWED = 8
"""Degrees of freedom that each pair's error borrows from all pairs'."""
ALPHA, POWER = 0.05, 0.8
FACTOR = float(ndtri(1 - ALPHA / 2) + ndtri(POWER))
"""How many standard errors a difference must be to be found with this power."""
TARGETS = (0.05, 0.02)
"""Differences for which the number of cases needed is given."""


@dataclass(frozen=True, slots=True)
class SystemStanding:
    """One system on the board; NaN where it has no score that counts."""

    system: str
    win_rate: float
    """Mean over its scenarios of the share of other systems that it beats."""
    win_sd: float
    """Standard deviation, over the others, of the share of scenarios on which it beats each."""
    macro: float
    """Mean over its scenarios of its scores, from 0 (worst) to 1 (best)."""
    sd: float
    """Standard deviation of those scores over its scenarios."""
    rank: tuple[int, int]
    categories: Mapping[str, float]
    """Mean score in each category."""
    scenarios: int
    """Scenarios on which it has a score."""
    complete_win_rate: float
    """Over the scenarios on which every system has a score."""
    complete_macro: float


@dataclass(frozen=True)
class Board:
    """Systems in the order of their win rates."""

    standings: tuple[SystemStanding, ...]
    ties: TieRule
    effects: Mapping[str, DetectableEffect]
    """By scenario, where its cases are known."""
    effect: DetectableEffect | None
    """On the macro average."""
    scenarios: tuple[str, ...]
    """Those that are compared."""
    complete: int
    """Of these, on how many every system has a score."""
    cases: Mapping[str, int]
    skipped: Mapping[str, str]
    """Scenarios that are not compared, and why."""
    not_averaged: tuple[str, ...]
    """Scenarios of an unknown scale: compared, and left out of averages."""
    differences: tuple[SystemDifference, ...]
    """Of every pair of systems, on the macro average and by scenario, where cases are known."""

    @property
    def rank_leader(self) -> str | None:
        """The system whose rank by win rate can only be the first."""
        leaders = [standing.system for standing in self.standings if standing.rank == (1, 1)]
        return leaders[0] if len(leaders) == 1 and len(self.standings) > 1 else None

    @property
    def leader(self) -> str | None:
        """The system that leads: by its rank, or else by the macro average; none where the two name different ones."""
        leaders = {self.rank_leader, macro_leader(self.differences)} - {None}
        return leaders.pop() if len(leaders) == 1 else None


def board(table: ScoreTable, *, ties: TieRule = "half", draws: Draws | None = None) -> Board:
    """The board of a table of scores; `draws` sets the resamples behind the intervals of ranks."""
    draws = draws or Draws()
    skipped = _skipped_scenarios(table)
    columns = [name for name in table.means.columns if name not in skipped]
    averaged = [
        name
        for name in table.means.columns
        if table.columns[name].direction != "none" and name not in table.off_scale
    ]
    scores = _shares(table, columns).to_numpy(float)
    shares = _shares(table, averaged)
    effects = {
        name: effect
        for name in averaged
        if name in table.cases and (effect := scenario_effect(_case_shares(table, name))) is not None
    }
    by_case = {name: _case_shares(table, name) for name in averaged if name in table.cases}
    cases = [_case_shares(table, name).to_numpy(float) if name in table.cases else None for name in columns]
    systems = list(table.means.index)
    ranks = rank_intervals(scores, cases, ties, draws) if columns else [(1, len(systems))] * len(systems)
    complete = ~np.isnan(scores).any(axis=0)
    rates, complete_rates = (
        _mean(scenario_win_rates(scores, ties)),
        _mean(scenario_win_rates(scores[:, complete], ties)),
    )
    deviations = _deviation_over_rivals(scores, ties)
    complete_shares = shares.dropna(axis=1)
    standings = [
        SystemStanding(
            system,
            rates[number],
            deviations[number],
            float(shares.loc[system].mean()),
            float(shares.loc[system].std(ddof=1)),
            ranks[number],
            _category_means(table, shares.loc[system]),
            int(table.means.loc[system].notna().sum()),
            complete_rates[number],
            float(complete_shares.loc[system].mean()),
        )
        for number, system in enumerate(systems)
    ]
    standings.sort(
        key=lambda standing: -math.inf if math.isnan(standing.win_rate) else standing.win_rate, reverse=True
    )
    return Board(
        tuple(standings),
        ties,
        effects,
        board_effect(effects) if set(effects) == set(averaged) else None,
        tuple(columns),
        int(complete.sum()),
        {name: len(case_scores) for name, case_scores in table.cases.items()},
        skipped,
        table.off_scale,
        system_differences(by_case, whole=set(by_case) == set(averaged)),
    )


def _skipped_scenarios(table: ScoreTable) -> dict[str, str]:
    skipped = dict(table.left_out)
    for name in table.means.columns:
        present = int(table.means[name].notna().sum())
        if table.columns[name].direction == "none":
            skipped[name] = "no direction (higher or lower is better) is given"
        elif present < 2:
            skipped[name] = f"{'one system has' if present else 'no system has'} a score"
    return skipped


def _shares(table: ScoreTable, names: list[str]) -> pd.DataFrame:
    """The means from worst to best; those of an unknown scale as they are, turned where lower is better."""
    return pd.DataFrame(
        {name: table.means[name].map(table.columns[name].share) for name in names}, index=table.means.index
    )


def _case_shares(table: ScoreTable, name: str) -> pd.DataFrame:
    return table.cases[name].map(table.columns[name].share)


def _mean(rates: np.ndarray) -> list[float]:
    return [float(row[~np.isnan(row)].mean()) if (~np.isnan(row)).any() else math.nan for row in rates]


def _deviation_over_rivals(scores: np.ndarray, ties: TieRule) -> list[float]:
    """Population standard deviation, over rivals, of the share of shared scenarios on which each is beaten."""
    wins = pairwise_wins(scores, ties)
    deviations = []
    for against_rivals in wins:
        against = [float(row[~np.isnan(row)].mean()) for row in against_rivals if (~np.isnan(row)).any()]
        deviations.append(float(np.std(against)) if against else math.nan)
    return deviations


def _category_means(table: ScoreTable, shares: pd.Series) -> dict[str, float]:
    categories = dict.fromkeys(
        table.columns[name].category for name in shares.index if table.columns[name].category
    )
    return {
        category: float(
            shares[[name for name in shares.index if table.columns[name].category == category]].mean()
        )
        for category in categories
    }


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
    win_rates = _mean_rates(rates, np.ones((1, scenarios)))[0]
    gaps = win_rates[:, None] - win_rates[None, :]
    noise = (resampled[:, :, None] - resampled[:, None, :]) - gaps
    error = _moderated_errors(noise, scenarios)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = np.where(error > 1e-12, np.abs(noise) / error, 0.0)
        ratio = np.where(error > 1e-12, gaps / error, np.sign(np.round(gaps, 12)) * np.inf)
    largest = np.quantile(np.nanmax(ratios, axis=(1, 2)), 1 - NARROW * (1 - confidence))
    limit = largest * _small_sample_factor(
        scenarios - 1 + BORROWED // 2, systems * (systems - 1) // 2, confidence
    )
    n_above = (ratio < -limit).sum(axis=1)
    n_below = (ratio > limit).sum(axis=1)
    return [(1 + int(ahead), systems - int(behind)) for ahead, behind in zip(n_above, n_below, strict=True)]


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
    if all(case_scores is None for case_scores in cases):
        return _mean_rates(scenario_win_rates(scores, ties), counts)
    resampled = np.repeat(scores[None], draws.resamples, axis=0)
    for number, case_scores in enumerate(cases):
        if case_scores is not None and len(case_scores):
            resampled[:, :, number] = _resampled_means(case_scores, draws.resamples, rng)
    # In parts: all pairs of systems on all scenarios of all resamples at once would be large.
    parts = np.array_split(np.arange(draws.resamples), 1 + resampled.size * len(scores) // 5_000_000)
    return np.concatenate(
        [_mean_rates(scenario_win_rates(resampled[part], ties), counts[part]) for part in parts]
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
    known_rates = np.where(present, rates, 0.0)
    if rates.ndim == 2:
        total, number = counts @ known_rates.T, counts @ present.T.astype(float)
    else:
        total = np.einsum("rs,rks->rk", counts, known_rates)
        number = np.einsum("rs,rks->rk", counts, present.astype(float))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(number > 0, total / number, np.nan)


def scenario_win_rates(scores: FloatArray, ties: TieRule) -> FloatArray:
    """The share of the other systems that each beats, on each scenario: an array like `scores`.

    Args:
        scores: Systems by scenarios in the last two axes, higher is better, NaN where there is none.

    NaN where a system has no score or is the only one that has.

    References:
        Liang et al. (2023), "Holistic Evaluation of Language Models", section 5.3.
    """
    beats = pairwise_wins(scores, ties)
    present = ~np.isnan(scores)
    rivals = present.sum(axis=-2, keepdims=True) - 1
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(present & (rivals > 0), np.nansum(beats, axis=-2) / rivals, np.nan)


def pairwise_wins(scores: FloatArray, ties: TieRule) -> FloatArray:
    """1 where the first system beats the second, 0 where it loses: axes system, rival, scenario; NaN where one has no score."""
    system, rival = scores[..., :, None, :], scores[..., None, :, :]
    wins = (system > rival) + TIE_SHARE[ties] * (system == rival)
    wins = np.where(np.isnan(system) | np.isnan(rival), np.nan, wins)
    diagonal = np.eye(scores.shape[-2], dtype=bool)
    wins[..., diagonal, :] = np.nan
    return wins


@dataclass(frozen=True, slots=True)
class DetectableEffect:
    """The minimum detectable effect, on the scale from 0 to 1, of every pair of systems and over all of them.

    That of a pair whose scores lie equally far apart in every case is not known (NaN), and has no part in the mean.
    """

    mean: float
    sd: float
    """Over the pairs; NaN where there is one."""
    pairs: Mapping[tuple[str, str], float]
    n: int
    """Cases that a pair shares, at least."""

    def cases_needed(self, effect: float) -> int | None:
        """How many cases would bring the mean down to `effect`; None where nothing is known."""
        return None if math.isnan(self.mean) else math.ceil(self.n * (self.mean / effect) ** 2 - 1e-9)


def scenario_effect(cases: pd.DataFrame) -> DetectableEffect | None:
    """The effect that one scenario can show; None where no two systems share two cases.

    Args:
        cases: Cases as rows, systems as columns, scores from 0 to 1.

    References:
        Bedi et al. (2025), "MedHELM", appendix E.
    """
    pairs, sizes = {}, []
    scores = {system: cases[system].to_numpy(float) for system in cases.columns}
    for system, rival in combinations(scores, 2):
        differences = scores[system] - scores[rival]
        differences = differences[~np.isnan(differences)]
        if len(differences) >= 2:
            spread = float(differences.std(ddof=1)) if np.ptp(differences) > 0 else math.nan
            pairs[system, rival] = FACTOR * spread / math.sqrt(len(differences))
            sizes.append(len(differences))
    return _over(pairs, min(sizes)) if pairs else None


def board_effect(scenarios: Mapping[str, DetectableEffect]) -> DetectableEffect | None:
    """The effect on the macro average of these scenarios, for pairs that all of them have; None where no pair is.

    Scenarios are taken as they are: the effect says what other cases of the same scenarios would show.
    """
    effects = list(scenarios.values())
    if not effects:
        return None
    common = [pair for pair in effects[0].pairs if all(pair in effect.pairs for effect in effects)]
    pairs = {
        pair: math.sqrt(sum(effect.pairs[pair] ** 2 for effect in effects)) / len(effects) for pair in common
    }
    return _over(pairs, sum(effect.n for effect in effects)) if pairs else None


def _over(pairs: Mapping[tuple[str, str], float], n: int) -> DetectableEffect:
    effects = np.array([effect for effect in pairs.values() if not math.isnan(effect)])
    mean = float(effects.mean()) if len(effects) else math.nan
    sd = float(effects.std(ddof=1)) if len(effects) > 1 else math.nan
    return DetectableEffect(mean, sd, pairs, n)
