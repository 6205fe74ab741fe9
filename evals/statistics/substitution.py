"""What happens to a panel's reliability when the jury joins it or takes a seat."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from .bootstrap import Bootstrap, Statistic
from .estimate import Estimate, undefined
from .icc import NAMES, Form, icc_coefficient
from .matrix import FloatArray, Matrix, matrix


@dataclass(frozen=True, slots=True)
class IccChange:
    """An ICC before and after, and whether the change could be chance."""

    before: float
    after: float
    change: Estimate
    p: float
    """Two-sided, from the bootstrap."""


def as_extra_rater(
    ratings: pd.DataFrame, *, jury: str, bootstrap: Bootstrap, form: Form = "icc3k"
) -> IccChange:
    """The change in the people's ICC when `jury` sits as one more rater.

    Missing ratings: only cases rated by everyone, the jury among them, are used before and after.

    Args:
        ratings: Columns `case`, `rater`, `value`; one of the raters is `jury`, the others are people.
        bootstrap: Cases are drawn once for both panels, so the change is paired.
    """
    grid, seat = _panel(ratings, jury, bootstrap)
    people = [column for column in range(len(grid.raters)) if column != seat]
    return _change(grid, people, [*people, seat], form, bootstrap)


def as_substitute(
    ratings: pd.DataFrame, *, jury: str, bootstrap: Bootstrap, form: Form = "icc3k"
) -> dict[str, IccChange]:
    """For each person, the change in the people's ICC when `jury` takes that person's place.

    Missing ratings: as for `as_extra_rater`.
    """
    grid, seat = _panel(ratings, jury, bootstrap)
    people = [column for column in range(len(grid.raters)) if column != seat]
    return {
        grid.raters[left]: _change(grid, people, [seat if p == left else p for p in people], form, bootstrap)
        for left in people
    }


def _panel(ratings: pd.DataFrame, jury: str, bootstrap: Bootstrap) -> tuple[Matrix, int]:
    grid = matrix(ratings, by=bootstrap.by).numbers("the ICC").complete()
    grid.column(jury)
    return grid, grid.raters.index(jury)


def _change(grid: Matrix, before: list[int], after: list[int], form: Form, bootstrap: Bootstrap) -> IccChange:
    method, n = f"change in {NAMES[form]}", len(grid.cases)
    if len(before) < 2 or n < 2:
        few = "fewer than two people" if len(before) < 2 else f"{n} case(s) rated by everyone; two are needed"
        nothing = undefined(few, method=method, n=n, confidence=bootstrap.confidence)
        return IccChange(np.nan, np.nan, nothing, np.nan)
    make = icc_coefficient(form)

    def difference(values: FloatArray) -> Statistic:
        old, new = make(values[:, before]), make(values[:, after])
        return lambda weights: new(weights) - old(weights)

    whole = np.ones((1, n))
    was, becomes = (float(make(grid.values[:, side])(whole)[0]) for side in (before, after))
    flat = "cases do not differ, so there is no variance to share"
    change, p = bootstrap.estimate_and_p(difference, grid, method=method, otherwise=flat)
    return IccChange(was, becomes, change, p)
