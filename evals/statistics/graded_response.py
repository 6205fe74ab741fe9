"""A graded response model with one trait: how likely ratings on a short scale are, given what raters see of each case's quality.

Each case has a quality and each rater sees it with noise, both normal, and answers by where it falls between thresholds.

References:
    Samejima (1969), "Estimation of latent ability using a response pattern of graded scores", Psychometrika 34(S1).
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from .matrix import FloatArray, IntArray

NODES, FEWEST_NODES, POOREST, BEST = 23, 37, -4.2, 3.3
"""Points at which the quality of a case is summed over, for each root of the number of raters and at the least, evenly spaced
between these standard deviations: the more raters agree, the narrower is what they leave of a case's quality. Gauss-Hermite's
points lie further apart and step over it; nobody sees how far above the highest threshold the best lie."""
FEW_RATERS = 10
"""Up to so many raters, each has a harshness of its own."""
HARSHNESS, HARSHNESS_FREEDOM = 0.3, 3.0
"""The spread of raters' harshness that is taken to be likely, in standard deviations of what they see, and the degrees of
freedom of the Student's t about it: raters who differ more are believed."""
BEND, BEND_SPREAD = 0.4, 0.4
"""How far the qualities of poor cases are taken to be stretched against those of good ones, and how sure that is: Tukey's g,
0 where quality is normal, 0.55 where poor cases are as rare as an exponential distribution makes them."""
TOP_SPREAD = 2**0.5
"""The spread of the threshold below the piled end: about Jeffreys' prior for the share that stands there."""
STEP, STEPS_TOGETHER, STEPS_APART = 0.6, 0.5, 0.5
"""Thresholds are taken to be about evenly spaced: the distance between two, in standard deviations of what raters see, and
the spread of its logarithm, for all distances together and for each by itself. So a score that was never given is as rare
as its distance from those that were makes it, however long the scale."""
FURTHEST = 50.0
"""The largest exponent in how poor cases are drawn apart."""
LONGEST_STEP = 3.0
"""The logarithm beyond which a distance between thresholds is as good as endless."""
NONE = -12.0
"""The logit of a latent correlation that is as good as none."""
FLAT = 0.05
"""Curvature below this is taken for this."""
MOST_STEPS, CLOSE = 30, 1e-3
"""Steps towards the mode, and the gain in height below which it is reached: draws are only to lie about it."""
CLOSEST = 0.998
"""The highest latent correlation."""
CLOSENESS = 0.5
"""The latent correlation is taken to be distributed as Beta(1, this). Were any as likely as any other (1), intervals of raters
who see nearly the same would lie below the truth."""
LEAST = 1e-12
"""The chance below which an answer's is taken for this."""
SQRT_TWO_PI = float(np.sqrt(2 * np.pi))
BLOCK = 40
"""Draws weighed at a time: few enough to stay in the processor's cache."""
HALVINGS = np.array([1.0, 0.5, 0.25, 0.1, 0.03, 0.01])


class _Answers(NamedTuple):
    """The chance of each answer, by row of parameters, rater, answer and quality of the case; and what it is made of."""

    chance: FloatArray
    gap: FloatArray
    """From what a rater sees to each threshold, in standard deviations of the noise."""
    correlation: FloatArray
    quality: FloatArray


class GradedResponseModel:
    """The log-posterior of parameters: the logit of the latent correlation, the bend of quality, the highest threshold,
    the logarithms of the distances between thresholds, raters' harshness."""

    def __init__(self, codes: IntArray, levels: int, effect: float) -> None:
        patterns, counts = np.unique(codes, axis=0, return_counts=True)
        self._levels, self._raters, self._effect = levels, codes.shape[1], effect
        self._counts = counts.astype(float)
        self._harsh = self._raters if self._raters <= FEW_RATERS else 0
        hot = np.eye(levels + 1)[patterns][:, :, :levels]
        self._said = hot.reshape(len(patterns), -1)
        nodes = max(FEWEST_NODES, round(NODES * self._raters**0.5))
        self._nodes = np.linspace(POOREST, BEST, nodes)
        self._weights = np.exp(-(self._nodes**2) / 2)
        self._weights /= self._weights.sum()
        steps = levels - 2
        together = STEPS_TOGETHER**2 / (STEPS_APART**2 + steps * STEPS_TOGETHER**2)
        self._step_precision = (np.eye(steps) - together) / STEPS_APART**2
        answers = (hot * self._counts[:, None, None]).sum(axis=(0, 1))
        self._below_top = float((answers[:-1].sum() + 0.5) / (answers.sum() + 1))

    def mode(self) -> FloatArray:
        """Where the posterior is highest."""
        steps = np.full(self._levels - 2, np.log(STEP))
        return self._highest(
            np.concatenate([[1.0, BEND, ndtri(self._below_top)], steps, np.zeros(self._harsh)])
        )

    def gain(self, mode: FloatArray) -> float:
        """How much the log-likelihood gains by any correlation over none."""
        alone = self._highest(np.concatenate([[NONE], mode[1:]]), free=slice(1, None))
        both = self._log_likelihood(self._answers(np.stack([mode, alone])))
        return float(both[0] - both[1])

    def heights(self, parameters: FloatArray) -> FloatArray:
        """The log-posterior, by row of parameters."""
        return np.concatenate(
            [
                self._log_posterior(parameters[start : start + BLOCK])
                for start in range(0, len(parameters), BLOCK)
            ]
        )

    def tables(self, parameters: FloatArray) -> FloatArray:
        """How often every two raters' answers meet, by row of parameters; equal rows, which follow one another, are worked out once."""
        k, levels = self._raters, self._levels
        first, second = np.array(list(combinations(range(k), 2))).T
        new = np.append(True, (parameters[1:] != parameters[:-1]).any(axis=1))
        distinct, tables = parameters[new], []
        for start in range(0, len(distinct), BLOCK):
            given = self._answers(distinct[start : start + BLOCK]).chance
            given = given.reshape(len(given), -1, len(self._nodes))
            met = (given * self._weights) @ given.transpose(0, 2, 1)
            tables.append(met.reshape(-1, k, levels, k, levels)[:, first, :, second])
        return np.concatenate(tables, axis=1).swapaxes(0, 1)[np.cumsum(new) - 1]

    def slope(self, parameters: FloatArray) -> FloatArray:
        """The derivatives of the log-posterior, by row of parameters."""
        answers = self._answers(parameters)
        expected = self._expected_counts(answers) / np.maximum(answers.chance, LEAST)
        noise = 1 - answers.correlation
        pushed = -np.diff(expected, axis=2) * np.exp(-(answers.gap**2) / 2) / SQRT_TWO_PI
        pushed /= np.sqrt(noise)[:, None, None, None]
        by_node = pushed.sum(axis=(1, 2))
        by_quality = (by_node * answers.quality).sum(axis=1) / np.sqrt(answers.correlation)
        bend = -(by_node * self._by_bend(parameters)).sum(axis=1) * np.sqrt(answers.correlation)
        by_gap = (pushed * answers.gap).sum(axis=(1, 2, 3)) / np.sqrt(noise)
        share = answers.correlation / CLOSEST
        logit = (by_gap - by_quality) / 2 * answers.correlation * (1 - share)
        by_threshold = pushed.sum(axis=(1, 3))
        steps = -np.exp(parameters[:, 3 : self._levels + 1]) * by_threshold.cumsum(axis=1)[:, :-1]
        thresholds = np.column_stack([by_threshold.sum(axis=1), steps])
        harsh = -pushed.sum(axis=(2, 3))[:, : self._harsh]
        found = np.column_stack([logit, bend, thresholds, harsh])
        return found / self._effect + self._prior_slope(parameters)

    def curvature(self, at: FloatArray) -> FloatArray:
        """The negative second derivatives of the log-posterior, by central differences of the slope."""
        step = 1e-4
        moves = step * np.eye(len(at))
        slopes = self.slope(np.concatenate([at + moves, at - moves]))
        found = (slopes[len(at) :] - slopes[: len(at)]) / (2 * step)
        return (found + found.T) / 2

    def _log_prior(self, parameters: FloatArray) -> FloatArray:
        """Up to a constant."""
        logit, bend, top, steps, harsh = self._parts(parameters)
        likely = -np.logaddexp(0, -logit) - CLOSENESS * np.logaddexp(0, logit)
        apart = ((steps @ self._step_precision) * steps).sum(axis=1)
        freedom = HARSHNESS_FREEDOM
        equal = np.log1p((harsh**2).sum(axis=1) / (freedom * HARSHNESS**2))
        known = (bend / BEND_SPREAD) ** 2 + (top / TOP_SPREAD) ** 2 + apart
        return likely - known / 2 - (freedom + harsh.shape[1]) / 2 * equal

    def _prior_slope(self, parameters: FloatArray) -> FloatArray:
        """The derivatives of the log-prior, by row of parameters."""
        logit, bend, top, steps, harsh = self._parts(parameters)
        share = 1 / (1 + np.exp(-logit))
        freedom = HARSHNESS_FREEDOM
        squares = freedom * HARSHNESS**2 + (harsh**2).sum(axis=1, keepdims=True)
        return np.column_stack(
            [
                1 - (1 + CLOSENESS) * share,
                -bend / BEND_SPREAD**2,
                -top / TOP_SPREAD**2,
                -steps @ self._step_precision,
                -(freedom + harsh.shape[1]) * harsh / squares,
            ]
        )

    def _parts(self, parameters: FloatArray) -> tuple[FloatArray, ...]:
        """The logit, the bend, the highest threshold, the distances' logarithms and raters' harshness, those that have a
        likely value as what they differ from it."""
        harsh, steps = parameters[:, self._levels + 1 :], parameters[:, 3 : self._levels + 1] - np.log(STEP)
        return parameters[:, 0], parameters[:, 1] - BEND, parameters[:, 2], steps, harsh

    def _quality(self, parameters: FloatArray) -> FloatArray:
        """By row of parameters, the quality that each node stands for: bent, so that poor cases lie further apart."""
        bend = _not_zero(parameters[:, 1:2])
        # A step of the search may be far too long; what it would give must still be a number.
        return -np.expm1(np.minimum(-bend * self._nodes, FURTHEST)) / bend

    def _by_bend(self, parameters: FloatArray) -> FloatArray:
        """The derivative of that by the bend."""
        bend = _not_zero(parameters[:, 1:2])
        return (self._nodes * np.exp(-bend * self._nodes) - self._quality(parameters)) / bend

    def _log_posterior(self, parameters: FloatArray) -> FloatArray:
        return self._log_likelihood(self._answers(parameters)) / self._effect + self._log_prior(parameters)

    def _log_likelihood(self, answers: _Answers) -> FloatArray:
        by_node, highest = self._by_node(answers)
        return (highest + np.log(by_node @ self._weights)) @ self._counts

    def _expected_counts(self, answers: _Answers) -> FloatArray:
        """How often each answer is expected to have come from each quality, given what was said."""
        by_node, _ = self._by_node(answers)
        by_node *= self._weights
        by_node *= (self._counts / by_node.sum(axis=2))[:, :, None]
        return (self._said.T @ by_node).reshape(answers.chance.shape)

    def _by_node(self, answers: _Answers) -> tuple[FloatArray, FloatArray]:
        """The likelihood of each pattern of answers given each quality, over its highest; and the log of that."""
        logs = np.maximum(answers.chance, LEAST)
        np.log(logs, out=logs)
        by_node = self._said @ logs.reshape(len(logs), -1, len(self._nodes))
        highest = by_node.max(axis=2)
        by_node -= highest[:, :, None]
        return np.exp(by_node, out=by_node), highest

    def _answers(self, parameters: FloatArray) -> _Answers:
        correlation = CLOSEST / (1 + np.exp(-parameters[:, 0]))
        steps = np.exp(np.minimum(parameters[:, 3 : self._levels + 1], LONGEST_STEP))
        thresholds = np.repeat(parameters[:, 2:3], self._levels - 1, axis=1)
        thresholds[:, :-1] -= steps[:, ::-1].cumsum(axis=1)[:, ::-1]
        harsh = (
            parameters[:, self._levels + 1 :] if self._harsh else np.zeros((len(parameters), self._raters))
        )
        quality = self._quality(parameters)
        seen = np.sqrt(correlation)[:, None] * quality
        gap = (thresholds[:, None] - harsh[:, :, None])[..., None] - seen[:, None, None]
        gap /= np.sqrt(1 - correlation)[:, None, None, None]
        reached = ndtr(gap)
        chance = np.empty((len(gap), self._raters, self._levels, len(self._nodes)))
        chance[:, :, 0], chance[:, :, -1] = reached[:, :, 0], 1 - reached[:, :, -1]
        np.subtract(reached[:, :, 1:], reached[:, :, :-1], out=chance[:, :, 1:-1])
        return _Answers(chance, gap, correlation, quality)

    def _highest(self, start: FloatArray, free: slice = slice(None)) -> FloatArray:
        """Newton's method with steps that are halved until they climb; parameters that are not `free` stay."""
        at, height = start.copy(), float(self._log_posterior(start[None])[0])
        for _ in range(MOST_STEPS):
            step = np.zeros_like(at)
            slope = self.slope(at[None])[0]
            step[free] = inverse_curvature(self.curvature(at)[free, free]) @ slope[free]
            tries = at + step * HALVINGS[:, None]
            heights = self._log_posterior(tries)
            best = int(heights.argmax())
            if heights[best] < height + CLOSE:
                break
            at, height = tries[best], float(heights[best])
        return at


def _not_zero(values: FloatArray) -> FloatArray:
    return np.where(np.abs(values) < 1e-6, 1e-6, values)


def inverse_curvature(curvature: FloatArray) -> FloatArray:
    """The covariance that a curvature is the inverse of, no direction flatter than `FLAT`."""
    values, vectors = np.linalg.eigh(curvature)
    return (vectors / np.maximum(values, FLAT)) @ vectors.T
