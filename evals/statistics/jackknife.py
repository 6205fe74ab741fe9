"""The one interval rule: leave out one cluster of cases at a time, Student's t on a scale where errors are about even.

With z the coefficient on that scale, z_i the same without cluster i, and d_i = z_i less the mean of all G of them:

    se^2     = (G - 1) / G * sum d_i^2
    k        = G * sum d_i^4 / (sum d_i^2)^2
    df       = max(1, 2 / (2 / (G - 1) + max(k - 3, 0) / G))
    interval = z -+ t(df) * se, brought back to the coefficient's own scale

The scale is Fisher's z for coefficients that end at 1, the logarithm for errors, none for differences; a share has Wilson's
interval at the number of cases that its error stands for. A variance from G values of kurtosis k has itself the relative
variance 2 / (G - 1) + (k - 3) / G, and df are the degrees of freedom that a normal sample would need for the same: where a
few cases carry a coefficient, its error is known from those few.

References:
    Miller (1974), "The jackknife: a review", Biometrika 61:1-15.
    Efron and Stein (1981), "The jackknife estimate of variance", Annals of Statistics 9:586-596.
    Satterthwaite (1946), "An approximate distribution of estimates of variance components", Biometrics Bulletin 2:110-114,
        for degrees of freedom that match the variance of a variance.
    Fisher (1921), "On the probable error of a coefficient of correlation", Metron 1:3-32. Wilson (1927), JASA 22:209-212.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from .estimate import Estimate, undefined
from .gate import OPEN, Gate, group_warning, interval_refusal
from .matrix import FloatArray, IntArray, Matrix
from .proportion import wilson
from .weighted import Coefficient, leave_one_out, over_clusters

HAIR = 1e-12
"""Up to here a value is 1, or an error 0, but for rounding."""
APPROXIMATE = "the interval is approximate on skewed scales, where 83 to 92% of such intervals held the true value in simulations: prefer ordinal alpha on such scales"
SAME = "all cases have the same value"


@dataclass(frozen=True, slots=True)
class Transform:
    """A scale on which a statistic's error is about even."""

    name: str
    to: Callable[[FloatArray], FloatArray]
    back: Callable[[FloatArray], FloatArray]


def _fisher(values: FloatArray) -> FloatArray:
    inside = np.abs(values) < 1 - HAIR
    return np.where(
        inside, np.arctanh(np.where(inside, values, 0.0)), np.where(np.isnan(values), np.nan, np.inf)
    )


def _log(values: FloatArray) -> FloatArray:
    return np.log(np.where(values > 0, values, np.nan))


FISHER = Transform("Fisher's z", _fisher, np.tanh)
"""Infinite at 1, at -1 and beyond: there is no interval."""
LOG = Transform("log", _log, np.exp)
RAW = Transform("", np.asarray, np.asarray)
SHARE = Transform("Wilson", np.asarray, np.asarray)
"""A share of cases."""
RATIO = Transform("Wilson", np.asarray, np.asarray)
"""Between 0 and 1, but no plain share of cases (F1, an area): no interval where nothing changes."""


class Spread(NamedTuple):
    """What leaving out clusters says of an estimate."""

    transform: Transform
    centre: float
    """The estimate on the transform's scale, and `se` its error there."""
    se: float
    df: float
    clusters: float

    def bounds(self, confidence: float = 0.95) -> tuple[float, float]:
        """Low and high on the coefficient's own scale."""
        reach = float(stdtrit(self.df, (1 + confidence) / 2))
        if self.transform in (SHARE, RATIO):
            share = self.centre
            size = share * (1 - share) / self.se**2 if self.se > 0 else self.clusters
            return wilson(share, size, confidence, self.df)
        ends = np.array([self.centre - reach * self.se, self.centre + reach * self.se])
        low, high = self.transform.back(ends)
        return float(low), float(high)

    def p(self, truth: float = 0.0) -> float:
        """The two-sided p of a true value of `truth`, from the same t; NaN where the scale does not reach it."""
        gap = abs(self.centre - float(self.transform.to(np.array([truth]))[0]))
        return float(2 * stdtr(self.df, -gap / self.se)) if self.se > 0 and gap < np.inf else np.nan


def jackknife_spread(
    value: float, left_out: FloatArray, transform: Transform, frequency: IntArray | None = None
) -> Spread | str:
    """The jackknife of an estimate, or why there is none.

    Args:
        left_out: The statistic without one cluster of each kind.
        frequency: How many clusters are of that kind; by default one each.
    """
    counts = np.ones(len(left_out)) if frequency is None else frequency.astype(float)
    clusters = float(counts.sum())
    if transform is LOG:
        left_out = np.where(left_out <= HAIR * value, np.nan, left_out)
    centre, scores = float(transform.to(np.array([value]))[0]), transform.to(left_out)
    if not np.isfinite(centre):
        return f"the value {value:.3g} is at or beyond the end of the scale on which its interval is computed"
    if not np.isfinite(scores).all():
        return "if one of the cases or groups is left out, the value is undefined, or at the end of the scale on which its interval is computed"
    squared = (scores - counts @ scores / clusters) ** 2
    square_sum, fourth_sum = float(counts @ squared), float(counts @ squared**2)
    if square_sum <= clusters * (HAIR * max(1.0, abs(centre))) ** 2:
        return Spread(transform, centre, 0.0, clusters - 1, clusters) if transform is SHARE else SAME
    kurtosis = clusters * fourth_sum / square_sum**2
    df = max(1.0, 2 / (2 / (clusters - 1) + max(kurtosis - 3, 0.0) / clusters))
    return Spread(transform, centre, ((clusters - 1) / clusters * square_sum) ** 0.5, df, clusters)


LeftOut = tuple[FloatArray, IntArray | None]
"""A statistic without one cluster of each kind, and how many clusters are of that kind."""


@dataclass(frozen=True, slots=True)
class Jackknife:
    """How intervals are made: what is left out as a whole, and how sure they are."""

    by: str = "case"
    """The column whose equal values are left out together."""
    confidence: float = 0.95
    own: bool = False
    """Whether a judge stands against a mean, so that each is held against its own commonest value (see `gate`)."""

    def estimate(
        self,
        coefficient: Coefficient,
        grid: Matrix,
        *,
        method: str,
        otherwise: str,
        transform: Transform = RAW,
        gate: Gate = OPEN,
        n: int | None = None,
    ) -> Estimate:
        """The coefficient of `grid` with its interval and p; `otherwise` says why, should it be NaN.

        Args:
            n: The cases that the coefficient rests on, where they are fewer than those of `grid`.
        """
        size = len(grid.cases) if n is None else n
        if not len(grid.cases):
            return undefined(otherwise, method=method, n=size, confidence=self.confidence)
        statistic, frequency = over_clusters(coefficient, grid)
        value = float(statistic(frequency[None].astype(float))[0])
        return self.of_left_out(
            value,
            lambda: (leave_one_out(statistic, frequency), frequency),
            grid,
            method=method,
            otherwise=otherwise,
            transform=transform,
            gate=gate,
            n=size,
        )

    def estimates(
        self,
        coefficient: Coefficient,
        grid: Matrix,
        *,
        methods: Sequence[str],
        otherwise: Sequence[str],
        transform: Transform = RAW,
    ) -> list[Estimate]:
        """Of a coefficient with several columns, such as one a class, an estimate each.

        Args:
            methods: The name of each column, and `otherwise` why it is NaN, should it be.
        """
        names = list(zip(methods, otherwise, strict=True))
        if not len(grid.cases):
            return [undefined(cause, method=name, n=0, confidence=self.confidence) for name, cause in names]
        statistic, frequency = over_clusters(coefficient, grid)
        values, left_out = statistic(frequency[None].astype(float))[0], leave_one_out(statistic, frequency)

        def column(number: int) -> Callable[[], LeftOut]:
            return lambda: (left_out[:, number], frequency)

        return [
            self.of_left_out(
                float(values[number]),
                column(number),
                grid,
                method=name,
                otherwise=cause,
                transform=transform,
                n=len(grid.cases),
            )
            for number, (name, cause) in enumerate(names)
        ]

    def of_left_out(
        self,
        value: float,
        left_out: Callable[[], LeftOut],
        grid: Matrix,
        *,
        method: str,
        otherwise: str,
        transform: Transform,
        n: int,
        gate: Gate = OPEN,
        pairs: IntArray | None = None,
    ) -> Estimate:
        """A value with its interval and p, from what it is without each cluster, which is asked for if needed."""
        if np.isnan(value):
            return undefined(otherwise, method=method, n=n, confidence=self.confidence)
        bare = Estimate(value, np.nan, np.nan, n, method, self.confidence)
        lone = "no interval: there is only one case or group" if grid.clusters < 2 else ""
        refusal = lone or interval_refusal(grid, gate, own=self.own, pairs=pairs)
        if refusal:
            return replace(bare, note=refusal)
        values, frequency = left_out()
        spread = jackknife_spread(value, values, transform, frequency)
        if isinstance(spread, str):
            return replace(bare, note=f"no interval: {spread}")
        low, high = spread.bounds(self.confidence)
        label = ", ".join(filter(None, (f"{method}; jackknife of {units(grid)}", transform.name)))
        se = spread.se if transform in (RAW, SHARE, RATIO) else np.nan
        return replace(bare, low=low, high=high, method=label, note=group_warning(grid), se=se, p=spread.p())


CASES = Jackknife()
"""Each case by itself."""


def approximate(estimate: Estimate) -> Estimate:
    """The estimate, where it has an interval, with the word on what such intervals hold on skewed scales."""
    if np.isnan(estimate.low):
        return estimate
    return replace(estimate, note="; ".join(filter(None, (estimate.note, APPROXIMATE))))


def units(grid: Matrix) -> str:
    """What is left out, counted: "40 cases", "14 groups"."""
    return f"{grid.clusters} {'groups' if grid.clustered else 'cases'}"
