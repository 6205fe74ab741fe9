"""Which interval a coefficient of agreement gets: the latent trait's while few cases or groups tell something, then the jackknife's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtri

from venire.evals.statistics.bootstrap import Bootstrap
from venire.evals.statistics.error import offset
from venire.evals.statistics.estimate import Estimate
from venire.evals.statistics.holding import (
    COUNTS,
    RANKS,
    SHARES,
    SQUARED_ERRORS,
    SQUARED_SHARES,
    SQUARES,
    Basis,
    holding,
)
from venire.evals.statistics.jackknife import CORRELATION
from venire.evals.statistics.latent_trait import LatentTrait
from venire.evals.statistics.matrix import FloatArray, Matrix

SCALE = np.arange(1.0, 6.0)


def fives_but(telling: int, *, cases: int = 80, groups_of: int = 1, raters: int = 3) -> Matrix:
    """Fives by some raters, but for one case in each of the first groups, of which there are `telling`."""
    scores = np.full((cases, raters), 5.0)
    for place, case in enumerate(range(0, telling * groups_of, groups_of)):
        scores[case, :3] = [[4.0, 4.0, 5.0], [3.0, 4.0, 4.0], [2.0, 3.0, 3.0], [4.0, 5.0, 5.0]][place % 4]
    return Matrix(scores, tuple(range(cases)), tuple("abcdef"[:raters]), np.arange(cases) // groups_of)


def interval(grid: Matrix, basis: Basis, *, expected: float = 0.5) -> Estimate:
    """Of an estimate of 0.5, where the model expects another."""

    def share_of_fives(trait: LatentTrait) -> FloatArray:
        share: FloatArray = trait.tables[:, :, -1, -1].mean(axis=1)
        return share - share.mean() + expected

    clusters = grid.clusters
    return holding(
        0.5,
        np.linspace(0.45, 0.55, clusters),
        np.ones(clusters, dtype=np.int64),
        grid=grid,
        everyone=grid,
        link=CORRELATION,
        population=share_of_fives,
        levels=tuple(SCALE),
        method="any",
        confidence=0.95,
        seed=0,
        used=len(grid.cases),
        basis=basis,
    )


def test_a_model_that_holds_the_estimate_of_a_whole_table_to_be_impossible_is_not_believed_alone() -> None:
    whole = fives_but(9)
    gap = replace(whole, values=np.where(np.arange(240).reshape(80, 3) == 1, np.nan, whole.values))

    likely, unlikely, elsewhere = (
        interval(whole, SQUARES),
        interval(whole, SQUARES, expected=0.9),
        interval(gap, SQUARES, expected=0.9),
    )

    assert "does not fit" not in likely.note
    assert "does not fit" in unlikely.note
    assert unlikely.low < 0.5 < 0.9 < unlikely.high, "the jackknife's interval, and the model's"
    assert "does not fit" not in elsewhere.note, "with gaps the model knows scores that the estimate does not"
    assert elsewhere.low == 0.5, "an interval holds its estimate"


@pytest.mark.parametrize("basis", [COUNTS, RANKS, SQUARES])
def test_the_model_gives_no_product_of_scores_from_five_groups(basis: Basis) -> None:
    five, six = (interval(fives_but(n, cases=3 * n, groups_of=3), basis) for n in (5, 6))

    assert np.isnan(five.low) and five.note == "no interval: 5 clusters are too few"
    assert "latent trait" in six.method and six.low < 0.5 < six.high
    assert np.isfinite(interval(fives_but(5, cases=15), basis).low), "cases alone share nothing"
    assert np.isfinite(interval(fives_but(5, cases=15, groups_of=3), SHARES).low), "a share is no product"


@pytest.mark.parametrize("groups_of", [1, 3])
@pytest.mark.parametrize(("basis", "last"), [(COUNTS, 19), (SQUARES, 29)])
def test_the_jackknife_takes_over_when_enough_cases_or_groups_tell_something(
    basis: Basis, last: int, groups_of: int
) -> None:
    few = interval(fives_but(last, cases=120, groups_of=groups_of), basis)
    enough = interval(fives_but(last + 1, cases=120, groups_of=groups_of), basis)

    assert "latent trait" in few.method and "jackknife" not in few.method
    assert "jackknife" in enough.method


@pytest.mark.parametrize("basis", [COUNTS, RANKS, SQUARES])
@pytest.mark.parametrize("groups_of", [1, 3])
def test_the_fewer_tell_something_the_less_far_out_draws_of_a_product_are_read(
    basis: Basis, groups_of: int
) -> None:
    def reach(confidence: float, telling: int) -> FloatArray:
        return ndtri(basis.tails(confidence, fives_but(telling, groups_of=groups_of), SCALE))

    assert reach(0.95, 4) == pytest.approx(1.96 * times(basis, 1 / 4), abs=1e-3)
    assert reach(0.95, 20) == pytest.approx(1.96 * times(basis, 1 / 20), abs=1e-3)
    assert reach(0.5, 4) == pytest.approx(0.6745 * times(basis, 1 / 4), abs=1e-3)
    assert (np.abs(reach(0.95, 4)) < np.abs(reach(0.95, 20))).all()


@pytest.mark.parametrize("basis", [SHARES, SQUARED_SHARES, SQUARED_ERRORS])
def test_the_more_ratings_a_case_has_the_further_out_draws_of_a_share_are_read(basis: Basis) -> None:
    def reach(grid: Matrix) -> FloatArray:
        return ndtri(basis.tails(0.95, grid, SCALE))

    three, six = fives_but(4, raters=3), fives_but(4, raters=6)
    half_missing = replace(six, values=np.where(np.arange(6) % 2, np.nan, six.values))
    assert reach(three) == pytest.approx(1.96 * times(basis, 1 / 4), abs=1e-3)
    assert reach(six) == pytest.approx(2**basis.crowd * reach(three))
    assert reach(half_missing) == pytest.approx(reach(three)), (
        "by the ratings that a case has, not by the raters"
    )
    assert reach(fives_but(1, raters=3)) == pytest.approx(reach(fives_but(2, raters=3)))


def times(basis: Basis, over: float) -> FloatArray:
    """How far out draws are read for both bounds, where one over `over` clusters tell something."""
    return np.array([-(basis.down.many - basis.down.few * over), basis.up.many - basis.up.few * over])


@pytest.mark.parametrize("groups_of", [1, 3])
def test_an_offset_has_an_interval_from_three_cases_or_groups_on_in_which_raters_differ(
    groups_of: int,
) -> None:
    def found(differing: int) -> Estimate:
        scores = np.full((40, 2), 5.0)
        scores[: differing * groups_of : groups_of, 1] = 4.0
        if groups_of > 1:
            scores[1, 1] = 4.0  # A second one in the first group tells nothing of another group.
        grid = Matrix(scores, tuple(range(40)), ("a", "b"), np.arange(40) // groups_of)
        by = "case" if groups_of == 1 else "group"
        return offset(grid, bootstrap=Bootstrap(np.random.default_rng(0), by=by, levels=tuple(SCALE)))

    two, three = found(2), found(3)
    assert np.isnan([two.low, two.high]).all()
    assert two.note == f"no interval: raters differ in 2 of {'40 cases' if groups_of == 1 else '14 clusters'}"
    assert two.value > 0
    assert three.low < three.value < three.high
    assert np.isnan(found(0 if groups_of == 1 else 1).low), "that raters never differ is no certainty"


def test_on_a_scale_of_two_values_as_many_draws_are_left_outside_as_asked_for() -> None:
    yes_or_no = np.ones((40, 3))
    yes_or_no[:5, 0] = 0.0
    grid = Matrix(yes_or_no, tuple(range(40)), ("a", "b", "c"), np.arange(40))

    assert SQUARES.tails(0.9, grid, np.array([0.0, 1.0])) == pytest.approx([0.05, 0.95])
