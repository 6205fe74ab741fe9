"""Intraclass correlations: how much of the spread of ratings is spread between cases."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import fdtri

from .bootstrap import Bootstrap, Coefficient, OfSums, Statistic
from .estimate import Estimate, undefined
from .generalised_icc import DRAWS, generalised_bounds
from .holding import SKEWED, SQUARES, end_share
from .jackknife import CORRELATION, RELIABILITY
from .latent_trait import MANY, LatentTrait
from .matrix import FloatArray, Matrix, Ratings, matrix

Form = Literal["icc1", "icc2", "icc3", "icc1k", "icc2k", "icc3k"]
Interval = Literal["holding", "f"]
FORMS: tuple[Form, ...] = ("icc1", "icc2", "icc3", "icc1k", "icc2k", "icc3k")
NAMES = {form: f"ICC({form[3]},{'k' if form.endswith('k') else '1'})" for form in FORMS}
ROUNDING = 1e-13
FEW_RATERS = 10
F_HOLDS = 20
"""Cases up to which the F interval of ICC(2) holds, unless raters differ as much as cases do."""


def icc(
    ratings: Ratings,
    *,
    form: Form = "icc3k",
    confidence: float = 0.95,
    bootstrap: Bootstrap | None = None,
    interval: Interval = "holding",
    seed: int = 0,
    levels: tuple[float, ...] | None = None,
) -> Estimate:
    """An intraclass correlation, with the interval that follows from its F test; for ICC(2), one that holds.

    The first figure names the design: 1, other raters for each case; 2, raters drawn from a population,
    absolute agreement; 3, these raters only, consistency. A trailing k is the reliability of the mean of
    all the raters, otherwise of one of them.

    The F interval of ICC(2) is too narrow when a few raters differ in level and there are more than twenty
    cases (82% instead of 95% for four such raters and 300 cases): the published approximation takes the raters'
    mean square, known from k - 1 degrees of freedom, to be known better. So beyond twenty cases a generalised
    interval takes its place, unless `interval` asks for the published one; a note then says where it is too narrow.

    Missing ratings: only cases that every rater rated are used. Where raters overlap little, use
    `pairwise_icc` or Krippendorff's alpha.

    Args:
        ratings: Columns `case`, `rater`, `value`; the values are numbers.
        form: Which of the six.
        bootstrap: Resample cases instead of using the F interval, which assumes normal errors. For ICC(2) this takes
            the raters as given: it says nothing of others.
        interval: `f` for the published F interval of ICC(2) whatever the number of cases.
        seed: Of the draws behind the generalised interval, or behind that of a latent trait.
        levels: The values of the scale, used or not, where they are known.

    Returns:
        The estimate; `n` counts complete cases. NaN when fewer than two are left, when there is one rater,
        or when the denominator is not positive: cases do not differ at all or, for ICC(2), differ so little
        that the variance of raters comes out negative and outweighs them.

    References:
        Shrout and Fleiss (1979), "Intraclass correlations", Psychological Bulletin 86:420-428.
        McGraw and Wong (1996), Psychological Methods 1:30-46, for the interval of ICC(2,k).
    """
    everyone = matrix(ratings, by=bootstrap.by if bootstrap else "case").numbers("the ICC")
    grid, skewed = everyone.complete(), end_share(everyone)
    if bootstrap is None and interval == "holding" and skewed >= SKEWED:
        bootstrap = Bootstrap(np.random.default_rng(seed), confidence=confidence, levels=levels)
    found = icc_of(
        grid,
        form=form,
        confidence=confidence,
        bootstrap=bootstrap,
        interval=interval,
        seed=seed,
        everyone=everyone,
    )
    if bootstrap is None and skewed >= SKEWED and found.defined:
        told = f"{skewed:.0%} of the scores stand at one end of the scale: an F interval is too narrow"
        return replace(found, note="; ".join(filter(None, (found.note, told))))
    return found


def icc_of(
    grid: Matrix,
    *,
    form: Form,
    confidence: float = 0.95,
    bootstrap: Bootstrap | None = None,
    interval: Interval = "holding",
    seed: int = 0,
    everyone: Matrix | None = None,
) -> Estimate:
    """`icc` of a matrix without gaps; `everyone` has those with gaps too."""
    n, k = grid.values.shape
    confidence = bootstrap.confidence if bootstrap else confidence
    if k < 2 or n < 2:
        few = "fewer than two raters" if k < 2 else f"{n} case(s) rated by every rater; two are needed"
        return undefined(few, method=NAMES[form], n=n, confidence=confidence)
    undecided = "cases do not differ enough: the variance to be shared out is not positive"
    if bootstrap:
        return bootstrap.estimate(
            icc_coefficient(form),
            grid,
            method=NAMES[form],
            otherwise=undecided,
            link=RELIABILITY if form.endswith("k") else CORRELATION,
            population=lambda trait: icc_in_population(form, trait),
            everyone=everyone,
            basis=SQUARES,
        )
    squares = mean_squares(grid.values)(np.ones((1, n)))
    value = float(_value(form, squares)[0])
    if np.isnan(value):
        return undefined(undecided, method=NAMES[form], n=n, confidence=confidence)
    if form.startswith("icc2") and interval == "holding" and n > F_HOLDS:
        low, high = generalised_bounds(
            *(float(part[0]) for part in (squares.cases, squares.raters, squares.error)),
            n=n,
            k=k,
            mean=form == "icc2k",
            confidence=confidence,
            rng=np.random.default_rng(seed),
        )
        method, note = f"{NAMES[form]}; generalised interval, {DRAWS} draws", ""
    else:
        low, high = _interval(form, squares, value, confidence)
        method = f"{NAMES[form]}; F interval"
        note = "no interval: too few degrees of freedom" if np.isnan(low) else _caution(form, squares)
    if not low <= high or np.isinf(low):
        why = note or "no interval: its lower bound has no end"
        return Estimate(value, np.nan, np.nan, n, method, confidence, why)
    return Estimate(value, min(low, value), max(high, value), n, method, confidence, note)


def icc_coefficient(form: Form) -> Coefficient:
    """The form as a function of the weights of complete cases."""

    def coefficient(values: FloatArray) -> Statistic:
        squares = _squares_of(values.shape[1])
        return OfSums(_case_sums(values), lambda total: _value(form, squares(total)))

    return coefficient


def icc_in_population(form: Form, trait: LatentTrait) -> FloatArray:
    """Draws of the form from a latent trait, the raters being those who rated."""
    means, products = trait.moments()
    total = np.column_stack(
        [means, products.sum(axis=(1, 2)), np.trace(products, axis1=1, axis2=2), np.ones(len(means))]
    )
    return _value(form, _squares_of(trait.raters)(total * MANY))


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
        found = self.sums[name]
        return np.where(found <= self.tiny, 0.0, found)

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


def mean_squares(values: FloatArray) -> Callable[[FloatArray], Squares]:
    """Mean squares as a function of weights, from sums that add up over cases."""
    sums, squares = _case_sums(values), _squares_of(values.shape[1])
    return lambda weights: squares(weights @ sums)


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
        rated, between, all_squares, n = columns[:k], columns[k] / k, columns[k + 1], columns[k + 2]
        some = np.maximum(n, 1)
        grand = rated.sum(axis=0) ** 2 / (some * k)
        raters, within = (rated * rated).sum(axis=0) / some - grand, all_squares - between
        sums = {"cases": between - grand, "raters": raters, "error": within - raters, "within": within}
        return Squares(sums, ROUNDING * np.maximum(all_squares, 1e-300), n, k)

    return squares


def _value(form: Form, squares: Squares) -> FloatArray:
    if form.startswith("icc3"):
        # Both mean squares are divided by n - 1, which cancels.
        cases, rest = squares.sum("cases"), squares.sum("error")
        top, bottom = cases - rest / (squares.k - 1), cases if form == "icc3k" else cases + rest
        defined = (bottom > 0) & (squares.n > 1)
        return np.divide(top, bottom, out=np.full_like(top, np.nan), where=defined)
    cases, k = squares.cases, squares.k
    rest = squares.within if form.startswith("icc1") else squares.error
    apart = (squares.raters - squares.error) / squares.n if form.startswith("icc2") else 0.0
    top = cases - rest
    bottom = cases + apart if form.endswith("k") else cases + (k - 1) * rest + k * apart
    return np.divide(top, bottom, out=np.full_like(top, np.nan), where=bottom > 0)


def _caution(form: Form, squares: Squares) -> str:
    """A word on ICC(2) where raters are few, cases are not, and raters vary by more than a quarter of the error."""
    if not form.startswith("icc2") or squares.k >= FEW_RATERS or squares.n[0] <= F_HOLDS:
        return ""
    apart = (squares.raters[0] - squares.error[0]) / squares.n[0]
    if apart > squares.error[0] / 4:
        return "few raters who differ in level: this interval is too narrow"
    return ""


def _interval(form: Form, squares: Squares, value: float, confidence: float) -> tuple[float, float]:
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
    rest, free = (within, n * (k - 1)) if form.startswith("icc1") else (error, (n - 1) * (k - 1))
    if rest == 0:
        return 1.0, 1.0
    ratio = cases / rest
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
    most, least = fdtri(n - 1, free, upper), fdtri(free, n - 1, upper)
    rest = k * raters + (k * n - k - n) * error
    below, above = most * rest + n * cases, rest + n * least * cases
    if not (np.isfinite(most) and np.isfinite(least) and below > 0 and above > 0):
        return np.nan, np.nan
    return float(n * (cases - most * error) / below), float(n * (least * cases - error) / above)
