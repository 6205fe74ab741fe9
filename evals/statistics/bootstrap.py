"""Percentile and BCa intervals from resampling whole cases, vectorised over the resamples.

A statistic here is a function of how often each case counts. The data are the weights (1, 1, ..., 1); a
resample is a row of multinomial counts; leaving a case out is a row with one zero. So one matrix product
serves every resample at once, and the jackknife that BCa needs comes free.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Literal, Protocol, runtime_checkable

import numpy as np

from .bca import Reading, bias_and_pull, least_p
from .estimate import Estimate, undefined
from .holding import COUNTS, Basis, Population, holding
from .jackknife import Link
from .matrix import FloatArray, IntArray, Matrix
from .resamples import Counts, resamples

Statistic = Callable[[FloatArray], FloatArray]
"""From weights, one row per resample and one column per case, to one value per row."""


@dataclass(frozen=True, slots=True)
class OfSums:
    """A statistic of sums over cases: what each case adds to them, and the value for each row of totals."""

    sums: FloatArray
    value: Callable[[FloatArray], FloatArray]

    def __call__(self, weights: FloatArray) -> FloatArray:
        return self.value(weights @ self.sums)

    def of_clusters(self, cluster: IntArray, clusters: int) -> "OfSums":
        """The same of the weights of clusters; `cluster` says which each case is in."""
        together = np.zeros((clusters, self.sums.shape[1]))
        np.add.at(together, cluster, self.sums)
        return OfSums(together, self.value)

    def totals(self, counts: Iterable[Counts], n: int) -> FloatArray:
        """The totals of rows of n draws; in single precision, twice as fast, where it is exact: small whole numbers."""
        whole = np.array_equal(self.sums, np.rint(self.sums)) and n * np.abs(self.sums).max() < 2**24
        sums = self.sums.astype(np.float32 if whole else np.float64)
        return np.concatenate([each.astype(sums.dtype) @ sums for each in counts]).astype(np.float64)


@runtime_checkable
class Clusterable(Protocol):
    """A statistic that can take the weights of clusters in place of those of cases."""

    def of_clusters(self, cluster: IntArray, clusters: int) -> Statistic: ...


Coefficient = Callable[[FloatArray], Statistic]
"""From values, one row per case and one column per rater, to the statistic of those cases."""

LeftOut = tuple[FloatArray, IntArray]
"""A statistic without one case of each kind that is left out, and how often that kind occurs."""

Kind = Literal["holding", "expanded", "bca", "percentile"]
LABELS: dict[Kind, str] = {
    "holding": "expanded BCa",
    "expanded": "expanded BCa",
    "bca": "BCa",
    "percentile": "percentile",
}

BLOCK = 40_960
"""Weights used at a time: few enough to stay in the processor's cache, and for a product with a dozen columns of
sums to be too small for OpenBLAS to share out among threads, which costs more than it gives on a busy machine."""

ENOUGH = 0.5
"""The share of resamples that must be defined for an interval to be given."""
LEFT_OUT = 500
"""Cases left out in turn for the acceleration of a statistic that is no sum over cases (ranks), at the most: it is a skewness over
the root of their number, and small where they are many."""


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How to resample: the source of chance, how often, and which interval to read off.

    `holding`, the default, is the interval that simulation shows to hold: for a coefficient of agreement the jackknife's
    or a latent trait's (see `holding.py`), for everything else `expanded`. `bca` is Efron's interval. `expanded` reads it a little further out, as Student's t stands to
    the normal: the bootstrap of n cases is narrow by a factor of about the root of (n - 1) / n and knows
    nothing of the t, and at forty cases that costs one or two points of coverage.

    References:
        Efron (1987), "Better bootstrap confidence intervals", JASA 82:171-185.
        Hesterberg (2015), "What teachers should know about the bootstrap", American Statistician 69:371-386.
    """

    rng: np.random.Generator
    resamples: int = 1000
    confidence: float = 0.95
    kind: Kind = "holding"
    by: str = "case"
    """The column whose equal values are drawn together."""
    levels: tuple[float, ...] | None = None
    """The values of the scale, used or not, where they are known."""

    def estimate(
        self,
        coefficient: Coefficient,
        grid: Matrix,
        *,
        method: str,
        otherwise: str,
        n: int | None = None,
        link: Link | None = None,
        population: Population | None = None,
        everyone: Matrix | None = None,
        basis: Basis = COUNTS,
    ) -> Estimate:
        """The coefficient of `grid` with its interval; `otherwise` says why, should it be NaN.

        Args:
            link: The scale on which a coefficient of agreement is symmetric; None for anything else.
            population: Draws of such a coefficient from a latent trait.
            everyone: The ratings that the latent trait learns from, where `grid` holds only some of them.
            basis: What the coefficient is made of.
            n: The cases that the coefficient rests on, where they are fewer than those of `grid`.
        """
        if self.kind == "holding" and link is not None and len(grid.cases):
            statistic, frequency = over_cases(coefficient, grid)
            value = float(statistic(frequency[None].astype(float))[0])
            found = self.with_interval(
                value,
                lambda: (leave_one_out(statistic, frequency), frequency),
                grid,
                everyone=grid if everyone is None else everyone,
                link=link,
                population=population,
                method=method,
                otherwise=otherwise,
                n=len(grid.cases) if n is None else n,
                basis=basis,
            )
        else:
            found, _ = self._estimate_and_reading(coefficient, grid, method, otherwise)
        return found if n is None else replace(found, n=n)

    def with_interval(
        self,
        value: float,
        left_out: Callable[[], tuple[FloatArray, IntArray]],
        grid: Matrix,
        *,
        everyone: Matrix,
        link: Link,
        population: Population | None,
        method: str,
        otherwise: str,
        n: int,
        basis: Basis = COUNTS,
    ) -> Estimate:
        """A value with the interval that holds, from what it is without each cluster, which is asked for if needed."""
        if np.isnan(value):
            return undefined(otherwise, method=method, n=n, confidence=self.confidence)
        if min(n, everyone.clusters) < 2:
            why = f"no interval: one {'case' if n < 2 else 'group'} cannot be left out"
            return Estimate(value, np.nan, np.nan, n, method, self.confidence, why)
        without, frequency = left_out()
        found = holding(
            value,
            without,
            frequency,
            grid=grid,
            everyone=everyone,
            link=link,
            population=population,
            levels=self.levels,
            method=method,
            confidence=self.confidence,
            seed=int(self.rng.integers(2**32)),
            used=n,
            basis=basis,
        )
        return replace(found, n=n)

    def estimate_and_p(
        self, coefficient: Coefficient, grid: Matrix, *, method: str, otherwise: str
    ) -> tuple[Estimate, float]:
        """`estimate`, with the two-sided p of a true value of zero: one minus the confidence of the widest interval without it."""
        found, read = self._estimate_and_reading(coefficient, grid, method, otherwise)
        return found, np.nan if read is None else read.p(0.0)

    def estimates(
        self, coefficient: Coefficient, grid: Matrix, *, methods: Sequence[str], otherwise: Sequence[str]
    ) -> list[Estimate]:
        """Of a coefficient with several columns, such as one a class, an estimate each from the same resamples.

        Args:
            methods: The name of each column, and `otherwise` why it is NaN, should it be.
        """
        n = len(grid.cases)
        if not n:
            return [
                undefined(why, method=name, n=n, confidence=self.confidence)
                for name, why in zip(methods, otherwise, strict=True)
            ]
        statistic, frequency = over_cases(coefficient, grid)
        drawn = self._resampled_values(statistic, frequency)
        values, times = _left_out(statistic, frequency)

        def left_out(column: int) -> Callable[[], LeftOut]:
            return lambda: (values[:, column], times)

        return [
            self._read(drawn[:, column], left_out(column), frequency, grid, name, why)[0]
            for column, (name, why) in enumerate(zip(methods, otherwise, strict=True))
        ]

    def label(self, grid: Matrix) -> str:
        what = f"{grid.clusters} clusters" if grid.clustered else "cases"
        return f"{LABELS[self.kind]} bootstrap of {what}, {self.resamples} resamples"

    def draws(self, statistic: Statistic, frequency: IntArray) -> FloatArray:
        """The statistic of each resample."""
        return self._resampled_values(statistic, frequency)[1:]

    def _resampled_values(self, statistic: Statistic, frequency: IntArray) -> FloatArray:
        """The statistic of the data, then that of each resample."""
        n = int(frequency.sum())
        counts = chain(
            [frequency[None, :]], _blocks(resamples(self.rng, frequency, self.resamples if n > 1 else 0))
        )
        if isinstance(statistic, OfSums):
            return statistic.value(statistic.totals(counts, n))
        return np.concatenate([statistic(each.astype(float)) for each in counts])

    def _estimate_and_reading(
        self, coefficient: Coefficient, grid: Matrix, method: str, otherwise: str
    ) -> tuple[Estimate, Reading | None]:
        n = len(grid.cases)
        if not n:
            return undefined(otherwise, method=method, n=n, confidence=self.confidence), None
        statistic, frequency = over_cases(coefficient, grid)
        drawn = self._resampled_values(statistic, frequency)
        left_out = partial(_left_out, statistic, frequency)
        return self._read(drawn, left_out, frequency, grid, method, otherwise)

    def _read(
        self,
        drawn: FloatArray,
        left_out: Callable[[], LeftOut],
        frequency: IntArray,
        grid: Matrix,
        method: str,
        otherwise: str,
    ) -> tuple[Estimate, Reading | None]:
        """The estimate, from the values of the data and of each resample, and how its interval is read from them."""
        n, value = len(grid.cases), float(drawn[0])
        if np.isnan(value):
            return undefined(otherwise, method=method, n=n, confidence=self.confidence), None
        read, note = self._reading(left_out, frequency, value, drawn[1:])
        low, high = (np.nan, np.nan) if read is None else read.bounds(self.confidence)
        return Estimate(value, low, high, n, f"{method}; {self.label(grid)}", self.confidence, note), read

    def _reading(
        self, left_out: Callable[[], LeftOut], frequency: IntArray, value: float, drawn: FloatArray
    ) -> tuple[Reading | None, str]:
        """How to read the draws, unless too few are defined, and what a reader must know of them."""
        n = int(frequency.sum())
        if n < 2:
            return None, "no interval: one case cannot be resampled"
        usable = drawn[~np.isnan(drawn)]
        if len(usable) < max(1, ENOUGH * self.resamples):
            return None, f"no interval: {len(usable)} of {self.resamples} resamples were defined"
        if least_p(len(usable)) > 1 - self.confidence + 1e-12:
            return None, f"no interval: {len(usable)} resamples are too few for one of {self.confidence:.0%}"
        bias, pull = 0.0, 0.0
        if self.kind != "percentile":
            bias, pull = bias_and_pull(usable, value, *left_out(), n)
        lost = self.resamples - len(usable)
        read = Reading(np.sort(usable), bias, pull, n if self.kind in ("holding", "expanded") else None)
        return read, f"{lost} of {self.resamples} resamples were undefined" if lost else ""


def over_cases(coefficient: Coefficient, grid: Matrix) -> tuple[Statistic, IntArray]:
    """The coefficient as a function of the weights of what is resampled, and how often each occurs.

    Two raters on a short scale leave few distinct cases; those are counted rather than repeated.
    """
    if grid.clustered:
        inner = coefficient(grid.values)
        if isinstance(inner, Clusterable):
            return inner.of_clusters(grid.cluster, grid.clusters), np.ones(grid.clusters, dtype=np.int64)
        return lambda weights: inner(weights[:, grid.cluster]), np.ones(grid.clusters, dtype=np.int64)
    if grid.values.shape[1] <= 2:
        kinds, kind = distinct_rows(grid.values)
        return coefficient(kinds), np.bincount(kind).astype(np.int64)
    return coefficient(grid.values), np.ones(len(grid.values), dtype=np.int64)


def distinct_rows(values: FloatArray) -> tuple[FloatArray, IntArray]:
    """The distinct rows in order and, for each row, which of them it is."""
    code = np.zeros(len(values), dtype=np.int64)
    for column in values.T:
        _, inverse = np.unique(column, return_inverse=True)
        code = code * (inverse.max() + 1) + inverse
    _, first, kind = np.unique(code, return_index=True, return_inverse=True)
    return values[first], kind


def _blocks(counts: Iterator[Counts]) -> Iterator[Counts]:
    """The rows of all `counts`, as many at a time as `BLOCK` allows."""
    for each in counts:
        step = max(1, BLOCK // each.shape[1])
        for start in range(0, len(each), step):
            yield each[start : start + step]


def _some_of(frequency: IntArray) -> IntArray | None:
    """`LEFT_OUT` kinds at even distances where there are more; None where all are few enough."""
    if len(frequency) <= LEFT_OUT:
        return None
    return np.linspace(0, len(frequency) - 1, LEFT_OUT).astype(np.int64)


def _left_out(statistic: Statistic, frequency: IntArray) -> LeftOut:
    """The values without a case, of all kinds or of as many as the acceleration needs."""
    some = None if isinstance(statistic, OfSums) else _some_of(frequency)
    return leave_one_out(statistic, frequency, some), frequency if some is None else frequency[some]


def leave_one_out(statistic: Statistic, frequency: IntArray, some: IntArray | None = None) -> FloatArray:
    """The statistic without one case of each kind, or of each of `some` kinds."""
    if isinstance(statistic, OfSums):
        return statistic.value(frequency @ statistic.sums - statistic.sums)
    wanted = np.arange(len(frequency)) if some is None else some
    step = max(1, BLOCK // len(frequency))
    parts = []
    for start in range(0, len(wanted), step):
        rows = wanted[start : start + step]
        weights = np.repeat(frequency[None, :].astype(float), len(rows), axis=0)
        weights[np.arange(len(rows)), rows] -= 1
        parts.append(statistic(weights))
    return np.concatenate(parts)
