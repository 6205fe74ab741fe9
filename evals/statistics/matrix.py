"""A long ratings table as a matrix of cases by raters."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...rubrics.errors import VenireError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Value = float | str

COLUMNS = ("case", "rater", "value")
LARGEST = 1e75
"""Beyond this, the fourth power of a rating may be no number."""


class InvalidRatings(VenireError):
    """A ratings table that no coefficient can read."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Ratings as `values[case, rater]`, NaN where a rater gave none.

    Cases nobody rated are absent. Text values are held as codes into `labels`, in sorted order.
    """

    values: FloatArray
    cases: tuple[Hashable, ...]
    raters: tuple[str, ...]
    cluster: IntArray
    """For each case, the number of the cluster that is resampled as a whole; by default the case."""
    labels: tuple[str, ...] | None = None
    """What the codes stand for; None when the values are numbers."""

    @classmethod
    def of_columns(cls, columns: Mapping[str, npt.ArrayLike], cluster: npt.ArrayLike) -> "Matrix":
        """Raters' columns side by side, over the cases that all of them rated; a case is the number of its row.

        Args:
            columns: By rater, in the order of their names, one value a case.
            cluster: For each case, what is resampled with it.
        """
        arrays = [np.asarray(column) for column in columns.values()]
        complete = np.logical_and.reduce([pd.notna(column) for column in arrays])
        values, labels = _values(pd.Series(np.concatenate([column[complete] for column in arrays])))
        met, _ = pd.factorize(np.asarray(cluster)[complete])
        grid = np.ascontiguousarray(values.reshape(len(arrays), -1).T)
        cases = tuple(np.flatnonzero(complete).tolist())
        return cls(grid, cases, tuple(columns), met.astype(np.int64), labels)

    @property
    def clusters(self) -> int:
        return int(self.cluster.max()) + 1 if len(self.cluster) else 0

    @property
    def clustered(self) -> bool:
        return self.clusters < len(self.cluster)

    def only(self, cases: npt.NDArray[np.bool_]) -> "Matrix":
        """The matrix of the `cases` marked, its clusters renumbered."""
        if cases.all():
            return self
        kept_cases = tuple(case for case, keep in zip(self.cases, cases, strict=True) if keep)
        _, cluster = np.unique(self.cluster[cases], return_inverse=True)
        return replace(self, values=self.values[cases], cases=kept_cases, cluster=cluster.astype(np.int64))

    def complete(self) -> "Matrix":
        """The cases that every rater rated."""
        return self.only(~np.logical_or.reduce(np.isnan(self.values), axis=1))

    def pairable(self) -> "Matrix":
        """The cases with two ratings or more."""
        return self.only((~np.isnan(self.values)).sum(axis=1) >= 2)

    def by_case(self) -> "Matrix":
        """The matrix with each case by itself."""
        return replace(self, cluster=np.arange(len(self.cases))) if self.clustered else self

    def column(self, rater: str) -> FloatArray:
        """What `rater` gave each case."""
        if rater not in self.raters:
            raise InvalidRatings(
                f"no rater named {rater!r} in the ratings", remedy=f"choose from {sorted(self.raters)}"
            )
        return self.values[:, self.raters.index(rater)]

    def numbers(self, what: str) -> "Matrix":
        """This matrix, once sure that its values are numbers."""
        if self.labels is not None:
            raise InvalidRatings(
                f"{what} needs numbers, but the ratings hold text such as {self.labels[0]!r}",
                remedy="use a nominal coefficient (kappa, AC1, Fleiss, nominal alpha), or turn the values into numbers",
            )
        return self


Ratings = pd.DataFrame | Matrix
"""One row per rating with the columns `case`, `rater`, `value`; or the matrix of such a table, for those who ask much of it."""


def matrix(ratings: Ratings, *, by: str = "case") -> Matrix:
    """The ratings as a matrix.

    Args:
        ratings: One row per rating, of one attribute: columns `case`, `rater`, `value`. Rows without a
            value are missing ratings. A matrix is returned with its own clusters, unless `by` asks for cases.
        by: The column whose equal values are resampled together.

    Raises:
        InvalidRatings: A column is absent, a rater rated a case twice, or a value is infinite.
    """
    if isinstance(ratings, Matrix):
        return ratings.by_case() if by == "case" else ratings
    absent = [name for name in (*COLUMNS, by) if name not in ratings.columns]
    if absent:
        raise InvalidRatings(
            f"the ratings have no column {absent[0]!r}", remedy=f"give the columns {', '.join(COLUMNS)}"
        )
    has_value = pd.notna(ratings["value"].to_numpy())
    rated = ratings if has_value.all() else ratings.loc[has_value]
    values, labels = _values(rated["value"])
    row, cases = pd.factorize(rated["case"].to_numpy())
    column, raters = _sorted_codes(rated["rater"].to_numpy())
    cell = row * len(raters) + column
    if len(cell) and np.bincount(cell).max() > 1:
        twice = rated[pd.Series(cell, index=rated.index).duplicated()].iloc[0]
        raise InvalidRatings(
            f"rater {str(twice['rater'])!r} rated case {str(twice['case'])!r} more than once",
            remedy="keep one rating for each case, rater and attribute (the last round, or a median)",
        )
    grid = np.full(len(cases) * len(raters), np.nan)
    grid[cell] = values
    cluster = np.arange(len(cases))
    if by != "case":
        _, first_rows = np.unique(row, return_index=True)
        cluster, _ = pd.factorize(rated[by].to_numpy()[first_rows])
    rows = grid.reshape(len(cases), len(raters))
    return Matrix(rows, tuple(cases), raters, cluster.astype(np.int64), labels)


def on_scale(grid: Matrix, categories: Sequence[Value] | None = None) -> tuple[Matrix, FloatArray]:
    """The matrix and the values of its scale: those in use, or `categories`.

    Numbers are ascending. Text takes the order of `categories`, or the alphabet's, and is coded by it.

    Raises:
        InvalidRatings: A rating is not among `categories`.
    """
    values_used = np.unique(grid.values[~np.isnan(grid.values)])
    if categories is None:
        return grid, values_used
    if grid.labels is None:
        scale = np.unique(np.asarray(categories, dtype=float))
        _refuse([float(value) for value in np.setdiff1d(values_used, scale)], categories)
        return grid, scale
    names = [str(name) for name in categories]
    _refuse([label for label in grid.labels if label not in names], categories)
    order = np.array([*(names.index(label) for label in grid.labels), np.nan])
    codes = np.where(np.isnan(grid.values), len(grid.labels), grid.values).astype(np.int64)
    scale = np.arange(len(names), dtype=float)
    return replace(grid, values=order[codes], labels=tuple(names)), scale


def _refuse(strangers: Sequence[Value], categories: Sequence[Value]) -> None:
    if strangers:
        raise InvalidRatings(
            f"the ratings hold {strangers[0]!r}, which is not on the scale",
            remedy=f"use one of {list(categories)}",
        )


def _sorted_codes(names: npt.NDArray[np.generic]) -> tuple[IntArray, tuple[str, ...]]:
    """Each row's position among the distinct names, which are sorted as text."""
    codes, distinct = pd.factorize(names)
    texts = [str(name) for name in distinct]
    order = sorted(range(len(texts)), key=texts.__getitem__)
    place = np.empty(len(texts), dtype=np.int64)
    place[order] = np.arange(len(texts))
    return place[codes], tuple(texts[number] for number in order)


def _values(column: "pd.Series") -> tuple[FloatArray, tuple[str, ...] | None]:
    """The values as floats, with the labels behind them when they were text."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        values = column.to_numpy(dtype=float)
        if np.abs(values).max(initial=0.0) > LARGEST:
            raise InvalidRatings(
                f"a rating is infinite, or larger than {LARGEST:g}",
                remedy="give smaller numbers, or leave the rating blank",
            )
        return values, None
    numbers = pd.to_numeric(column, errors="coerce")
    if not numbers.isna().any():
        return _values(numbers)
    codes, labels = pd.factorize(column.astype(str), sort=True)
    return codes.astype(float), tuple(map(str, labels))
