"""A board: systems over scenarios, by win rate and macro average, with what each rank and difference is worth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..statistics.draws import Draws
from .detectable import DetectableEffect, board_effect, scenario_effect
from .rank_intervals import rank_intervals
from .score_table import ScoreTable
from .win_rates import TieRule, pairwise_wins, scenario_win_rates


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

    @property
    def leader(self) -> str | None:
        """The system that leads: whose rank can only be the first."""
        first = [each.system for each in self.standings if each.rank == (1, 1)]
        return first[0] if len(first) == 1 and len(self.standings) > 1 else None


def board(table: ScoreTable, *, ties: TieRule = "half", draws: Draws | None = None) -> Board:
    """The board of a table of scores; `draws` sets the resamples behind the intervals of ranks."""
    draws = draws or Draws()
    skipped = _skipped_scenarios(table)
    compared = [name for name in table.means.columns if name not in skipped]
    averaged = [
        name
        for name in table.means.columns
        if table.columns[name].direction != "none" and name not in table.off_scale
    ]
    ordered = _shares(table, compared).to_numpy(float)
    shares = _shares(table, averaged)
    effects = {
        name: effect
        for name in averaged
        if name in table.cases and (effect := scenario_effect(_case_shares(table, name))) is not None
    }
    cases = [_case_shares(table, name).to_numpy(float) if name in table.cases else None for name in compared]
    systems = list(table.means.index)
    ranks = rank_intervals(ordered, cases, ties, draws) if compared else [(1, len(systems))] * len(systems)
    whole = ~np.isnan(ordered).any(axis=0)
    rates, complete_rates = (
        _mean(scenario_win_rates(ordered, ties)),
        _mean(scenario_win_rates(ordered[:, whole], ties)),
    )
    apart = _deviation_over_rivals(ordered, ties)
    full = shares.dropna(axis=1)
    standings = [
        SystemStanding(
            system,
            rates[number],
            apart[number],
            float(shares.loc[system].mean()),
            float(shares.loc[system].std(ddof=1)),
            ranks[number],
            _category_means(table, shares.loc[system]),
            int(table.means.loc[system].notna().sum()),
            complete_rates[number],
            float(full.loc[system].mean()),
        )
        for number, system in enumerate(systems)
    ]
    standings.sort(key=lambda each: -math.inf if math.isnan(each.win_rate) else each.win_rate, reverse=True)
    return Board(
        tuple(standings),
        ties,
        effects,
        board_effect(effects) if set(effects) == set(averaged) else None,
        tuple(compared),
        int(whole.sum()),
        {name: len(its) for name, its in table.cases.items()},
        skipped,
        table.off_scale,
    )


def _skipped_scenarios(table: ScoreTable) -> dict[str, str]:
    skipped = {}
    for name in table.means.columns:
        present = int(table.means[name].notna().sum())
        if table.columns[name].direction == "none":
            skipped[name] = "it has no direction"
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


def _deviation_over_rivals(ordered: np.ndarray, ties: TieRule) -> list[float]:
    """Population standard deviation, over rivals, of the share of shared scenarios on which each is beaten."""
    wins = pairwise_wins(ordered, ties)
    deviations = []
    for mine in wins:
        against = [float(row[~np.isnan(row)].mean()) for row in mine if (~np.isnan(row)).any()]
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
