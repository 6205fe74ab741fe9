"""What a coefficient may be in the population, when most scores stand at one end of a short scale.

Most scores at the top leave few that disagree, and the rare low ones, which weigh most, may not have been met at all.
No resampling of the cases at hand can know of those. So a model fills the gap: each case has a quality and each rater
sees it with noise, both normal, and answers by where it falls between thresholds (a graded response model with one
trait). Draws from the posterior of the latent correlation and the thresholds give draws of every coefficient that is
made of how often two raters' answers meet.

References:
    Samejima (1969), "Estimation of latent ability using a response pattern of graded scores", Psychometrika 34(S1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import combinations

import numpy as np
from scipy.special import ndtr, ndtri

from .matrix import FloatArray, IntArray

OfWeights = Callable[[FloatArray], FloatArray]
MANY = 1e8
"""The cases of a population that is as good as endless."""
DRAWS = 1000
NODES = 21
"""Points at which the quality of a case is summed over."""
FEW_RATERS = 10
"""Up to so many raters, each has a harshness of its own."""
HARSHNESS = 0.5
"""The spread of raters' harshness that is taken to be likely, in standard deviations of what they see."""
AGREEING = 0.4
"""The second parameter of the beta distribution that the latent correlation has beforehand, the first being 1: raters who
were chosen to rate agree more often than not. With 1, a flat one, intervals lie too low in simulation."""
NONE = -12.0
"""The logit of a latent correlation that is as good as none."""
FLAT = 0.05
"""Curvature below this is taken for this."""
MOST_STEPS = 30
HALVINGS = np.array([1.0, 0.5, 0.25, 0.1, 0.03, 0.01])
SURE_OF_SOME = 1.92
"""By how much the log-likelihood must fall without any correlation for it to be taken as shown, at 2.5% one-sided."""


@dataclass(frozen=True, slots=True)
class LatentTrait:
    """Draws of how often two raters' answers meet, for every two raters."""

    scale: FloatArray
    tables: FloatArray
    """By draw, pair of raters, the first's answer and the second's; each table sums to 1."""
    weights: FloatArray
    """How much each draw counts."""
    raters: int
    correlated: Callable[[], bool]
    """Whether the scores show any correlation at all; without, agreement below chance cannot be excluded."""

    def mean_over_pairs(self, statistic: Callable[[FloatArray, FloatArray], OfWeights]) -> FloatArray:
        """Of each draw, the mean over pairs of raters of a statistic of two raters."""
        value = statistic(*self._answers())
        flat = self.tables.reshape(*self.tables.shape[:2], -1) * MANY
        return np.mean([value(flat[:, pair]) for pair in range(flat.shape[1])], axis=0)

    def of_pairs(self, coefficient: Callable[[FloatArray], OfWeights]) -> FloatArray:
        """Of each draw, a coefficient for which it does not matter who of the raters said what."""
        both = self.tables.mean(axis=1)
        even = (both + both.transpose(0, 2, 1)) / 2
        return coefficient(np.column_stack(self._answers()))(even.reshape(len(even), -1) * MANY)

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Of each draw, the raters' mean scores and the mean products of every two raters' scores."""
        k, draws = self.raters, len(self.tables)
        means, products = np.zeros((draws, k)), np.zeros((draws, k, k))
        for pair, (i, j) in enumerate(combinations(range(k), 2)):
            table = self.tables[:, pair]
            first, second = table.sum(axis=2), table.sum(axis=1)
            means[:, i], means[:, j] = first @ self.scale, second @ self.scale
            products[:, i, i], products[:, j, j] = first @ self.scale**2, second @ self.scale**2
            products[:, i, j] = products[:, j, i] = np.einsum("dab,a,b->d", table, self.scale, self.scale)
        return means, products

    def quantiles(self, values: FloatArray, shares: FloatArray) -> FloatArray:
        """The values below which these shares of the draws lie."""
        known = ~np.isnan(values)
        order = np.argsort(values[known])
        weight = self.weights[known][order]
        reached = (np.cumsum(weight) - weight / 2) / weight.sum()
        return np.interp(shares, reached, values[known][order])

    def _answers(self) -> tuple[FloatArray, FloatArray]:
        first, second = np.meshgrid(self.scale, self.scale, indexing="ij")
        return first.ravel(), second.ravel()


def latent_trait(values: FloatArray, cluster: IntArray, scale: FloatArray, seed: int) -> LatentTrait:
    """The posterior given ratings as `values[case, rater]`, NaN where there is none, all of them on `scale`.

    Cases of one cluster count for less than as many of different ones: the likelihood is tempered by the design effect
    of coefficients made of products of scores, whose correlation within clusters is the square of the scores' own.
    """
    codes = np.searchsorted(scale, values)
    codes[np.isnan(values)] = len(scale)
    return _posterior(
        codes.astype(np.int8).tobytes(), values.shape, tuple(scale), _design_effect(values, cluster), seed
    )


@lru_cache(maxsize=8)
def _posterior(
    codes: bytes, shape: tuple[int, int], scale: tuple[float, ...], effect: float, seed: int
) -> LatentTrait:
    """Importance sampling from Student's t about the posterior's mode, made anew about what it found."""
    model = _Model(np.frombuffer(codes, dtype=np.int8).reshape(shape).astype(np.int64), len(scale), effect)
    rng = np.random.default_rng(seed)
    mode = model.mode()
    centre, spread = mode, model.covariance(mode)
    for _ in range(3):
        drawn, density = _students(rng, centre, spread)
        log_weight = model.log_posterior(drawn) - density
        weight = np.exp(log_weight - log_weight.max())
        weight /= weight.sum()
        if 1 / (weight**2).sum() > DRAWS / 4:
            break
        centre = weight @ drawn
        spread = (drawn - centre).T @ ((drawn - centre) * weight[:, None]) + 1e-6 * np.eye(len(centre))
    return LatentTrait(
        np.array(scale), model.tables(drawn), weight, shape[1], cache(lambda: model.gain(mode) > SURE_OF_SOME)
    )


class _Model:
    """The log-posterior of parameters: the logit of the latent correlation, shares of answers, raters' harshness."""

    def __init__(self, codes: IntArray, levels: int, effect: float) -> None:
        patterns, self._counts = np.unique(codes, axis=0, return_counts=True)
        self._levels, self._raters, self._effect = levels, codes.shape[1], effect
        self._harsh = self._raters if self._raters <= FEW_RATERS else 0
        hot = np.eye(levels + 1)[patterns][:, :, :levels]
        self._said = hot.reshape(len(patterns), -1).T
        nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
        self._nodes, self._weights = nodes, weights / weights.sum()
        self._shares = (hot * self._counts[:, None, None]).sum(axis=(0, 1))

    def mode(self) -> FloatArray:
        """Where the posterior is highest."""
        shares = np.log(self._shares + 1) - np.log(self._shares[-1] + 1)
        return self._highest(np.concatenate([[1.0], shares[:-1], np.zeros(self._harsh)]))

    def gain(self, mode: FloatArray) -> float:
        """How much the log-likelihood gains by any correlation over none."""
        alone = self._highest(np.concatenate([[NONE], mode[1:]]), free=slice(1, None))
        return float((self._log_likelihood(mode[None]) - self._log_likelihood(alone[None]))[0])

    def covariance(self, mode: FloatArray) -> FloatArray:
        """The inverse of the curvature at the mode, made positive where it is flat."""
        return _inverse(self._slope_and_curvature(mode)[1])

    def log_posterior(self, parameters: FloatArray) -> FloatArray:
        """By row of parameters, up to a constant; answers' shares are uniform over all that sum to 1 beforehand."""
        logit, shares = parameters[:, 0], self._log_shares(parameters)
        known = -np.logaddexp(0, -logit) - AGREEING * np.logaddexp(0, logit) + shares.sum(axis=1)
        harsh = parameters[:, self._levels :]
        return (
            self._log_likelihood(parameters) / self._effect
            + known
            - (harsh**2).sum(axis=1) / (2 * HARSHNESS**2)
        )

    def tables(self, parameters: FloatArray) -> FloatArray:
        """How often every two raters' answers meet."""
        given = self._answers(parameters)
        shape = (len(parameters), NODES, self._raters, self._levels)
        given = np.broadcast_to(given, shape)
        pairs = [
            np.einsum("m,dma,dmb->dab", self._weights, given[:, :, i], given[:, :, j])
            for i, j in combinations(range(self._raters), 2)
        ]
        return np.stack(pairs, axis=1)

    def _log_likelihood(self, parameters: FloatArray) -> FloatArray:
        logs = np.log(np.maximum(self._answers(parameters), 1e-12))
        logs = np.broadcast_to(logs, (*logs.shape[:2], self._raters, self._levels))
        by_node = logs.reshape(len(parameters), NODES, -1) @ self._said
        highest = by_node.max(axis=1)
        total = np.einsum("m,dmu->du", self._weights, np.exp(by_node - highest[:, None]))
        return (highest + np.log(total)) @ self._counts

    def _answers(self, parameters: FloatArray) -> FloatArray:
        """The chance of each answer, by row of parameters, quality of the case, rater and answer."""
        correlation = 0.998 / (1 + np.exp(-parameters[:, 0]))
        below = np.cumsum(np.exp(self._log_shares(parameters)), axis=1)[:, :-1]
        thresholds = ndtri(np.clip(below, 1e-7, 1 - 1e-7))
        harsh = parameters[:, self._levels :] if self._harsh else np.zeros((len(parameters), 1))
        seen = np.sqrt(correlation)[:, None] * self._nodes
        gap = thresholds[:, None, None, :] - harsh[:, None, :, None] - seen[:, :, None, None]
        reached = ndtr(gap / np.sqrt(1 - correlation)[:, None, None, None])
        return np.diff(reached, axis=3, prepend=0.0, append=1.0)

    def _log_shares(self, parameters: FloatArray) -> FloatArray:
        free = np.concatenate([parameters[:, 1 : self._levels], np.zeros((len(parameters), 1))], axis=1)
        return free - np.logaddexp.reduce(free, axis=1, keepdims=True)

    def _highest(self, start: FloatArray, free: slice = slice(None)) -> FloatArray:
        """Newton's method with steps that are halved until they climb; parameters that are not `free` stay."""
        at, height = start.copy(), float(self.log_posterior(start[None])[0])
        for _ in range(MOST_STEPS):
            slope, curvature = self._slope_and_curvature(at)
            step = np.zeros_like(at)
            step[free] = _inverse(curvature[free, free]) @ slope[free]
            tries = at + step * HALVINGS[:, None]
            heights = self.log_posterior(tries)
            best = int(heights.argmax())
            if heights[best] < height + 1e-6:
                break
            at, height = tries[best], float(heights[best])
        return at

    def _slope_and_curvature(self, at: FloatArray) -> tuple[FloatArray, FloatArray]:
        """By central differences, all in one go."""
        size, step = len(at), 1e-3
        moves = step * np.concatenate([np.eye(size), -np.eye(size)])
        heights = self.log_posterior((at + moves[:, None] + moves[None]).reshape(-1, size))
        grid = heights.reshape(2 * size, 2 * size)
        slope = (grid[:size].mean(axis=1) - grid[size:].mean(axis=1)) / (2 * step)
        mixed = grid[:size, :size] - grid[:size, size:] - grid[size:, :size] + grid[size:, size:]
        return slope, -(mixed + mixed.T) / (8 * step**2)


def _inverse(curvature: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh(curvature)
    return (vectors / np.maximum(values, FLAT)) @ vectors.T


def _students(
    rng: np.random.Generator, centre: FloatArray, spread: FloatArray, freedom: int = 5
) -> tuple[FloatArray, FloatArray]:
    """Draws from a multivariate Student's t, and their log-density up to a constant."""
    size = len(centre)
    root = np.linalg.cholesky(spread)
    normal = rng.standard_normal((DRAWS, size))
    stretch = np.sqrt(freedom / rng.chisquare(freedom, DRAWS))
    squared = (normal**2).sum(axis=1) * stretch**2
    return centre + (normal @ root.T) * stretch[:, None], -(freedom + size) / 2 * np.log1p(squared / freedom)


def _design_effect(values: FloatArray, cluster: IntArray) -> float:
    """By how much the variance of a product of scores grows, cases being in clusters."""
    rated = ~np.isnan(values).all(axis=1)
    place = np.unique(cluster[rated], return_inverse=True)[1]
    sizes = np.bincount(place)
    if len(sizes) == len(place) or len(sizes) < 2:
        return 1.0
    score = np.nanmean(values[rated], axis=1)
    means = np.bincount(place, weights=score) / sizes
    between = (sizes * (means - score.mean()) ** 2).sum() / (len(sizes) - 1)
    within = ((score - means[place]) ** 2).sum() / (len(place) - len(sizes))
    typical = (len(place) - (sizes**2).sum() / len(place)) / (len(sizes) - 1)
    total = between + (typical - 1) * within
    correlation = np.clip((between - within) / total, 0.0, 1.0) if total > 0 else 0.0
    return float(1 + (typical - 1) * correlation**2)
