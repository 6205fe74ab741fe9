"""The paired test: against brute force and Student's t, and never at odds with its own interval."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from venire.evals.statistics.bootstrap import Coefficient
from venire.evals.statistics.concordance import concordance_statistic
from venire.evals.statistics.correlation import spearman_statistic
from venire.evals.statistics.draws import Draws
from venire.evals.statistics.error import mae_statistic
from venire.evals.statistics.icc import icc_coefficient
from venire.evals.statistics.paired_test import Contrast, fewest_resamples, jackknife_test, swap_test

MEASURES: dict[str, Coefficient] = {
    "absolute error": lambda rows: mae_statistic(rows[:, 0], rows[:, 1]),
    "icc": icc_coefficient("icc3k"),
    "kappa": lambda rows: concordance_statistic(rows[:, 0], rows[:, 1]),
    "spearman": lambda rows: spearman_statistic(rows[:, 0], rows[:, 1]),
}


def contrast(
    measure: str, scores: np.ndarray, cluster: np.ndarray | None = None, draws: int = 999
) -> Contrast:
    """The test of columns `first`, `second`, `people`."""
    groups = np.arange(len(scores)) if cluster is None else cluster
    return swap_test(
        MEASURES[measure],
        scores[:, [0, 2]],
        scores[:, [1, 2]],
        groups,
        draws=Draws(0, draws),
        method=measure,
        otherwise="flat",
    )


def ratings(rng: np.random.Generator, n: int, ties: float = 0.3, off: float = 0.0) -> np.ndarray:
    scores = np.clip(np.rint(4 + rng.normal(0, 1, n)[:, None] + rng.normal(0, 0.8, (n, 3))), 1, 5)
    scores[:, 0] = np.clip(scores[:, 0] - off, 1, 5)
    same = rng.random(n) < ties
    scores[same, 1] = scores[same, 0]
    return scores


def test_a_mean_difference_is_held_against_every_way_to_flip_its_signs():
    scores = ratings(np.random.default_rng(4), 10, ties=0.0)
    gap = np.abs(scores[:, 0] - scores[:, 2]) - np.abs(scores[:, 1] - scores[:, 2])
    flipped = np.array([np.array(signs) * gap for signs in product((1, -1), repeat=10)])
    error = flipped.std(axis=1, ddof=1) / np.sqrt(10)
    sizes = np.round(np.abs(flipped.mean(axis=1)) / error, 9)

    found = contrast("absolute error", scores)

    assert found.difference.value == pytest.approx(gap.mean())
    assert found.difference.se == pytest.approx(gap.std(ddof=1) / np.sqrt(10))
    above, equal = (sizes > sizes[0]).mean(), (sizes == sizes[0]).mean()
    assert found.p == pytest.approx(max(above + equal / 2, 0.85 * (above + equal)))


@pytest.mark.parametrize("measure", ["absolute error", "icc"])
def test_swaps_that_are_equally_extreme_do_not_raise_the_level(measure: str) -> None:
    """Eight groups of three on a scale of two values: of all arms that swaps could have given, few enough are claimed."""
    claimed = []
    for seed in range(6):
        scores = ratings(np.random.default_rng(seed), 24, ties=0.4)
        scores = np.where(scores >= 4, 5.0, 4.0)
        cluster = np.arange(24) // 3
        ps = []
        for swap in product((False, True), repeat=7):
            swapped = np.array([*swap, False])[cluster]
            mine = scores.copy()
            mine[swapped, :2] = scores[swapped, 1::-1]
            ps.append(contrast(measure, mine, cluster).p)
        claimed.append(np.mean(np.array(ps) < 0.05))

    assert max(claimed) <= 0.059


def test_beyond_a_hundred_cases_it_is_the_paired_t_test():
    scores = ratings(np.random.default_rng(5), 150, off=0.3)
    gap = np.abs(scores[:, 0] - scores[:, 2]) - np.abs(scores[:, 1] - scores[:, 2])
    expected = ttest_1samp(gap, 0)

    found = contrast("absolute error", scores)

    assert found.p == pytest.approx(expected.pvalue)
    low, high = expected.confidence_interval()
    assert (found.difference.low, found.difference.high) == pytest.approx((low, high))


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("grouped", [False, True])
def test_p_is_below_five_per_cent_exactly_where_the_interval_excludes_zero(measure, grouped):
    rng = np.random.default_rng(11)
    claims = 0
    for n, ties, off in product((5, 7, 12, 24, 40, 75), (0.0, 0.4, 0.7), (0.0, 0.5, 1.0)):
        scores = ratings(rng, n, ties, off)
        found = contrast(measure, scores, np.arange(n) // 3 if grouped else None, draws=199)
        low, high = found.difference.low, found.difference.high
        if np.isnan(low):
            assert not found.p < 0.05
            assert found.difference.note
            continue
        assert low <= found.difference.value <= high
        assert (found.p < 0.05) == (low > 0 or high < 0)
        claims += found.p < 0.05
    assert claims


def test_the_other_way_round_the_sign_turns_and_nothing_else():
    scores = ratings(np.random.default_rng(2), 20, ties=0.0)

    one, other = contrast("icc", scores), contrast("icc", scores[:, [1, 0, 2]])

    assert other.difference.value == pytest.approx(-one.difference.value)
    assert (other.difference.low, other.difference.high) == pytest.approx(
        (-one.difference.high, -one.difference.low)
    )
    assert other.p == pytest.approx(one.p)


def test_arms_that_gave_the_same_scores_do_not_differ():
    scores = ratings(np.random.default_rng(4), 12, ties=1.0)

    found = contrast("icc", scores)

    assert (found.difference.value, found.p, found.shown) == (0, 1, 0)
    assert np.isnan(found.difference.low)
    assert found.difference.note == "no interval: the two are the same on all 12 cases"


def test_four_groups_make_no_claim_and_say_that_more_are_needed():
    scores = np.column_stack([np.full(12, 5.0), np.full(12, 2.0), np.tile([5.0, 4.0], 6)])

    found = contrast("absolute error", scores, np.arange(12) // 3)

    assert np.isnan(found.difference.low)
    assert not found.p < 0.05
    assert found.difference.note.startswith("no interval: 4 groups of cases")
    assert "more are needed" in found.difference.note


def test_few_differing_cases_among_many_make_no_claim():
    people = np.tile([1.0, 3.0, 5.0], 10)
    first = people.copy()
    first[:3] += 1

    found = contrast("absolute error", np.column_stack([first, people, people]))

    assert np.isnan(found.difference.low)
    assert "differ on 3 of 30 cases" in found.difference.note


@pytest.mark.parametrize("cases", [12, 600])
def test_a_difference_that_never_varies_is_shown_but_has_no_interval(cases):
    people = np.tile([1.0, 3.0], cases // 2)

    found = contrast("absolute error", np.column_stack([people + 1, people, people]))

    assert np.isnan(found.difference.low) and np.isnan(found.difference.high)
    assert found.difference.note == f"no interval: all {cases} cases say the same"
    assert found.p < 0.001 and found.shown == 1


def test_draws_by_seed_are_repeatable():
    scores = ratings(np.random.default_rng(8), 40)

    assert contrast("kappa", scores) == contrast("kappa", scores)


def test_a_change_that_cannot_be_swapped_is_held_against_students_t():
    rng = np.random.default_rng(1)
    gap = rng.normal(0.2, 1, 20)[:, None]

    found = jackknife_test(
        lambda rows: mae_statistic(rows[:, 0], np.zeros(len(rows))),
        np.abs(gap),
        np.arange(20),
        method="mean",
        otherwise="none",
    )

    expected = ttest_1samp(np.abs(gap[:, 0]), 0)
    assert found.p == pytest.approx(expected.pvalue)


def test_resamples_too_few_for_any_interval_are_said_to_be_and_not_the_cases() -> None:
    scores = ratings(np.random.default_rng(4), 30, ties=0.0, off=2.0)

    few, enough = contrast("absolute error", scores, draws=16), contrast("absolute error", scores, draws=17)

    assert np.isnan(few.p) and "16 resamples are too few" in few.difference.note
    assert enough.p == pytest.approx(0.85 / 18) and enough.difference.note == ""


@pytest.mark.parametrize(("tests", "fewest"), [(1, 17), (6, 102), (12, 204)])
def test_the_fewest_resamples_can_be_claimed_among_so_many_tests_and_one_less_cannot(
    tests: int, fewest: int
) -> None:
    assert fewest_resamples(tests) == fewest
    assert tests * 0.85 / (fewest + 1) < 0.05 - 1e-12 <= tests * 0.85 / fewest
