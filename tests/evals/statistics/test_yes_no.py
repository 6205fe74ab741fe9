"""Metrics of yes and no, held against a paper's and against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, f1_score
from statsmodels.stats.proportion import proportion_confint

from venire.evals.statistics.classification import YesNoMetric, yes_no_estimates, yes_no_values


def answers(tp: int, fp: int, fn: int, tn: int) -> tuple[np.ndarray, np.ndarray]:
    predicted = np.repeat([True, True, False, False], [tp, fp, fn, tn])
    return predicted, np.repeat([True, False, True, False], [tp, fp, fn, tn])


PAPER = {
    # The best judge and decompose-then-verify of Wu et al. (2025), 40 cases: value, low, high.
    (20, 5, 0, 15): {"f1": (0.889, 0.750, 0.960), "kappa": (0.750, 0.47, 0.90)},
    (16, 8, 4, 12): {"f1": (0.727, 0.55, 0.86), "kappa": (0.400, 0.12, 0.65)},
}


@pytest.mark.parametrize("counts", PAPER)
def test_the_papers_f1_and_kappa_and_their_intervals(counts: tuple[int, int, int, int]) -> None:
    found = yes_no_estimates(*answers(*counts), np.arange(40))

    for name, (value, low, high) in PAPER[counts].items():
        estimate = found[name]  # type: ignore[index]
        assert estimate.value == pytest.approx(value, abs=5e-4)
        assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=0.07)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [((20, 5, 0, 15), (0.875, 1.0, 0.75, 0.8)), ((16, 8, 4, 12), (0.7, 0.8, 0.6, 2 / 3))],
)
def test_shares_of_the_four_counts(counts: tuple[int, int, int, int], expected: tuple[float, ...]) -> None:
    found = yes_no_values(*counts)

    shown = [float(found[name]) for name in ("accuracy", "sensitivity", "specificity", "precision")]  # type: ignore[index]
    assert shown == pytest.approx(expected)


@pytest.mark.parametrize(
    ("counts", "metric", "of"),
    [((20, 5, 0, 15), "sensitivity", 20), ((3, 0, 7, 50), "precision", 3), ((3, 0, 7, 50), "specificity", 50), ((4, 0, 0, 6), "accuracy", 10), ((0, 2, 5, 3), "precision", 2)],
)  # fmt: skip
def test_a_share_of_none_or_all_has_wilsons_interval_of_what_it_is_a_share_of(
    counts: tuple[int, int, int, int], metric: YesNoMetric, of: int
) -> None:
    predicted, actual = answers(*counts)
    found = yes_no_estimates(predicted, actual, np.arange(len(actual)))[metric]
    assert (found.low, found.high) == pytest.approx(
        proportion_confint(found.value * of, of, method="wilson"), abs=1e-12
    )
    # Cases that were written down twice are no more than they were.
    twice = np.repeat(np.arange(len(actual)), 2)
    doubled = yes_no_estimates(predicted[twice], actual[twice], twice)[metric]
    assert (doubled.low, doubled.high) == pytest.approx((found.low, found.high))


def test_kappa_and_f1_are_those_of_scikit_learn() -> None:
    predicted, actual = answers(7, 3, 2, 11)
    found = yes_no_values(7, 3, 2, 11)

    assert found["kappa"] == pytest.approx(cohen_kappa_score(predicted, actual))
    assert found["f1"] == pytest.approx(f1_score(actual, predicted))


def test_groups_are_left_out_whole() -> None:
    predicted, actual = answers(16, 8, 4, 12)
    alone = yes_no_estimates(predicted, actual, np.arange(40))
    paired = yes_no_estimates(predicted, actual, np.arange(40) // 4)

    assert paired["f1"].value == alone["f1"].value
    assert paired["f1"].high - paired["f1"].low > alone["f1"].high - alone["f1"].low
    assert (
        "depart from their most common value on the same case in only 3 of 10 groups" in paired["kappa"].note
    )


def test_what_divides_by_nothing_is_undefined_and_says_why() -> None:
    found = yes_no_estimates([False] * 8, [True] * 3 + [False] * 5, np.arange(8))

    assert not found["precision"].defined and "never predicted" in found["precision"].note
    assert (found["sensitivity"].value, found["sensitivity"].low) == (0.0, 0.0)
    assert 0 < found["sensitivity"].high < 1


def test_no_cases_give_no_number() -> None:
    found = yes_no_estimates([], [], np.array([], dtype=np.int64))

    assert not any(estimate.defined for estimate in found.values())
