"""Whether the gap between jury and people depends on what was judged, by a linear mixed-effects model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import stdtr, stdtrit

from .estimate import Estimate, undefined
from .matrix import FloatArray, IntArray, InvalidRatings

METHOD = "linear mixed model, REML; Wald interval"
TINY = 1e-12
EDGE = 1e-3
MOST = 1e4
"""No random effect is taken to be larger than so many residual standard deviations."""


@dataclass(frozen=True, slots=True)
class MixedFit:
    """The fixed effects, and the spread of what was taken as random."""

    effects: dict[str, Estimate]
    p: dict[str, float]
    spread: dict[str, float]
    """The standard deviation of each random column, and of the `residual`."""
    criterion: float
    """Minus twice the restricted log-likelihood."""
    note: str = ""


def mixed_model(
    outcome: FloatArray,
    fixed: pd.DataFrame,
    *,
    by: "pd.Series",
    within: pd.DataFrame | None = None,
    also: "Sequence[pd.Series]" = (),
    confidence: float = 0.95,
    freedom: float = np.inf,
) -> MixedFit:
    """The effects of the columns of `fixed` on `outcome`.

    Standard errors take the variances as known, as lme4's do; statsmodels' allow for their estimation and are within
    a per cent or two.

    Args:
        fixed: The design, its intercept among the columns.
        by: The large factor; `within` are the columns whose effects vary between its levels, jointly normal.
            Without them, an intercept named for the factor.
        also: Factors of few levels with random intercepts of their own, crossed with the first and each other.
        freedom: Degrees of freedom of intervals and p by Student's t; by default they are normal.

    Returns:
        NaN with a note where the columns are collinear or nothing is left to fit.

    References:
        Bates, Maechler, Bolker and Walker (2015), Journal of Statistical Software 67(1).
    """
    varying = (
        within
        if within is not None
        else pd.DataFrame({str(by.name or "by"): np.ones(len(by))}, index=by.index)
    )
    design, y = fixed.to_numpy(float), np.asarray(outcome, dtype=float)
    n = len(design)
    bar = _unfit(y, fixed)
    if bar:
        blanks = {name: undefined(bar, method=METHOD, n=n, confidence=confidence) for name in map(str, fixed)}
        return MixedFit(blanks, dict.fromkeys(blanks, np.nan), {}, np.nan, bar)
    sums = _Sums.of(y, design, varying.to_numpy(float), by, also)
    start, floor = _start(varying.shape[1], len(also))
    theta = np.asarray(start)
    for _ in range(3):
        search = minimize(
            lambda theta: sums.solve(theta).criterion,
            theta,
            method="Nelder-Mead",
            bounds=[(low, MOST) for low in floor],
            options={"xatol": 1e-5, "fatol": 1e-8, "maxiter": 4000, "maxfev": 4000},
        )
        theta = search.x
        # A simplex may have collapsed on a bound; from there, once more with a fresh one.
        if search.success and (theta > floor + EDGE).all():
            break
    fit = sums.solve(theta)
    note = "" if search.success else "the fit of the model did not converge"
    error = np.sqrt(fit.variance * np.diag(fit.inverse))
    reach = float(stdtrit(freedom, (1 + confidence) / 2)) * error
    effects = {
        str(name): Estimate(float(b), float(b - r), float(b + r), n, METHOD, confidence, note, se=float(e))
        for name, b, r, e in zip(fixed, fit.effects, reach, error, strict=True)
    }
    chance = 2 * stdtr(freedom, -np.abs(fit.effects) / error)
    spread = dict(zip(map(str, varying), map(float, _deviations(theta, varying.shape[1], fit)), strict=True))
    for factor, scale in zip(also, theta[len(theta) - len(also) :], strict=True):
        spread[str(factor.name)] = float(np.sqrt(fit.variance) * scale)
    spread["residual"] = float(np.sqrt(fit.variance))
    return MixedFit(effects, dict(zip(effects, map(float, chance), strict=True)), spread, fit.criterion, note)


@dataclass(frozen=True, slots=True)
class _Solved:
    criterion: float
    lower: FloatArray
    """The Cholesky factor of the design's equations, and `taken` the outcome's side of them."""
    taken: FloatArray
    variance: float

    @property
    def effects(self) -> FloatArray:
        return np.linalg.inv(self.lower).T @ self.taken

    @property
    def inverse(self) -> FloatArray:
        """Of the design's equations: the effects' covariance over the variance."""
        inverse = np.linalg.inv(self.lower)
        return inverse.T @ inverse


@dataclass(frozen=True, slots=True)
class _Sums:
    """Cross-products of the data; `rest` is the small factors' indicators, the design and the outcome, side by side."""

    own: FloatArray
    """The varying columns with themselves, as they are in each kind of level; levels of one kind share them."""
    levels: IntArray
    """How many levels are of each kind."""
    with_rest: FloatArray
    """By kind, the products of two sums over a level: of varying columns with `rest`, twice."""
    rest: FloatArray
    small: tuple[int, ...]
    """How many of the first columns of `rest` are each small factor's."""
    n: int

    @classmethod
    def of(
        cls,
        y: FloatArray,
        design: FloatArray,
        varying: FloatArray,
        by: "pd.Series",
        also: "Sequence[pd.Series]",
    ) -> "_Sums":
        level, levels = pd.factorize(by)
        indicators = [pd.get_dummies(factor.astype(str)).to_numpy(float) for factor in also]
        other_columns = np.column_stack([*indicators, design, y])
        own_sums = _sums_by_level(varying[:, :, None] * varying[:, None, :], level, len(levels))
        cross_sums = _sums_by_level(varying[:, :, None] * other_columns[:, None, :], level, len(levels))
        flat, kind, count = np.unique(
            own_sums.reshape(len(own_sums), -1), axis=0, return_inverse=True, return_counts=True
        )
        squares = [
            np.einsum("gij,gkl->ikjl", block, block) for block in _kinds(cross_sums, kind.ravel(), len(flat))
        ]
        return cls(
            flat.reshape(-1, *own_sums.shape[1:]),
            count,
            np.array(squares),
            other_columns.T @ other_columns,
            tuple(block.shape[1] for block in indicators),
            len(y),
        )

    def solve(self, theta: FloatArray) -> _Solved:
        """The profiled criterion and estimates where the random effects' factors, relative to the residual, are `theta`."""
        factor = _factor(theta, self.own.shape[1])
        inner = factor.T @ self.own @ factor + np.eye(len(factor))
        shrunk = factor @ np.linalg.solve(inner, np.broadcast_to(factor.T, inner.shape))
        log_det = self.levels @ np.linalg.slogdet(inner)[1]
        remaining = self.rest - np.einsum("kij,kijrs->rs", shrunk, self.with_rest)
        if self.small:
            size = sum(self.small)
            scale = np.repeat(theta[len(theta) - len(self.small) :], self.small)[:, None]
            lower = np.linalg.cholesky(scale * remaining[:size, :size] * scale.T + np.eye(size))
            explained = np.linalg.solve(lower, scale * remaining[:size, size:])
            log_det += 2 * np.log(np.diag(lower)).sum()
            remaining = remaining[size:, size:] - explained.T @ explained
        return _estimates(remaining, self.n, float(log_det))


def _estimates(remaining: FloatArray, n: int, log_det: float) -> _Solved:
    p = len(remaining) - 1
    lower = np.asarray(np.linalg.cholesky(remaining[:p, :p]), dtype=np.float64)
    explained: FloatArray = np.linalg.solve(lower, remaining[:p, p]).astype(float)
    residual = max(float(remaining[p, p] - explained @ explained), TINY)
    free = n - p
    criterion = log_det + 2 * np.log(np.diag(lower)).sum() + free * (1 + np.log(2 * np.pi * residual / free))
    return _Solved(float(criterion), lower, explained, residual / free)


def _sums_by_level(products: FloatArray, level: IntArray, levels: int) -> FloatArray:
    """The products summed within each level."""
    total = np.zeros((levels, *products.shape[1:]))
    np.add.at(total, level, products)
    return total


def _kinds(sums: FloatArray, kind: IntArray, kinds: int) -> list[FloatArray]:
    return [sums[kind == number] for number in range(kinds)]


def _factor(theta: FloatArray, columns: int) -> FloatArray:
    """The lower triangle that `theta` fills row by row."""
    factor = np.zeros((columns, columns))
    factor[_triangle(columns)] = theta[: columns * (columns + 1) // 2]
    return factor


@cache
def _triangle(columns: int) -> tuple[IntArray, IntArray]:
    return np.tril_indices(columns)


def _unfit(y: FloatArray, fixed: pd.DataFrame) -> str:
    design = fixed.to_numpy(float)
    if len(y) <= design.shape[1]:
        return "there are too few scores for the number of terms in the model"
    if tied := collinear(fixed):
        return f"the predictors are collinear: {', '.join(tied)}"
    rest = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return (
        "the predictors explain every score exactly, so no residual variance is left to estimate"
        if rest @ rest < 1e-10
        else ""
    )


def collinear(fixed: pd.DataFrame) -> list[str]:
    """The columns that are sums and differences of others; none where every one has something of its own."""
    design = fixed.to_numpy(float)
    scaled = design / np.maximum(np.linalg.norm(design, axis=0), TINY)
    # Of the triangle of a QR, which has the same: the left side of the whole would be cases by cases.
    _, sizes, directions = np.linalg.svd(np.linalg.qr(scaled, mode="r"), full_matrices=True)
    rank = int((sizes > sizes.max(initial=0.0) * max(design.shape) * np.finfo(float).eps).sum())
    within = np.abs(directions[rank:]).max(axis=0, initial=0.0) > 1e-8
    return [str(name) for name, tied in zip(fixed, within, strict=True) if tied]


def _start(columns: int, small: int) -> tuple[FloatArray, FloatArray]:
    """Unit factors without correlation, and the lowest values that are legal."""
    on_diagonal = np.equal(*np.tril_indices(columns)).astype(float)
    start = np.append(on_diagonal, np.ones(small))
    return start, np.where(start > 0, 0.0, -MOST)


def _deviations(theta: FloatArray, columns: int, fit: _Solved) -> FloatArray:
    factor = _factor(theta, columns)
    return np.sqrt(fit.variance * np.diag(factor @ factor.T))


PREDICTORS = ("group", "system", "source_length", "output_length")
OF_MEANS = "linear regression on one mean difference per case; t interval"


@dataclass(frozen=True, slots=True)
class Effects:
    """What moves the difference, and what was left unexplained."""

    effects: dict[str, Estimate]
    """By term: a length's effect is per standard deviation, a category's against the first by name."""
    p: dict[str, float]
    spread: dict[str, float]
    """The standard deviation of each random intercept, and of the residual."""
    note: str = ""


def difference_effects(
    differences: pd.DataFrame,
    *,
    predictors: Sequence[str] = PREDICTORS,
    intercepts: Sequence[str] = ("rater", "attribute"),
    units: str | None = None,
    confidence: float = 0.95,
) -> Effects:
    """The effect of each predictor on the jury's score minus a person's.

    Missing values: rows without a difference or a predictor are left out. Predictors and intercepts that
    do not vary are left out and named in the note.

    Args:
        differences: One row per case, person and attribute: `difference`, the predictors (text or
            numbers) and the columns of `intercepts`.
        predictors: Fixed effects.
        intercepts: Crossed random intercepts; people differ, and so do attributes.
        units: The column whose values the predictors vary between (cases, patients): intervals and p are Student's t with as many
            degrees of freedom as there are of them less the terms; without it normal.

    References:
        Laird and Ware (1982), Biometrics 38:963-974.
    """
    columns = [*dict.fromkeys(["difference", *predictors, *intercepts, *([units] if units else [])])]
    absent = [name for name in columns if name not in differences.columns]
    if absent:
        raise InvalidRatings(
            f"the differences have no column {absent[0]!r}", remedy=f"give {', '.join(columns)}"
        )
    rows = differences[columns].dropna().reset_index(drop=True)
    flat = [name for name in (*predictors, *intercepts) if rows[name].nunique() < 2]
    fixed = _design(rows, [name for name in predictors if name not in flat])
    random = [name for name in intercepts if name not in flat]
    note = (
        f"predictors left out of the model, because each has the same value in every row: {', '.join(flat)}"
        if flat
        else ""
    )
    freedom = np.inf if units is None else float(rows[units].nunique() - fixed.shape[1])
    if (
        not random
        or len(rows) <= fixed.shape[1] + len(random)
        or rows["difference"].nunique() < 2
        or freedom < 1
    ):
        reason = "too few rows, cases, raters or distinct differences for a mixed model"
        blanks = {
            term: undefined(reason, method=METHOD, n=len(rows), confidence=confidence)
            for term in map(str, fixed)
        }
        return Effects(blanks, dict.fromkeys(blanks, np.nan), {}, f"{reason}; {note}".rstrip("; "))
    large = max(random, key=lambda name: rows[name].nunique())
    fit = mixed_model(
        rows["difference"].to_numpy(float),
        fixed,
        by=rows[large],
        also=[rows[name] for name in random if name != large],
        freedom=freedom,
        confidence=confidence,
    )
    note = "; ".join(filter(None, (fit.note, note)))
    effects = {term: replace(effect, note=note) for term, effect in fit.effects.items()}
    return Effects(effects, fit.p, fit.spread, note)


def mean_difference_effects(
    differences: pd.DataFrame, *, predictors: Sequence[str], confidence: float = 0.95
) -> Effects:
    """The effects on each case's mean difference, for tables too large for the mixed model.

    Predictors of cases are as sure here as there, when everyone rated the same: a case is one row.

    Args:
        differences: One row a case: `difference` and the predictors.
    """
    rows = differences[["difference", *predictors]].dropna().reset_index(drop=True)
    fixed = _design(rows, [name for name in predictors if rows[name].nunique() > 1])
    design, gap = fixed.to_numpy(), rows["difference"].to_numpy(float)
    free = len(rows) - design.shape[1]
    tied = collinear(fixed)
    if free < 1 or tied:
        reason = (
            f"the predictors are collinear: {', '.join(tied)}"
            if tied
            else "there are too few cases for the number of predictors"
        )
        blanks = {
            term: undefined(reason, method=OF_MEANS, n=len(rows), confidence=confidence)
            for term in map(str, fixed)
        }
        return Effects(blanks, dict.fromkeys(blanks, np.nan), {}, reason)
    inverse = np.linalg.inv(design.T @ design)
    value = inverse @ design.T @ gap
    spread = float(np.sqrt(((gap - design @ value) ** 2).sum() / free))
    error = spread * np.sqrt(np.diag(inverse))
    exact = spread <= 1e-12 * max(1.0, float(np.abs(gap).max()))
    note = (
        "no interval: the predictors explain every difference exactly, so there is no residual variance"
        if exact
        else ""
    )
    error = np.where(exact, np.nan, error)
    reach = float(stdtrit(free, (1 + confidence) / 2)) * error
    effects = {
        str(term): Estimate(
            float(v), float(v - r), float(v + r), len(rows), OF_MEANS, confidence, note, float(e)
        )
        for term, v, r, e in zip(fixed, value, reach, error, strict=True)
    }
    chance = 2 * stdtr(free, -np.abs(value) / error)
    return Effects(effects, dict(zip(effects, map(float, chance), strict=True)), {"residual": spread}, note)


def _design(rows: pd.DataFrame, predictors: Sequence[str]) -> pd.DataFrame:
    """An intercept, numbers in standard deviations, and indicators of all but the first category."""
    columns: dict[str, np.ndarray] = {"intercept": np.ones(len(rows))}
    for name in predictors:
        if pd.api.types.is_numeric_dtype(rows[name].dtype):
            values = rows[name].to_numpy(float)
            columns[name] = (values - values.mean()) / values.std(ddof=1)
        else:
            for label, column in list(_indicators(rows[name]).items())[1:]:
                columns[f"{name}: {label}"] = column.to_numpy()
    return pd.DataFrame(columns)


def _indicators(column: "pd.Series") -> pd.DataFrame:
    return pd.get_dummies(column.astype(str), dtype=float)
