"""Intervals from leaving out one cluster of cases at a time: Student's t on a scale that the coefficient does not run out of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, stdtr, stdtrit

from .matrix import FloatArray, IntArray

ENOUGH = 0.5
"""The share of leave-one-out values that must be defined."""
FURTHEST = 3.0
"""The bias is believed up to this many standard errors."""
LOST = 0.5
"""Degrees of freedom that clusters of several cases have fewer than single cases; chosen in simulation."""


@dataclass(frozen=True, slots=True)
class Link:
    """A scale on which a coefficient's error is nearly symmetric, and the range of the coefficient."""

    to: Callable[[FloatArray], FloatArray]
    back: Callable[[FloatArray], FloatArray]
    low: float
    high: float

    def inside(self, low: float, high: float) -> tuple[float, float]:
        """The bounds, within the coefficient's range."""
        return max(low, self.low), min(high, self.high)


def _fisher(values: FloatArray) -> FloatArray:
    """Fisher's z above zero and -log(1 - x) below, which meet with the same slope: chance-corrected
    coefficients end at 1 and may fall far below -1."""
    above = np.arctanh(np.clip(values, 0.0, 1 - 1e-9))
    return np.where(values >= 0, above, -np.log1p(-np.minimum(values, 0.0)))


def _unfisher(scores: FloatArray) -> FloatArray:
    return np.where(scores >= 0, np.tanh(scores), -np.expm1(-np.minimum(scores, 0.0)))


def _arcsine(values: FloatArray) -> FloatArray:
    """The arcsine above zero and the value itself below, which meet with the same slope: halfway between Fisher's z and no change."""
    return np.where(values >= 0, np.arcsin(np.clip(values, 0.0, 1.0)), values)


def _unarcsine(scores: FloatArray) -> FloatArray:
    return np.where(scores >= 0, np.sin(np.clip(scores, 0.0, np.pi / 2)), scores)


CORRELATION = Link(_fisher, _unfisher, -1.0, 1.0)
MEAN_OF_PAIRS = Link(_arcsine, _unarcsine, -1.0, 1.0)
"""Of kappas averaged over pairs of raters, which are less skewed than one."""
RELIABILITY = Link(_fisher, _unfisher, -np.inf, 1.0)
"""Of means of several raters: no lower end."""
SHARE = Link(logit, expit, 0.0, 1.0)
PLAIN_SHARE = Link(np.asarray, np.asarray, 0.0, 1.0)
"""A mean over clusters, whose errors are even; the logit is for single yes and no."""
ERROR = Link(np.log, np.exp, 0.0, np.inf)
DISTANCE = Link(np.asarray, np.asarray, 0.0, np.inf)
DIFFERENCE = Link(np.asarray, np.asarray, -np.inf, np.inf)


@dataclass(frozen=True, slots=True)
class Jackknife:
    """What leaving out clusters says of an estimate, on the link's scale."""

    link: Link
    centre: float
    """The estimate less half its jackknife bias: the whole correction would add more noise than it takes away."""
    se: float
    freedom: float
    estimate: float

    def bounds(self, confidence: float) -> tuple[float, float]:
        """Low and high, within range, the estimate between them."""
        reach = float(stdtrit(self.freedom, (1 + confidence) / 2)) * self.se
        ends = self.link.back(np.array([self.centre - reach, self.centre + reach]))
        low, high = self.link.inside(float(ends[0]), float(ends[1]))
        return min(low, self.estimate), max(high, self.estimate)

    def p(self, truth: float) -> float:
        """The two-sided p of a true value of `truth`, from the same t."""
        gap = self.centre - float(self.link.to(np.array([truth]))[0])
        return float(2 * stdtr(self.freedom, -abs(gap) / self.se)) if self.se > 0 else np.nan


def jackknife(
    value: float, left_out: FloatArray, frequency: IntArray, link: Link, *, clustered: bool = False
) -> Jackknife | None:
    """The jackknife of an estimate; None where too few leave-one-out values are defined, or none differs.

    The degrees of freedom are those of a variance of contributions of the kurtosis seen: where a few cases carry
    the coefficient, its spread is known from those few.

    Args:
        left_out: The coefficient without one cluster of each kind.
        frequency: How many clusters are of that kind.
        clustered: Whether clusters hold several cases each: of few such ones the spread is known less well still.

    References:
        Efron and Stein (1981), "The jackknife estimate of variance", Annals of Statistics 9:586-596.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        own, each = float(link.to(np.array([value]))[0]), link.to(left_out)
    known = np.isfinite(each)
    n = float(frequency[known].sum())
    if not np.isfinite(own) or n < 2 or n < ENOUGH * frequency.sum():
        return None
    weight = frequency[known].astype(float)
    mean = float((each[known] * weight).sum() / n)
    squared = (each[known] - mean) ** 2
    second, fourth = float((squared * weight).sum() / n), float((squared**2 * weight).sum() / n)
    if second <= 1e-24 * max(1.0, own**2):
        return None
    excess = fourth / second**2 - 1
    most = n - 1 - (LOST if clustered else 0.0)
    freedom = max(1.0, min(most, 2 * n / excess if excess > 0 else most))
    variance = second * (n - 1)
    bias = float(np.clip((n - 1) * (mean - own), -FURTHEST * variance**0.5, FURTHEST * variance**0.5))
    return Jackknife(link, own - bias / 2, float((variance + bias**2 / 2) ** 0.5), freedom, value)
