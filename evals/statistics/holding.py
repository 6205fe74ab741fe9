"""The interval that simulation shows to hold for a coefficient of agreement, or none.

Leaving out a cluster at a time serves as long as scores are spread over their scale. Where half of them or more stand at
one end and cases are few, the scores that would disagree have mostly not been met, and the latent trait takes its place.
`benchmarks/ceilings.py` shows where each holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from .estimate import Estimate
from .jackknife import DIFFERENCE, ERROR, PLAIN_SHARE, Link, jackknife
from .latent_trait import DRAWS, LatentTrait, latent_trait
from .matrix import FloatArray, IntArray, Matrix

Population = Callable[[LatentTrait], FloatArray]
"""From a latent trait to draws of a coefficient in the population."""

PILED = 0.5
"""The share of scores at one end of the scale from which on they are called piled up."""
SKEWED = 0.3
"""The share from which on intervals that assume normal scores are too narrow."""
SHORT = 12
"""The most values that a scale has for which answers are modelled."""
LEAST = 4
"""Clusters that tell something, without which there is no interval: they hold another score than the commonest."""
LEAST_DIFFERING = 3
"""The same for how often answers differ, by the jackknife; of an error or an offset, clusters that hold two that differ."""
LEAST_SHARES = 1
"""The same where the model gives how often answers differ: to ask for more would pick out the samples that differ most."""
FEWEST = 2
"""Fewer clusters that tell something are read as this many, where one is enough for an interval."""
USUAL_RATINGS = 3
"""Ratings a case, at which `Basis.crowd` changes nothing."""
LEAST_USED, LEAST_CLUSTERS = 6, 4
"""Cases that the coefficient itself must rest on, and clusters that these must be in."""
LEAST_GROUPS = 6
"""Clusters of several cases, without which the model gives no products of scores: five do not tell how much their cases share."""


class TailReach(NamedTuple):
    """A factor on the normal quantile at which one bound is read from the model's draws: `many - few / m`, where m clusters tell something.

    Chosen by simulation: the fewer tell something, the more the model allows for than most populations are.
    """

    many: float
    few: float


class Basis(NamedTuple):
    """What a coefficient is made of, which decides how much ratings say of it."""

    plenty: int
    """Clusters with another score than the commonest, from which on leaving them out is enough by itself."""
    power: int
    """What is added up correlates within clusters as scores do, to this power: 2 for products of two scores."""
    down: TailReach
    """For the lower bound, and `up` for the upper one."""
    up: TailReach
    crowd: float = 0.0
    """Both are multiplied by the ratings a case has, over `USUAL_RATINGS`, to this power: many ratings say more of their case than of others."""

    def tails(self, confidence: float, grid: Matrix, scale: FloatArray) -> FloatArray:
        """The shares of draws below the lower bound and below the upper one."""
        tail = (1 - confidence) / 2
        # Of two values there is nothing more that the model could allow for.
        if len(scale) <= 2:
            return np.array([tail, 1 - tail])
        telling = max(LEAST if self.power == 2 else FEWEST, _informative(grid))
        known = ~np.isnan(grid.values)
        crowded = (known.sum() / known.any(axis=1).sum() / USUAL_RATINGS) ** self.crowd
        down, up = ((end.many - end.few / telling) * crowded for end in (self.down, self.up))
        return ndtr(float(ndtri(tail)) * np.array([down, -up]))


COUNTS = Basis(20, 2, TailReach(0.84, 0.37), TailReach(1.1, 1.15))
"""How often two answers meet, whatever lies between them."""
RANKS = Basis(20, 2, TailReach(0.81, 0.37), TailReach(1.17, 1.15))
SQUARES = Basis(30, 2, TailReach(0.98, 0.6), TailReach(0.9, 0.83))
"""Squared distances, of which a few scores far off make most."""
SHARES = Basis(14, 1, TailReach(1.2, 0.44), TailReach(1.11, 0.44), crowd=0.17)
"""How often answers differ, or by how much, not held against how much cases do."""
SQUARED_SHARES = Basis(14, 1, TailReach(1.11, 0.43), TailReach(1.0, 0.43), crowd=0.13)
"""The same by squared distances."""
SQUARED_ERRORS = Basis(30, 1, TailReach(0.97, 0.44), TailReach(1.13, 0.44), crowd=0.09)


def holding(
    value: float,
    left_out: FloatArray,
    frequency: IntArray,
    *,
    grid: Matrix,
    everyone: Matrix,
    link: Link,
    population: Population | None,
    levels: tuple[float, ...] | None,
    method: str,
    confidence: float,
    seed: int,
    used: int,
    basis: Basis = COUNTS,
) -> Estimate:
    """The estimate with its interval, which holds it and lies in the coefficient's range.

    Args:
        left_out: The coefficient without one cluster of each kind, and `frequency` how many are of that kind.
        grid: The ratings that the coefficient rests on, and `everyone` all, those that it does not use among them.
        population: Draws of the coefficient; None where the model says nothing of it.
        levels: The scale's values, used or not.
        seed: Of the draws.
        used: The cases that the coefficient rests on.
        basis: What the coefficient is made of.
    """
    n, scale = int(frequency.sum()), _scale(everyone, levels)
    modelled = population is not None and _few_tell(grid, scale, basis)
    least = LEAST if basis.power == 2 else LEAST_SHARES if modelled else LEAST_DIFFERING
    groups = LEAST_GROUPS if modelled and everyone.clustered and basis.power == 2 else LEAST_CLUSTERS
    if why := _too_little(everyone, link, n, used, least, groups):
        return Estimate(value, np.nan, np.nan, n, method, confidence, why)
    found = jackknife(value, left_out, frequency, link, clustered=everyone.clustered)
    if population is None or not modelled:
        if found is None:
            alike = link is DIFFERENCE and bool(np.isclose(left_out, value).all())
            why = (
                "every case says the same"
                if alike
                else "nothing changes, or too little is left, when one is left out"
            )
            return Estimate(value, np.nan, np.nan, n, method, confidence, f"no interval: {why}")
        low, high = found.bounds(confidence)
        return Estimate(value, low, high, n, f"{method}; jackknife of {_units(everyone)}", confidence)
    trait = latent_trait(everyone.values, everyone.cluster, scale, seed, basis.power)
    tails = basis.tails(confidence, everyone, scale)
    low, high = trait.quantiles(population(trait), tails) if trait else (np.nan, np.nan)
    if trait is None or np.isnan(low):
        why = "no interval: the latent-trait model, which so few scores that differ need, does not fit these"
        return Estimate(value, np.nan, np.nan, n, method, confidence, why)
    # The model knows no agreement below chance: where it cannot be excluded, the jackknife says how far down.
    below = found.bounds(confidence)[0] if found is not None else max(link.low, -1.0)
    if link.low < 0 and below <= 0 and not trait.correlated():
        low = min(float(low), below)
    note = f"{end_share(everyone):.0%} of the scores stand at one end of the scale: the interval is that of a latent-trait model"
    # Of a table without gaps the model knows all that the estimate rests on: what it then holds to be impossible speaks against it.
    if found is not None and not low <= value <= high and not np.isnan(everyone.values).any():
        left, right = found.bounds(confidence)
        low, high = min(float(low), left), max(float(high), right)
        note += ", which does not fit these scores, and holds the jackknife's too"
    low, high = link.inside(float(low), float(high))
    low, high = min(low, value), max(high, value)
    return Estimate(value, low, high, n, f"{method}; latent trait, {DRAWS} draws", confidence, note)


def end_share(grid: Matrix) -> float:
    """The share of all scores that stand at the end of the scale where most do; 0 for words."""
    if grid.labels is not None and len(grid.labels) > 2:
        return 0.0
    scores = grid.values[~np.isnan(grid.values)]
    if not len(scores):
        return 0.0
    return float(max((scores == scores.min()).mean(), (scores == scores.max()).mean()))


def _scale(grid: Matrix, levels: tuple[float, ...] | None) -> FloatArray:
    used = np.unique(grid.values[~np.isnan(grid.values)])
    if levels is None or grid.labels is not None:
        return used
    return np.union1d(used, np.asarray(levels, dtype=float))


def _few_tell(grid: Matrix, scale: FloatArray, basis: Basis) -> bool:
    """Whether answers on a short ordered scale are piled up at one end, and few clusters hold any other."""
    if len(scale) > SHORT or end_share(grid) < PILED:
        return False
    # Of two values each is as far from the other as can be.
    return _informative(grid) < (SQUARES.plenty if len(scale) == 2 else basis.plenty)


def _too_little(grid: Matrix, link: Link, clusters: int, used: int, least: int, groups: int) -> str:
    """Why these ratings say too little for an interval, or nothing."""
    if link is not DIFFERENCE and (used < LEAST_USED or clusters < groups):
        few = f"{used} cases" if used < LEAST_USED else f"{clusters} clusters"
        return f"no interval: {few} are too few"
    if link is DIFFERENCE or (link in (ERROR, PLAIN_SHARE) and least == LEAST_DIFFERING):
        differing = _differing(grid)
        if differing < LEAST_DIFFERING:
            return f"no interval: raters differ in {differing} of {_units(grid)}"
        return ""
    informative = _informative(grid)
    if informative < least:
        return f"no interval: {informative} of {_units(grid)} hold anything but the commonest score"
    return ""


def _differing(grid: Matrix) -> int:
    """The clusters in which two ratings of a case differ."""
    rated = ~np.isnan(grid.values).all(axis=1)
    apart = np.nanmax(grid.values[rated], axis=1) > np.nanmin(grid.values[rated], axis=1)
    return len(np.unique(grid.cluster[rated][apart]))


def _informative(grid: Matrix) -> int:
    """The clusters in which somebody gave another score than the commonest of all."""
    known = ~np.isnan(grid.values)
    values, counts = np.unique(grid.values[known], return_counts=True)
    if not len(values):
        return 0
    other = (known & (grid.values != values[counts.argmax()])).any(axis=1)
    return len(np.unique(grid.cluster[other]))


def _units(grid: Matrix) -> str:
    return f"{grid.clusters} {'clusters' if grid.clustered else 'cases'}"
