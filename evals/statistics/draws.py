"""How often cases are resampled, and from which seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .estimate import Estimate, undefined
from .matrix import FloatArray, IntArray, Matrix
from .weighted import BLOCK, Coefficient, Statistic, over_clusters

ENOUGH = 0.5
"""The share of resamples that must be defined for an interval to be given."""


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How to resample: the source of chance, and how often.

    References:
        Efron (1979), "Bootstrap methods: another look at the jackknife", Annals of Statistics 7:1-26.
    """

    rng: np.random.Generator
    resamples: int = 1000
    confidence: float = 0.95

    def estimate(self, coefficient: Coefficient, grid: Matrix, *, method: str, otherwise: str) -> Estimate:
        """The coefficient of `grid` between the percentiles of its resamples; `otherwise` says why, should it be NaN.

        The two-sided p counts the data as one resample, so that it is never zero.
        """
        n = len(grid.cases)
        if not n:
            return undefined(otherwise, method=method, confidence=self.confidence)
        statistic, frequency = over_clusters(coefficient, grid)
        value = float(statistic(frequency[None].astype(float))[0])
        if np.isnan(value):
            return undefined(otherwise, method=method, n=n, confidence=self.confidence)
        resampled = self.draws(statistic, frequency)
        resampled = np.sort(resampled[~np.isnan(resampled)])
        refusal = self._too_few(len(resampled), int(frequency.sum()))
        if refusal:
            return Estimate(value, np.nan, np.nan, n, method, self.confidence, f"no interval: {refusal}")
        ends = [(1 - self.confidence) / 2, (1 + self.confidence) / 2]
        low, high = np.quantile(resampled, ends)
        lost = self.resamples - len(resampled)
        note = f"{lost} of {self.resamples} resamples were undefined" if lost else ""
        units = f"{grid.clusters} groups" if grid.clustered else "cases"
        label = f"{method}; percentile bootstrap of {units}, {self.resamples} resamples"
        beyond = min((resampled <= 1e-12).sum(), (resampled >= -1e-12).sum())
        p = min(1.0, 2 * (int(beyond) + 1) / (len(resampled) + 1))
        return Estimate(value, float(low), float(high), n, label, self.confidence, note, p=p)

    def draws(self, statistic: Statistic, frequency: IntArray) -> FloatArray:
        """The statistic of each resample; none where there is one cluster."""
        n = int(frequency.sum())
        counts = self.rng.multinomial(n, frequency / n, size=self.resamples if n > 1 else 0).astype(float)
        step = max(1, BLOCK // len(frequency))
        parts = [statistic(counts[start : start + step]) for start in range(0, len(counts), step)]
        no_draws = statistic(frequency[None].astype(float))[:0]
        return np.concatenate([no_draws, *parts])

    def _too_few(self, defined_count: int, clusters: int) -> str:
        if clusters < 2:
            return "a single case or group cannot be resampled"
        if defined_count < max(1, ENOUGH * self.resamples):
            return f"the value was defined in only {defined_count} of {self.resamples} resamples"
        if 2 / (defined_count + 1) > 1 - self.confidence + 1e-12:
            return f"{defined_count} resamples are too few for a {self.confidence:.0%} interval"
        return ""


@dataclass(frozen=True, slots=True)
class Draws:
    """The seed and the number of resamples that every drawn number of one analysis shares."""

    seed: int = 0
    resamples: int = 1000

    def rng(self) -> np.random.Generator:
        """A source of chance that starts at the seed: two of them give the same numbers."""
        return np.random.default_rng(self.seed)

    def bootstrap(self) -> Bootstrap:
        """A bootstrap that starts at the seed, so that everything it is made for sees the same resamples."""
        return Bootstrap(self.rng(), self.resamples)
