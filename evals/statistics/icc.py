"""Intraclass correlations: how much of the spread of ratings is spread between cases."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import fdtri

from ...rubrics.errors import count_words
from .correlation import FLAT, pearson_statistic
from .estimate import Estimate, undefined
from .gate import SQUARED, SQUARED_PAIRS
from .jackknife import CASES, FISHER, Jackknife, approximate
from .matrix import FloatArray, Matrix, Ratings, matrix
from .pairs import pair_estimate
from .weighted import Coefficient, OfSums, Statistic

Form = Literal["icc1", "icc2", "icc3", "icc1k", "icc2k", "icc3k"]
Interval = Literal["jackknife", "f"]
FORMS: tuple[Form, ...] = ("icc1", "icc2", "icc3", "icc1k", "icc2k", "icc3k")
NAMES = {form: f"ICC({form[3]},{'k' if form.endswith('k') else '1'})" for form in FORMS}
ROUNDING = 1e-13
F_WARNING = "F intervals assume normal scores and independent cases; near the end of a scale only 45 to 85% of them contain the true value, instead of 95%"


def icc(
    ratings: Ratings, *, form: Form = "icc3k", interval: Interval = "jackknife", jackknife: Jackknife = CASES
) -> Estimate:
    """An intraclass correlation.

    The first figure names the design: 1, other raters for each case; 2, absolute agreement; 3, consistency. A trailing k is the
    reliability of the mean of all the raters, otherwise of one of them. The jackknife leaves out cases and so takes the
    raters as fixed: its interval of ICC(2) says nothing of other raters. The F interval of ICC(2) takes them as random.

    Missing ratings: only cases that every rater rated are used. Where raters overlap little, use
    `pairwise_icc` or Krippendorff's alpha.

    Args:
        ratings: Columns `case`, `rater`, `value`; the values are numbers.
        form: Which of the six.
        interval: `f` for the published F interval, which assumes normal scores and independent cases.

    Returns:
        The estimate; `n` counts complete cases. NaN when fewer than two are left, when there is one rater,
        or when the denominator is not positive: cases do not differ at all or, for ICC(2), differ so little
        that the variance of raters comes out negative and outweighs them.

    References:
        Shrout and Fleiss (1979), "Intraclass correlations", Psychological Bulletin 86:420-428.
        McGraw and Wong (1996), Psychological Methods 1:30-46, for the interval of ICC(2,k).
    """
    grid = matrix(ratings, by=jackknife.by).numbers("the ICC").complete()
    method, refusal = _icc_name(form, interval), _too_few(grid)
    if refusal:
        return undefined(refusal, method=method, n=len(grid.cases), confidence=jackknife.confidence)
    undecided = (
        "scores differ too little between cases for an ICC: its denominator, a variance, is not positive"
    )
    if interval == "f":
        return _f_estimate(grid, form, method, undecided, jackknife.confidence)
    estimate = jackknife.estimate(
        icc_coefficient(form), grid, method=method, otherwise=undecided, transform=FISHER, gate=SQUARED
    )
    return estimate if form.endswith("k") else approximate(estimate)


def zscored_icc(ratings: Ratings, *, jackknife: Jackknife = CASES) -> Estimate:
    """ICC(3,k) after each rater's ratings are brought to mean 0 and variance 1.

    Takes out harshness and spread, and leaves order and shape. Z-scores are made anew without each case,
    so the interval owns up to them.

    Missing ratings: only cases that every rater rated are used.

    Returns:
        The estimate; `n` counts complete cases. NaN when a rater gave one value throughout.

    References:
        Bedi et al. (2025), MedHELM, "Clinician-LLM agreement".
    """
    grid = matrix(ratings, by=jackknife.by).numbers("the ICC").complete()
    method, refusal = "ICC(3,k) after z-scoring within rater", _too_few(grid)
    if refusal:
        return undefined(refusal, method=method, n=len(grid.cases), confidence=jackknife.confidence)
    return jackknife.estimate(
        zscored_coefficient(), grid, method=method, otherwise=FLAT, transform=FISHER, gate=SQUARED
    )


def pairwise_icc(ratings: Ratings, *, zscore: bool = True, jackknife: Jackknife = CASES) -> Estimate:
    """The mean over pairs of raters of their ICC(3,k), k = 2: what one colleague's word is worth to another.

    Missing ratings: a pair uses the cases both rated and takes part when there are two or more, so this
    serves designs in which no case was rated by everyone.

    References:
        Bedi et al. (2025), MedHELM, "Clinician-LLM agreement".
    """
    grid = matrix(ratings, by=jackknife.by).numbers("the ICC")
    return pair_estimate(
        grid,
        _zscored_pair if zscore else _plain_pair,
        jackknife,
        method="pairwise ICC(3,k)" + (" after z-scoring within rater and pair" if zscore else ""),
        otherwise=FLAT,
        transform=FISHER,
        gate=SQUARED_PAIRS,
    )


def icc_coefficient(form: Form) -> Coefficient:
    """The form as a function of the weights of complete cases."""

    def coefficient(values: FloatArray) -> Statistic:
        squares = _squares_of(values.shape[1])
        return OfSums(_case_sums(values), lambda total: _value(form, squares(total)))

    return coefficient


def zscored_coefficient() -> Coefficient:
    """ICC(3,k) of z-scores as a function of the weights of complete cases.

    For ratings of unit variance the mean squares are functions of the mean correlation r alone, and the
    ICC is k r / (1 + (k - 1) r).
    """

    def coefficient(values: FloatArray) -> Statistic:
        k = values.shape[1]
        rater_a, rater_b = np.triu_indices(k, 1)
        parts = [pearson_statistic(values[:, i], values[:, j]) for i, j in zip(rater_a, rater_b, strict=True)]

        def value(weights: FloatArray) -> FloatArray:
            mean = np.mean([part(weights) for part in parts], axis=0)
            return _stepped_up(mean, k)

        return value

    return coefficient


def _zscored_pair(x: FloatArray, y: FloatArray) -> Statistic:
    inner = pearson_statistic(x, y)
    return lambda weights: _stepped_up(inner(weights), 2)


def _plain_pair(x: FloatArray, y: FloatArray) -> Statistic:
    return icc_coefficient("icc3k")(np.column_stack([x, y]))


def _stepped_up(mean: FloatArray, k: int) -> FloatArray:
    """The reliability of k raters from that of one; NaN where raters mirror each other exactly."""
    bottom = 1 + (k - 1) * mean
    return np.divide(k * mean, bottom, out=np.full_like(mean, np.nan), where=bottom > 1e-12)


def _icc_name(form: Form, interval: Interval) -> str:
    """The name of the form; of ICC(2), with how its interval takes the raters."""
    if not form.startswith("icc2"):
        return NAMES[form]
    return f"{NAMES[form]}, raters {'random' if interval == 'f' else 'fixed'}"


def _too_few(grid: Matrix) -> str:
    if len(grid.raters) < 2:
        return "fewer than two raters"
    return (
        f"{count_words(len(grid.cases), 'case')} rated by every rater; two are needed"
        if len(grid.cases) < 2
        else ""
    )


def _f_estimate(grid: Matrix, form: Form, method: str, undecided: str, confidence: float) -> Estimate:
    """The form with its published F interval."""
    n, k = grid.values.shape
    squares = _squares_of(k)(_case_sums(grid.values).sum(axis=0, keepdims=True))
    value = float(_value(form, squares)[0])
    if np.isnan(value):
        return undefined(undecided, method=method, n=n, confidence=confidence)
    low, high = _interval(form, squares, confidence)
    if not -1 <= low <= high:
        reason = "no interval: too few degrees of freedom, or the lower bound of the interval is below -1"
        return Estimate(value, np.nan, np.nan, n, f"{method}; F interval", confidence, reason)
    bounds = (min(low, value), max(high, value))
    return Estimate(value, *bounds, n, f"{method}; F interval", confidence, F_WARNING)


@dataclass(frozen=True, slots=True)
class Squares:
    """The mean squares of the two-way and one-way tables, from the sums of squares; only what a form needs is divided."""

    sums: Mapping[str, FloatArray]
    """Of cases, raters, error and within cases."""
    tiny: FloatArray
    """Up to here a sum of squares is rounding: all ratings are equal, or raters in lockstep."""
    n: FloatArray
    k: int

    def sum(self, name: str) -> FloatArray:
        """A sum of squares, zero where it is within rounding of it."""
        return np.where(self.sums[name] <= self.tiny, 0.0, self.sums[name])

    @property
    def cases(self) -> FloatArray:
        return self.sum("cases") / self._free

    @property
    def raters(self) -> FloatArray:
        return self.sum("raters") / (self.k - 1)

    @property
    def error(self) -> FloatArray:
        return self.sum("error") / (self._free * (self.k - 1))

    @property
    def within(self) -> FloatArray:
        return self.sum("within") / (np.maximum(self.n, 1) * (self.k - 1))

    @property
    def _free(self) -> FloatArray:
        return np.where(self.n > 1, self.n - 1, np.nan)


def _case_sums(values: FloatArray) -> FloatArray:
    """What each case adds: each rater's rating, the square of their sum, the sum of their squares, one.

    Ratings are taken from near their mean; whole ones from a whole number, so that their sums are whole.
    """
    n, k = values.shape
    middle = values.mean() if values.size else 0.0
    sums = np.ones((n, k + 3))
    centred = np.subtract(
        values, np.rint(middle) if (values == np.rint(values)).all() else middle, out=sums[:, :k]
    )
    sums[:, k] = centred.sum(axis=1) ** 2
    sums[:, k + 1] = np.einsum("ij,ij->i", centred, centred)
    return sums


def _squares_of(k: int) -> Callable[[FloatArray], Squares]:
    """From totals over cases rated by k raters to the mean squares."""

    def squares(total: FloatArray) -> Squares:
        # One row a sum, so that arithmetic runs along the many totals.
        columns = np.ascontiguousarray(total.T)
        totals, between, all_squares, n = columns[:k], columns[k] / k, columns[k + 1], columns[k + 2]
        size = np.maximum(n, 1)
        grand = totals.sum(axis=0) ** 2 / (size * k)
        raters, residual = (totals * totals).sum(axis=0) / size - grand, all_squares - between
        sums = {"cases": between - grand, "raters": raters, "error": residual - raters, "within": residual}
        return Squares(sums, ROUNDING * np.maximum(all_squares, 1e-300), n, k)

    return squares


def _value(form: Form, squares: Squares) -> FloatArray:
    if form.startswith("icc3"):
        # Both mean squares are divided by n - 1, which cancels.
        cases, residual = squares.sum("cases"), squares.sum("error")
        top, bottom = cases - residual / (squares.k - 1), cases if form == "icc3k" else cases + residual
        is_defined = (bottom > 0) & (squares.n > 1)
        return np.divide(top, bottom, out=np.full_like(top, np.nan), where=is_defined)
    cases, k = squares.cases, squares.k
    residual = squares.within if form.startswith("icc1") else squares.error
    raters = (squares.raters - squares.error) / squares.n if form.startswith("icc2") else 0.0
    top = cases - residual
    bottom = cases + raters if form.endswith("k") else cases + (k - 1) * residual + k * raters
    return np.divide(top, bottom, out=np.full_like(top, np.nan), where=bottom > 0)


def _interval(form: Form, squares: Squares, confidence: float) -> tuple[float, float]:
    parts = (squares.cases, squares.raters, squares.error, squares.within, squares.n)
    cases, raters, error, within, n = (float(part[0]) for part in parts)
    k, upper = squares.k, (1 + confidence) / 2
    if form.startswith("icc2"):
        single = float(_value("icc2", squares)[0])
        low, high = _absolute_bounds(cases, raters, error, n, k, single, upper)
        if form == "icc2k":
            low, high = (
                k * bound / (1 + bound * (k - 1)) if bound * (k - 1) > -1 else -np.inf
                for bound in (low, high)
            )
        return low, high
    residual, free = (within, n * (k - 1)) if form.startswith("icc1") else (error, (n - 1) * (k - 1))
    if residual == 0:
        return 1.0, 1.0
    ratio = cases / residual
    bounds = ratio / fdtri(n - 1, free, upper), ratio * fdtri(free, n - 1, upper)
    if form.endswith("k"):
        low, high = (1 - 1 / bound if bound > 0 else -np.inf for bound in bounds)
    else:
        low, high = ((bound - 1) / (bound + k - 1) for bound in bounds)
    return float(low), float(high)


def _absolute_bounds(
    cases: float, raters: float, error: float, n: float, k: int, value: float, upper: float
) -> tuple[float, float]:
    """The bounds of ICC(2,1), by Satterthwaite's degrees of freedom."""
    if error == 0 and raters == 0:
        return 1.0, 1.0
    part = n * (1 + (k - 1) * value) - k * value
    share = k * value * raters
    top = (k - 1) * (n - 1) * (share + part * error) ** 2
    bottom = (n - 1) * share**2 + (part * error) ** 2
    if bottom == 0:
        return np.nan, np.nan
    free = top / bottom
    f_max, f_min = fdtri(n - 1, free, upper), fdtri(free, n - 1, upper)
    pooled_error = k * raters + (k * n - k - n) * error
    low_base, high_base = f_max * pooled_error + n * cases, pooled_error + n * f_min * cases
    if not (np.isfinite(f_max) and np.isfinite(f_min) and low_base > 0 and high_base > 0):
        return np.nan, np.nan
    return float(n * (cases - f_max * error) / low_base), float(n * (f_min * cases - error) / high_base)
