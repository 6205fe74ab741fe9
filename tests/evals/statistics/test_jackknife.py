"""The one interval rule, by twenty lines of numpy, and the gate before it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from doc_blocks import blocks
from rating_tables import long_table
from scipy.stats import t

from venire.evals.statistics.alpha import krippendorff_alpha
from venire.evals.statistics.chance import cohen_kappa, fleiss_kappa, gwet_ac, percent_agreement
from venire.evals.statistics.correlation import kendall, pearson, spearman
from venire.evals.statistics.draws import Draws
from venire.evals.statistics.error import mae, offset, rmse
from venire.evals.statistics.gate import (
    OPEN,
    RANKED,
    RANKED_PAIRS,
    SQUARED,
    SQUARED_PAIRS,
    Gate,
    group_warning,
    interval_refusal,
)
from venire.evals.statistics.icc import F_WARNING, FORMS, icc
from venire.evals.statistics.jackknife import Jackknife
from venire.evals.statistics.matrix import Matrix, matrix
from venire.evals.statistics.roc import roc_auc

SCALE = (1.0, 2.0, 3.0, 4.0, 5.0)
FISHER = {
    **{form: lambda table, form=form, **how: icc(table, form=form, **how) for form in FORMS},
    **{
        f"alpha {level}": lambda table, level=level, **how: krippendorff_alpha(table, level=level, **how)
        for level in ("nominal", "ordinal", "interval")
    },
    "fleiss": fleiss_kappa,
    "ac1": lambda table, **how: gwet_ac(table, categories=SCALE, **how),
    "ac2": lambda table, **how: gwet_ac(table, weighting="quadratic", categories=SCALE, **how),
    "kappa": cohen_kappa,
    "kappa quadratic": lambda table, **how: cohen_kappa(table, weighting="quadratic", **how),
    "pearson": pearson,
    "spearman": spearman,
    "kendall": kendall,
}
OTHERS = {"mae": mae, "rmse": rmse, "offset": offset, "percent": percent_agreement}


def ratings(raters: int, gaps: float, groups: int = 1, n: int = 60) -> Matrix:
    """Sixty cases on a scale of five, some ratings missing."""
    rng = np.random.default_rng([raters, groups])
    scores = np.clip(np.rint(3 + rng.normal(0, 1.2, (n, 1)) + rng.normal(0, 0.8, (n, raters))), 1, 5)
    scores[rng.random(scores.shape) < gaps] = np.nan
    scores[:, 0] = np.where(np.isnan(scores).all(axis=1), 4, scores[:, 0])
    names = tuple(f"r{number}" for number in range(raters))
    return Matrix(scores, tuple(range(n)), names, np.arange(n) // groups)


def by_the_page(estimate, grid: Matrix, to, back) -> tuple[float, float]:
    """The interval by the lines of numpy that docs/statistics.md prints."""
    page: dict[str, Any] = {}
    (lines,) = [
        text for kind, text in blocks("docs/statistics.md") if kind == "python" and "def spread" in text
    ]
    exec(compile(lines, "docs/statistics.md", "exec"), page)

    def value(rows: np.ndarray) -> float:
        cases = tuple(range(len(rows)))
        return estimate(Matrix(rows, cases, grid.raters, np.arange(len(rows)))).value

    if estimate is percent_agreement:
        return page["share_interval"](value, grid.values, grid.cluster)
    return page["interval"](value, grid.values, grid.cluster, to, back)


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize(("raters", "gaps"), [(2, 0.0), (2, 0.3), (4, 0.0), (4, 0.3)])
@pytest.mark.parametrize("name", [*FISHER, *OTHERS])
def test_every_interval_is_what_the_pages_lines_give(
    name: str, raters: int, gaps: float, groups: int
) -> None:
    if name == "offset" and raters > 2:
        pytest.skip("the size of offsets has no interval")
    grid = ratings(raters, gaps, groups)
    estimate = {**FISHER, **OTHERS}[name]
    to, back = (np.arctanh, np.tanh) if name in FISHER else (np.log, np.exp)
    if name in ("offset", "percent"):
        to = back = float

    if name not in ("ac1", "ac2", "fleiss"):
        grid = grid.complete() if name.startswith("icc") else grid.pairable()

    found = estimate(grid, jackknife=Jackknife(by="cluster"))

    assert (found.low, found.high) == pytest.approx(by_the_page(estimate, grid, to, back), abs=1e-9)
    assert found.low < found.value < found.high


def test_too_few_shared_departures_give_no_interval_and_say_so() -> None:
    rows = [[5, 5, 5]] * 37 + [[4, 4, 5], [3, 4, 5], [5, 2, 2]]

    for estimate in (
        icc(long_table(rows)),
        krippendorff_alpha(long_table(rows), level="ordinal"),
        fleiss_kappa(long_table(rows)),
    ):
        assert estimate.defined and np.isnan(estimate.low)
        assert (
            estimate.note
            == "no interval: raters depart from their most common value on the same case in only 3 of 40 cases, and 5 are needed"
        )
    for estimate in (gwet_ac(long_table(rows)), percent_agreement(long_table(rows)), mae(long_table(rows))):
        assert estimate.low < estimate.value < estimate.high
    paired = cohen_kappa(long_table(rows))
    assert (
        "r0 and r2 depart from their most common value on the same case in only 0 of 40 cases" in paired.note
    )


def test_a_judge_and_a_mean_each_leave_their_own_commonest_value() -> None:
    rows = np.array([[4.0, 4.5]] * 30 + [[3.0, 4.0]] * 6 + [[4.0, 3.5]] * 4)
    grid = Matrix(rows, tuple(range(40)), ("arm", "people"), np.arange(40))

    assert interval_refusal(grid, SQUARED, own=True) == ""
    assert "on 6 of" not in interval_refusal(grid, SQUARED, own=True)


@pytest.mark.parametrize(
    ("estimate", "least"),
    [
        (icc, 12),
        (lambda table, **how: krippendorff_alpha(table, level="interval", **how), 12),
        (lambda table, **how: cohen_kappa(table, weighting="quadratic", **how), 12),
        (lambda table, **how: krippendorff_alpha(table, level="ordinal", **how), 8),
        (gwet_ac, 5),
        (percent_agreement, 5),
        (mae, 5),
    ],
)
def test_groups_below_the_fewest_have_no_interval_and_below_25_a_warning(estimate, least: int) -> None:
    how = Jackknife(by="cluster")
    few, enough, many = (
        estimate(ratings(2, 0.0, 3, n=3 * groups), jackknife=how) for groups in (least - 1, least, 30)
    )

    assert (
        np.isnan(few.low)
        and few.note == f"no interval: there are {least - 1} groups of cases, and {least} are needed"
    )
    assert not np.isnan(enough.low) and f"{least} groups of cases are few" in enough.note
    assert not np.isnan(many.low) and "are few" not in many.note


def test_unanimous_rows_leave_percent_alone() -> None:
    table = long_table([[1, 1], [5, 5], [3, 3], [2, 2]] * 10)

    assert percent_agreement(table).low == pytest.approx(40 / (40 + t.ppf(0.975, 39) ** 2))
    for found in (icc(table), gwet_ac(table), cohen_kappa(table), mae(table)):
        assert np.isnan(found.low) and found.note.startswith("no interval")


def test_an_icc_below_minus_one_has_no_interval() -> None:
    rng = np.random.default_rng(0)
    first = rng.normal(0, 1, 30)
    found = icc(long_table(np.column_stack([first, -first + rng.normal(0, 0.1, 30)])))

    assert found.value < -1 and np.isnan(found.low) and "end of the scale" in found.note


@pytest.mark.parametrize("top", [0.1, 0.8])
def test_icc2_says_how_it_takes_raters_whatever_the_share_of_fives(top: float) -> None:
    scores = np.where(np.random.default_rng(1).random((40, 1)) < top, 5.0, ratings(3, 0.0, n=40).values)
    fixed, random = (icc(long_table(scores), form="icc2", interval=how) for how in ("jackknife", "f"))

    assert fixed.method.startswith("ICC(2,1), raters fixed; jackknife of 40 cases")
    assert random.method == "ICC(2,1), raters random; F interval" and random.note == F_WARNING
    assert "approximate" in fixed.note and "ordinal alpha" in fixed.note


def test_a_table_is_left_out_by_its_own_column() -> None:
    table = long_table(ratings(3, 0.0, n=30).values)
    table["ward"] = table["case"].str[1:].astype(int) // 2

    assert "jackknife of 15 groups" in icc(table, jackknife=Jackknife(by="ward")).method


def test_the_percentile_bootstrap_holds_a_mean_and_knows_too_few_resamples() -> None:
    values = np.random.default_rng(2).normal(0.6, 1, (50, 1))
    grid = Matrix(values, tuple(range(50)), ("a",), np.arange(50))

    def mean(rows: np.ndarray):
        return lambda weights: weights @ rows[:, 0] / weights.sum(axis=1)

    found = Draws(0, 999).bootstrap().estimate(mean, grid, method="mean", otherwise="")
    few = Draws(0, 20).bootstrap().estimate(mean, grid, method="mean", otherwise="")

    error = values.std() / np.sqrt(50)
    assert (found.low, found.high) == pytest.approx(
        (values.mean() - 1.96 * error, values.mean() + 1.96 * error), abs=0.05
    )
    assert found.p < 0.05
    assert np.isnan(few.low) and "20 resamples are too few" in few.note
    # The data count as one resample: of 999 that all lie above zero, two tails of one in a thousand.
    above = Draws(0, 999).bootstrap().estimate(mean, replace(grid, values=values + 9), method="mean", otherwise="")  # fmt: skip
    assert above.p == pytest.approx(2 / 1000)
    near = Draws(0, 999).bootstrap().estimate(mean, replace(grid, values=values - 0.6), method="mean", otherwise="")  # fmt: skip
    drawn = (
        np.random.default_rng(0).multinomial(50, np.full(50, 1 / 50), size=999)
        @ np.sort(values[:, 0] - 0.6)
        / 50
    )
    assert near.p == pytest.approx(2 * (min((drawn <= 0).sum(), (drawn >= 0).sum()) + 1) / 1000)


def test_without_its_only_shared_case_a_pair_has_no_part_in_the_mean_over_pairs() -> None:
    grid = ratings(3, 0.0)
    grid.values[1:, 2] = np.nan
    found = mae(grid)

    assert (found.low, found.high) == pytest.approx(by_the_page(mae, grid, np.log, np.exp), abs=1e-9)


def test_a_matrix_of_words_has_the_gate_too() -> None:
    grid = matrix(long_table([["yes", "yes"]] * 36 + [["no", "no"]] * 4))

    assert (
        "depart from their most common value on the same case in only 4 of 40 cases"
        in fleiss_kappa(grid).note
    )


def test_of_cases_that_are_the_same_one_is_left_out_at_a_time() -> None:
    """Two columns of few values are counted by kind: the area without one of a kind still has the others."""
    rng = np.random.default_rng(1)
    actual = rng.integers(0, 2, 30)
    score = np.clip(actual + rng.integers(0, 4, 30), 0, 3)
    table = long_table(np.column_stack([score, actual]).astype(float))
    found = roc_auc(table, raters=("r0", "r1"))
    left_out = np.array(
        [roc_auc(table[table["case"] != f"c{n}"], raters=("r0", "r1")).value for n in range(30)]
    )

    assert found.se == pytest.approx(np.sqrt(29 / 30 * ((left_out - left_out.mean()) ** 2).sum()))


@pytest.mark.parametrize("gate", [SQUARED, RANKED, SQUARED_PAIRS, RANKED_PAIRS])
@pytest.mark.parametrize("raters", [2, 3])
def test_five_shared_departures_open_a_gate_and_four_do_not(gate: Gate, raters: int) -> None:
    """All raters leave the commonest value together on so many of thirty cases; cases on which one alone leaves it count for nothing."""
    for shared, refused in ((4, True), (5, False)):
        values = np.full((30, raters), 5.0)
        values[:shared] = 4.0
        values[20:28, 0] = 3.0
        grid = Matrix(values, tuple(range(30)), tuple("abc"[:raters]), np.arange(30))
        told = interval_refusal(grid, gate)
        assert bool(told) == refused and (not refused or f"only {shared} of 30 cases" in told)
        # In one group they are one departure.
        together = Matrix(values, grid.cases, grid.raters, np.maximum(np.arange(30) - shared + 1, 0))
        assert interval_refusal(together, gate)
    assert (
        interval_refusal(Matrix(np.full((30, 2), 5.0), tuple(range(30)), ("a", "b"), np.arange(30)), OPEN)
        == ""
    )


def test_of_pairs_the_one_that_departs_together_least_decides_and_pairs_that_take_no_part_do_not() -> None:
    values = np.full((30, 3), 5.0)
    values[:8, :2] = 4.0
    values[:3, 2] = 4.0
    grid = Matrix(values, tuple(range(30)), ("a", "b", "c"), np.arange(30))

    assert interval_refusal(grid, SQUARED) == "" and "a and c depart" in interval_refusal(grid, SQUARED_PAIRS)
    assert interval_refusal(grid, SQUARED_PAIRS, pairs=np.array([[0, 1]])) == ""
    grouped = Matrix(values, grid.cases, grid.raters, np.arange(30) // 2)
    assert "only 2 of 15 groups" in interval_refusal(grouped, SQUARED_PAIRS)


@pytest.mark.parametrize(("gate", "fewest"), [(SQUARED, 12), (RANKED, 8), (SQUARED_PAIRS, 12), (RANKED_PAIRS, 8), (OPEN, 5)])  # fmt: skip
def test_groups_of_several_cases_must_be_so_many(gate: Gate, fewest: int) -> None:
    rng = np.random.default_rng(0)
    for groups in (fewest - 1, fewest):
        values = np.repeat(rng.integers(1, 6, (groups * 3, 1)).astype(float), 2, axis=1)
        grid = Matrix(values, tuple(range(groups * 3)), ("a", "b"), np.arange(groups * 3) % groups)
        assert bool(interval_refusal(grid, gate)) == (groups < fewest)
        assert group_warning(grid)
    for groups in (24, 25):
        grid = Matrix(np.ones((groups * 2, 2)), tuple(range(groups * 2)), ("a", "b"), np.arange(groups * 2) % groups)  # fmt: skip
        assert bool(group_warning(grid)) == (groups < 25)
    alone = Matrix(np.ones((10, 2)), tuple(range(10)), ("a", "b"), np.arange(10))
    assert not group_warning(alone), "few cases of no group"
