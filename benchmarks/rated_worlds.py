"""Ratings as they come about in worlds whose truth is known: cases' quality, raters' noise, and where both are cut into scores."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaincinv, betaln, ndtr, ndtri, stdtrit

NOISE, CLOSE, APART = 0.6, 0.3, 1.2
"""The spread of raters' noise where that of quality is 1; of raters who see nearly the same, and of those who hardly agree."""
STEP = 0.55
"""Between two cuts below the highest, in standard deviations of what raters see."""
MANY = 600_000
"""Cases in which a truth that cannot be integrated is counted."""
FIRMNESS = 2.0
"""In the binomial world, the sum of the parameters of the beta distribution of cases' chances."""
FREEDOM = 4


class Setting(NamedTuple):
    """One kind of ratings table."""

    cases: int
    raters: int
    ceiling: float
    missing: float
    group: int
    points: int
    harshness: float
    world: str = "normal"

    def shares(self) -> np.ndarray:
        """The shares of scores up to each but the highest."""
        if self.ceiling == 0:
            return ndtr(np.linspace(-1.5, 1.5, self.points - 1) / np.sqrt(1 + NOISE**2))
        return ndtr(ndtri(1 - self.ceiling) - STEP * np.arange(self.points - 2, -1, -1))

    def draw(self, rng: np.random.Generator, cases: int) -> tuple[np.ndarray, np.ndarray]:
        """Scores by case and rater, NaN where missing, and each case's group."""
        group = np.arange(cases) // self.group
        share = 0.5 if self.group > 1 else 0.0
        quality = np.sqrt(share) * rng.normal(size=group[-1] + 1)[group] + np.sqrt(1 - share) * rng.normal(
            size=cases
        )
        if self.world == "binomial":
            chance = betaincinv(*chances(self.ceiling, self.points), ndtr(quality))
            scores = 1.0 + rng.binomial(self.points - 1, chance[:, None], size=(cases, self.raters))
        else:
            noise = rng.normal(size=(cases, self.raters))
            seen = WORLDS[self.world](quality[:, None], noise)
            seen += self.harshness * np.linspace(-0.5, 0.5, self.raters)
            scores = 1.0 + np.searchsorted(self.cuts(), seen)
        scores[rng.random(scores.shape) < self.missing] = np.nan
        return scores, group

    def by(self) -> str:
        """The column whose equal values are resampled together."""
        return "group" if self.group > 1 else "case"

    def cuts(self) -> np.ndarray:
        """Where what raters see is cut into scores."""
        if self.world == "normal":
            return np.sqrt(1 + NOISE**2) * ndtri(self.shares())
        return quantiles(self.world, self.raters, tuple(self.shares()))


def _slopes(quality: np.ndarray, noise: np.ndarray) -> np.ndarray:
    raters = noise.shape[1]
    return quality * np.linspace(0.6, 1.3, raters) + noise * np.linspace(0.9, 0.4, raters)


def _heavy(quality: np.ndarray, noise: np.ndarray) -> np.ndarray:
    return stdtrit(FREEDOM, ndtr(quality)) + NOISE * stdtrit(FREEDOM, ndtr(noise))


WORLDS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "normal": lambda quality, noise: quality + NOISE * noise,
    "slopes": _slopes,
    "skewed": lambda quality, noise: np.log(ndtr(quality)) + 0.5 * noise,
    "heavy": _heavy,
    "close": lambda quality, noise: quality + CLOSE * noise,
    "apart": lambda quality, noise: quality + APART * noise,
}
"""From a case's quality and raters' noise, both standard normal, to what the raters see."""


@cache
def quantiles(world: str, raters: int, shares: tuple[float, ...]) -> np.ndarray:
    """Where these shares of what raters see lie below."""
    rng = np.random.default_rng(1)
    return np.quantile(WORLDS[world](rng.normal(size=(MANY, 1)), rng.normal(size=(MANY, raters))), shares)


@cache
def chances(ceiling: float, points: int) -> tuple[float, float]:
    """The parameters of cases' chances that put the share `ceiling` of binomial scores at the top."""
    if ceiling == 0:
        return FIRMNESS / 2, FIRMNESS / 2

    def excess(mean: float) -> float:
        first, second = mean * FIRMNESS, (1 - mean) * FIRMNESS
        return float(np.exp(betaln(first + points - 1, second) - betaln(first, second))) - ceiling

    mean = brentq(excess, 1e-3, 1 - 1e-6)
    return mean * FIRMNESS, (1 - mean) * FIRMNESS
