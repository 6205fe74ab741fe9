"""Effective number: how many independent things correlated ones are worth, by Kish and by eigenvalues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .matrix import FloatArray

LEAST = 3
"""Rows that two columns must share for their correlation to be taken: of two, it is 1 or -1 whatever they hold."""


class EffectiveNumber(NamedTuple):
    """What k correlated columns are worth. Pairs whose correlation is unknown have no part in it."""

    kish: float
    """k / (1 + (k - 1) r), r being the mean correlation: the design effect; NaN where 1 + (k - 1) r is not above 0."""
    participation: float
    """k / (1 + (k - 1) r2), r2 being the mean squared correlation: the square of the sum of the correlations'
    eigenvalues over the sum of their squares."""
    correlation: float
    """The mean correlation of two columns; NaN where none is known."""
    unknown: int
    """Pairs without a correlation."""


def effective_number(correlations: FloatArray) -> EffectiveNumber:
    """The effective number of the columns whose correlations these are; NaN is an unknown correlation.

    References:
        Kish (1965), "Survey Sampling", section 5.4.
    """
    k = len(correlations)
    pairs = correlations[np.triu_indices(k, 1)]
    known_pairs = pairs[~np.isnan(pairs)]
    unknown = len(pairs) - len(known_pairs)
    if not len(known_pairs):
        lone = 1.0 if k == 1 else np.nan
        return EffectiveNumber(lone, lone, np.nan, unknown)
    mean = float(known_pairs.mean())
    share = 1 + (k - 1) * mean
    return EffectiveNumber(
        k / share if share > 1e-12 else np.nan,
        k / (1 + (k - 1) * float((known_pairs**2).mean())),
        mean,
        unknown,
    )


def correlation_matrix(values: FloatArray) -> FloatArray:
    """Pearson correlations of pairs of columns, each over the rows that both have; NaN where one never varies on them."""
    return PairSums.of(values).correlations


@dataclass(frozen=True, slots=True)
class PairSums:
    """What the correlations of columns are made of, so that some rows can be taken off: (column, column) each."""

    n: FloatArray
    """The rows that both have."""
    first: FloatArray
    """The sum of the first column over them."""
    square: FloatArray
    product: FloatArray
    centre: FloatArray
    """What was taken off each column beforehand, for precision."""

    @classmethod
    def of(cls, values: FloatArray, centre: FloatArray | None = None) -> PairSums:
        """The sums over the rows of `values`, NaN being missing; about each column's mean, or about `centre`."""
        is_known = ~np.isnan(values)
        if centre is None:
            centre = np.where(is_known, values, 0.0).sum(axis=0) / np.maximum(is_known.sum(axis=0), 1)
        gaps, ones = np.where(is_known, values - centre, 0.0), is_known.astype(float)
        return cls(ones.T @ ones, gaps.T @ ones, (gaps**2).T @ ones, gaps.T @ gaps, centre)

    def less(self, other: PairSums) -> PairSums:
        """The sums without the rows that `other` is of."""
        return PairSums(
            self.n - other.n,
            self.first - other.first,
            self.square - other.square,
            self.product - other.product,
            self.centre,
        )

    @property
    def correlations(self) -> FloatArray:
        """Pearson's, NaN where fewer than `LEAST` rows are shared or a column never varies on them."""
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = self.square - self.first**2 / self.n
            spread[(spread <= 1e-9 * np.maximum(self.square, 1e-9)) | (self.n < LEAST)] = np.nan
            return (self.product - self.first * self.first.T / self.n) / np.sqrt(spread * spread.T)
