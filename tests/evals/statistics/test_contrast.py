"""Differences of two arms: the jackknife by hand, the gate, and a p that is never at odds with its interval."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import t

from venire.evals.statistics.chance import concordance_statistic
from venire.evals.statistics.contrast import Contrast, jackknifed_change, paired_difference
from venire.evals.statistics.correlation import spearman_statistic
from venire.evals.statistics.error import mae_statistic
from venire.evals.statistics.gate import OPEN, SQUARED, Gate
from venire.evals.statistics.icc import icc_coefficient
from venire.evals.statistics.matrix import Matrix
from venire.evals.statistics.weighted import Coefficient

MEASURES: dict[str, Coefficient] = {
    "absolute error": lambda rows: mae_statistic(rows[:, 0], rows[:, 1]),
    "icc": icc_coefficient("icc3k"),
    "kappa": lambda rows: concordance_statistic(rows[:, 0], rows[:, 1]),
    "spearman": lambda rows: spearman_statistic(rows[:, 0], rows[:, 1]),
}


def contrast(
    measure: str, scores: np.ndarray, cluster: np.ndarray | None = None, gate: Gate = OPEN
) -> Contrast:
    """The test of columns `first`, `second`, `people`."""
    groups = np.arange(len(scores)) if cluster is None else cluster
    return paired_difference(
        MEASURES[measure],
        scores[:, [0, 2]],
        scores[:, [1, 2]],
        groups,
        method=measure,
        otherwise="flat",
        gate=gate,
    )


def ratings(rng: np.random.Generator, n: int, ties: float = 0.3, off: float = 0.0) -> np.ndarray:
    scores = np.clip(np.rint(4 + rng.normal(0, 1, n)[:, None] + rng.normal(0, 0.8, (n, 3))), 1, 5)
    scores[:, 0] = np.clip(scores[:, 0] - off, 1, 5)
    same = rng.random(n) < ties
    scores[same, 1] = scores[same, 0]
    return scores


def test_a_mean_difference_has_the_jackknifes_t_with_degrees_of_freedom_from_its_kurtosis():
    scores = ratings(np.random.default_rng(5), 40, off=0.3)
    gap = np.abs(scores[:, 0] - scores[:, 2]) - np.abs(scores[:, 1] - scores[:, 2])
    away = gap - gap.mean()
    kurtosis = 40 * (away**4).sum() / (away**2).sum() ** 2
    df = 2 / (2 / 39 + max(kurtosis - 3, 0) / 40)
    error = gap.std(ddof=1) / np.sqrt(40)

    found = contrast("absolute error", scores)

    assert found.difference.se == pytest.approx(error)
    assert found.p == pytest.approx(2 * t.sf(abs(gap.mean()) / error, df))
    assert found.difference.high == pytest.approx(gap.mean() + t.ppf(0.975, df) * error)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("grouped", [False, True])
def test_p_is_below_five_per_cent_exactly_where_the_interval_excludes_zero(measure, grouped):
    rng = np.random.default_rng(11)
    claims = 0
    for n, ties, off in product((5, 7, 12, 24, 40, 120), (0.0, 0.4, 0.7), (0.0, 0.5, 1.0)):
        scores = ratings(rng, n, ties, off)
        found = contrast(measure, scores, np.arange(n) // 3 if grouped else None)
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
    assert found.difference.note == "no interval: both sides of the comparison are the same on all 12 cases"


def test_four_groups_make_no_claim_and_say_how_many_are_needed():
    scores = ratings(np.random.default_rng(3), 12)

    found = contrast("absolute error", scores, np.arange(12) // 3)

    assert np.isnan(found.difference.low) and np.isnan(found.p)
    assert found.difference.note == "no interval: there are 4 groups of cases, and 5 are needed"


@pytest.mark.parametrize(("cases", "claims"), [(6, False), (7, True), (8, True)])
def test_a_difference_is_claimed_from_seven_cases_on(cases, claims):
    """Of six that all point one way, chance gives one in thirty-two."""
    people = np.tile([1.0, 3.0], 4)[:cases]
    found = contrast("absolute error", np.column_stack([people + 1 + np.arange(cases) / 10, people, people]))

    assert np.isnan(found.p) != claims and np.isnan(found.difference.low) != claims


def test_the_gate_is_of_both_arms():
    scores = ratings(np.random.default_rng(6), 40, ties=0.0)
    scores[:, 1] = np.where(np.arange(40) < 3, scores[:, 1], 5.0)

    shut, unasked = contrast("icc", scores, gate=SQUARED), contrast("icc", scores)

    assert (
        np.isnan(shut.p)
        and "depart from their most common value on the same case in only" in shut.difference.note
    )
    assert shut.difference.value == unasked.difference.value and not np.isnan(unasked.p)


@pytest.mark.parametrize(("told_low", "is_shut"), [(4.0, True), (5.0, False)])
def test_an_arm_and_people_depart_each_from_its_own_commonest_value(told_low, is_shut):
    """The arms mostly say 4 and people 5; where people say 3, the arms say one of the values that they give ten times or more."""
    arm = np.repeat([4.0, 5.0, 3.0], [20, 10, 10])
    people = np.full(40, 5.0)
    people[np.flatnonzero(arm == told_low)[:10]] = 3.0
    found = contrast("icc", np.column_stack([arm, arm, people]), gate=SQUARED)

    assert ("the same case in only 0 of 40 cases" in found.difference.note) == is_shut


@pytest.mark.parametrize("cases", [12, 600])
def test_a_difference_that_never_varies_is_shown_but_has_no_interval(cases):
    people = np.tile([1.0, 3.0], cases // 2)

    found = contrast("absolute error", np.column_stack([people + 1, people, people]))

    assert np.isnan(found.difference.low) and np.isnan(found.difference.high)
    assert found.difference.note == f"no interval: the difference is the same on all {cases} cases"
    # So many signs that are all the same, either way round.
    assert found.p == pytest.approx(2 * 0.5**cases) and found.shown == 1


def test_a_change_of_one_panel_is_held_against_students_t():
    gap = np.random.default_rng(1).normal(0.2, 1, 20)
    grid = Matrix(np.abs(gap)[:, None], tuple(range(20)), ("a",), np.arange(20))

    found = jackknifed_change(
        lambda rows: mae_statistic(rows[:, 0], np.zeros(len(rows))), grid, method="mean", otherwise="none"
    )

    assert found.difference.value == pytest.approx(np.abs(gap).mean())
    assert found.p < 0.001
