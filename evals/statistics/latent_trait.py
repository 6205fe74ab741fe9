"""What a coefficient may be in the population, when most scores stand at one end of a short scale.

Most scores at the top leave few that disagree, and the rare low ones, which weigh most, may not have been met at all.
No resampling of the cases at hand can know of those. So a model fills the gap: each case has a quality and each rater
sees it with noise, both normal, and answers by where it falls between thresholds (a graded response model with one
trait). Draws from the posterior of the latent correlation and the thresholds give draws of every coefficient that is
made of how often two raters' answers meet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import combinations

import numpy as np

from .graded_response import GradedResponseModel, inverse_curvature
from .matrix import FloatArray, IntArray

OfWeights = Callable[[FloatArray], FloatArray]
MANY = 1e8
"""The cases of a population that is as good as endless."""
DRAWS = 400
"""Draws from the posterior, for each of which a coefficient is computed."""
TRIED, WORTH, ROUNDS = 400, 200, 4
"""Draws tried in a round of importance sampling, how many independent ones all rounds must be worth, and the most rounds."""
CORRELATIONS = (np.arange(200) + 0.5) / 200
"""What scores may correlate by within clusters."""
CORRELATION_PRIOR = 2.0
"""The prior of that is Beta(1, this). Were any as likely as any other (1), intervals of few clusters would be too wide."""
TINY = 1e-300
SURE_OF_SOME = 1.92
"""By how much the log-likelihood must fall without any correlation for it to be taken as shown, at 2.5% one-sided."""


@dataclass(frozen=True, slots=True)
class LatentTrait:
    """Draws of how often two raters' answers meet, for every two raters."""

    scale: FloatArray
    tables: FloatArray
    """By draw, pair of raters, the first's answer and the second's; each table sums to 1."""
    raters: int
    correlated: Callable[[], bool]
    """Whether the scores show any correlation at all; without, agreement below chance cannot be excluded."""

    def mean_over_pairs(self, statistic: Callable[[FloatArray, FloatArray], OfWeights]) -> FloatArray:
        """Of each draw, the mean over pairs of raters of a statistic of two raters."""
        draws, pairs = self.tables.shape[:2]
        each = statistic(*self._answers())(self.tables.reshape(draws * pairs, -1) * MANY)
        return each.reshape(draws, pairs).mean(axis=1)

    def of_pairs(self, coefficient: Callable[[FloatArray], OfWeights]) -> FloatArray:
        """Of each draw, a coefficient for which it does not matter who of the raters said what."""
        both = self.tables.mean(axis=1)
        even = (both + both.transpose(0, 2, 1)) / 2
        return coefficient(np.column_stack(self._answers()))(even.reshape(len(even), -1) * MANY)

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Of each draw, the raters' mean scores and the mean products of every two raters' scores."""
        k, draws = self.raters, len(self.tables)
        means, products = np.zeros((draws, k)), np.zeros((draws, k, k))
        whole, once, twice = np.ones(len(self.scale)), self.scale, self.scale**2
        first, second = self.tables @ whole, whole @ self.tables
        both = (self.tables @ once) @ once
        for pair, (i, j) in enumerate(combinations(range(k), 2)):
            means[:, i], means[:, j] = first[:, pair] @ once, second[:, pair] @ once
            products[:, i, i], products[:, j, j] = first[:, pair] @ twice, second[:, pair] @ twice
            products[:, i, j] = products[:, j, i] = both[:, pair]
        return means, products

    def quantiles(self, values: FloatArray, shares: FloatArray) -> FloatArray:
        """The values below which these shares of the draws lie; NaN where the values are undefined in all draws."""
        known = ~np.isnan(values)
        if not known.any():
            return np.full(len(shares), np.nan)
        return np.quantile(values[known], shares, method="hazen")

    def _answers(self) -> tuple[FloatArray, FloatArray]:
        first, second = np.meshgrid(self.scale, self.scale, indexing="ij")
        return first.ravel(), second.ravel()


def latent_trait(
    values: FloatArray, cluster: IntArray, scale: FloatArray, seed: int, power: int = 2
) -> LatentTrait | None:
    """The posterior given ratings as `values[case, rater]`, NaN where there is none, all of them on `scale`.

    None where the posterior has no mode to draw about: its curvature is singular or no number.

    Cases of one cluster count for less than as many of different ones: the likelihood is tempered by the design effect
    of what a coefficient adds up, which correlates within clusters as scores do to the `power`.
    """
    codes = np.searchsorted(scale, values)
    codes[np.isnan(values)] = len(scale)
    return _posterior(
        codes.astype(np.int8).tobytes(),
        values.shape,
        tuple(scale),
        _design_effect(values, cluster, power),
        seed,
    )


@lru_cache(maxsize=8)
def _posterior(
    codes: bytes, shape: tuple[int, int], scale: tuple[float, ...], effect: float, seed: int
) -> LatentTrait | None:
    """The posterior as its ratings, which answers' codes stand for, leave it."""
    said = np.frombuffer(codes, dtype=np.int8).reshape(shape).astype(np.int64)
    levels = len(scale)
    # The model's highest answer is the one at the end where scores are piled up.
    turned = int((said == 0).sum()) > int((said == levels - 1).sum())
    if turned:
        said = np.where(said < levels, levels - 1 - said, said)
    model = GradedResponseModel(said, levels, effect)
    try:
        mode = model.mode()
        drawn = _sample(model, mode, np.random.default_rng(seed))
    except np.linalg.LinAlgError:
        return None
    if drawn is None:
        return None
    tables = model.tables(drawn)
    return LatentTrait(
        np.array(scale),
        tables[:, :, ::-1, ::-1] if turned else tables,
        shape[1],
        cache(lambda: model.gain(mode) > SURE_OF_SOME),
    )


def _sample(model: GradedResponseModel, mode: FloatArray, rng: np.random.Generator) -> FloatArray | None:
    """Draws from the posterior; None where its heights are no numbers.

    Importance sampling from Student's t about the mode, made anew about what was found until that is worth enough; all
    rounds count, each for the draws that it is worth.
    """
    centre, spread = mode, inverse_curvature(model.curvature(mode))
    drawn, weights, worth = [], [], 0.0
    for _ in range(ROUNDS):
        tried, density = _students(rng, centre, spread)
        log_weight = model.heights(tried) - density
        weight = np.exp(log_weight - log_weight.max())
        weight /= weight.sum()
        if np.isnan(weight).any():
            return None
        effective = float(1 / (weight**2).sum())
        drawn.append(tried)
        weights.append(weight * effective)
        worth += effective
        if worth > WORTH:
            break
        centre = weight @ tried
        spread = (tried - centre).T @ ((tried - centre) * weight[:, None]) + 1e-6 * np.eye(len(centre))
    reached = np.cumsum(np.concatenate(weights)) / worth
    chosen = np.searchsorted(reached, (np.arange(DRAWS) + 0.5) / DRAWS)
    return np.concatenate(drawn)[np.minimum(chosen, len(reached) - 1)]


def _students(
    rng: np.random.Generator, centre: FloatArray, spread: FloatArray, freedom: int = 5
) -> tuple[FloatArray, FloatArray]:
    """Draws from a multivariate Student's t, and their log-density up to a constant."""
    size = len(centre)
    root = np.linalg.cholesky(spread)
    normal = rng.standard_normal((TRIED, size))
    stretch = np.sqrt(freedom / rng.chisquare(freedom, TRIED))
    squared = (normal**2).sum(axis=1) * stretch**2
    return centre + (normal @ root.T) * stretch[:, None], -(freedom + size) / 2 * np.log1p(squared / freedom)


def _design_effect(values: FloatArray, cluster: IntArray, power: int) -> float:
    """By how much the variance of a mean of scores to the `power` grows, cases being in clusters.

    The mean over what the correlation within clusters may be: the one estimated from few clusters is often 0 where there
    is some.
    """
    rated = ~np.isnan(values).all(axis=1)
    place = np.unique(cluster[rated], return_inverse=True)[1]
    sizes = np.bincount(place)
    if len(sizes) == len(place) or len(sizes) < 2:
        return 1.0
    score = np.nanmean(values[rated], axis=1)
    means = np.bincount(place, weights=score) / sizes
    apart, inside = len(sizes) - 1, len(place) - len(sizes)
    between, within = (sizes * (means - score.mean()) ** 2).sum(), ((score - means[place]) ** 2).sum()
    typical = (len(place) - (sizes**2).sum() / len(place)) / apart
    grown = 1 + typical * CORRELATIONS / (1 - CORRELATIONS)
    # The squares between clusters over those within, so grown, are distributed as F; either sum alone may be zero.
    log = -apart / 2 * np.log(grown) - (apart + inside) / 2 * np.log(between / grown + within + TINY)
    log += (CORRELATION_PRIOR - 1) * np.log1p(-CORRELATIONS)
    weight = np.exp(log - log.max())
    return float(1 + (typical - 1) * (weight @ CORRELATIONS**power) / weight.sum())
