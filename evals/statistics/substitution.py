"""What happens to a panel's reliability when the jury joins it or takes a seat."""

from dataclasses import dataclass

import numpy as np

from .bootstrap import Statistic
from .draws import Draws
from .estimate import Estimate, undefined
from .icc import NAMES, Form, icc_coefficient
from .matrix import FloatArray, Matrix, Ratings, matrix
from .paired_test import jackknife_test, swap_test


@dataclass(frozen=True, slots=True)
class IccChange:
    """An ICC before and after, and whether the change could be chance."""

    before: float
    after: float
    change: Estimate
    p: float
    """Two-sided: by swapping the jury with the person whose place it takes, or for one more rater by the jackknife."""


def as_extra_rater(
    ratings: Ratings, *, jury: str, by: str = "case", draws: Draws, form: Form = "icc3k"
) -> IccChange:
    """The change in the people's ICC when `jury` sits as one more rater.

    Missing ratings: only cases rated by everyone, the jury among them, are used before and after.

    Args:
        ratings: Columns `case`, `rater`, `value`; one of the raters is `jury`, the others are people.
        by: The column whose equal values belong together.
    """
    grid, seat = _panel(ratings, jury, by)
    people = [column for column in range(len(grid.raters)) if column != seat]
    return _change(grid, people, [*people, seat], form, draws)


def as_substitute(
    ratings: Ratings, *, jury: str, by: str = "case", draws: Draws, form: Form = "icc3k"
) -> dict[str, IccChange]:
    """For each person, the change in the people's ICC when `jury` takes that person's place.

    Missing ratings: as for `as_extra_rater`.
    """
    grid, seat = _panel(ratings, jury, by)
    people = [column for column in range(len(grid.raters)) if column != seat]
    return {
        grid.raters[left]: _change(grid, people, [seat if p == left else p for p in people], form, draws)
        for left in people
    }


def _panel(ratings: Ratings, jury: str, by: str) -> tuple[Matrix, int]:
    grid = matrix(ratings, by=by).numbers("the ICC").complete()
    grid.column(jury)
    return grid, grid.raters.index(jury)


def _change(grid: Matrix, before: list[int], after: list[int], form: Form, draws: Draws) -> IccChange:
    method, n = f"change in {NAMES[form]}", len(grid.cases)
    if len(before) < 2 or n < 2:
        few = "fewer than two people" if len(before) < 2 else f"{n} case(s) rated by everyone; two are needed"
        return IccChange(np.nan, np.nan, undefined(few, method=method, n=n), np.nan)
    make = icc_coefficient(form)
    whole = np.ones((1, n))
    was, becomes = (float(make(grid.values[:, side])(whole)[0]) for side in (before, after))
    flat = "cases do not differ, so there is no variance to share"
    if len(before) == len(after):
        sides = (grid.values[:, after], grid.values[:, before])
        return IccChange(
            was, becomes, *swap_test(make, *sides, grid.cluster, draws=draws, method=method, otherwise=flat)
        )

    def difference(values: FloatArray) -> Statistic:
        old, new = make(values[:, before]), make(values[:, after])
        return lambda weights: new(weights) - old(weights)

    return IccChange(
        was, becomes, *jackknife_test(difference, grid.values, grid.cluster, method=method, otherwise=flat)
    )
