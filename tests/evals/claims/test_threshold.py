"""The threshold: chosen inside folds, so that a score without signal is shown to have none."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, f1_score, recall_score, roc_auc_score, roc_curve

from venire import VenireError
from venire.evals.claims.threshold import Aim, Costs, best_threshold, threshold_report
from venire.evals.statistics.draws import Draws


def test_without_signal_the_choice_looks_good_on_its_own_cases_and_is_worth_nothing_elsewhere() -> None:
    rng = np.random.default_rng(0)
    inside, outside = [], []
    for seed in range(60):
        truth = rng.permutation(np.repeat([True, False], 20))
        scores = np.round(rng.random(40) * 25) / 25
        report = threshold_report(scores, truth, np.arange(40), draws=Draws(seed, 50))
        inside.append(report.in_sample.metrics["kappa"].value)
        outside.append(report.out_of_fold.metrics["kappa"].value)

    assert np.mean(inside) == pytest.approx(0.15, abs=0.05)
    assert abs(np.nanmean(outside)) < 0.07


def test_a_score_that_tells_them_apart_is_cut_where_they_part() -> None:
    scores, truth = np.linspace(0, 1, 40), np.linspace(0, 1, 40) > 0.6
    report = threshold_report(scores, truth, np.arange(40), draws=Draws(0, 200))

    assert scores[~truth].max() < report.threshold <= scores[truth].min()
    assert report.auc.value == 1.0
    assert report.fixed.metrics["sensitivity"].value < 1
    assert report.out_of_fold.counts == pytest.approx((16, 0, 0, 24), abs=1)


def test_a_group_is_never_on_both_sides_of_a_fold() -> None:
    # Within a group scores and answers are alike: only a fold that splits groups could learn them.
    rng = np.random.default_rng(1)
    truth = np.repeat(rng.random(12) > 0.5, 5)
    truth[:5], truth[5:10] = True, False
    scores = np.repeat(rng.random(12), 5)
    report = threshold_report(scores, truth, np.repeat(np.arange(12), 5), number=12, draws=Draws(0, 100))

    assert (report.groups, report.folds, report.cases) == (12, 12, 60)
    assert report.in_sample.metrics["kappa"].value > report.out_of_fold.metrics["kappa"].value


def test_costs_move_the_threshold() -> None:
    rng = np.random.default_rng(2)
    truth = rng.random(200) > 0.5
    scores = np.clip(truth * 0.2 + rng.random(200) * 0.8, 0, 1)

    lenient = best_threshold(scores, truth, "costs", Costs(1, 10))
    strict = best_threshold(scores, truth, "costs", Costs(10, 1))
    assert lenient < strict
    report = threshold_report(scores, truth, np.arange(200), costs=Costs(1, 10), draws=Draws(0, 100))
    assert report.aim == "costs" and report.out_of_fold.cost is not None


@pytest.mark.parametrize(
    ("truth", "cases", "message"),
    [([True] * 8, 8, "yes for every case"), ([True, False, True], 3, "too few")],
)
def test_what_no_threshold_can_be_chosen_on_is_refused(truth: list[bool], cases: int, message: str) -> None:
    with pytest.raises(VenireError, match=message):
        threshold_report(np.linspace(0, 1, cases), np.array(truth), np.arange(cases))


@pytest.mark.parametrize("aim", ["kappa", "f1", "youden"])
def test_a_cut_off_without_a_value_is_never_chosen(aim: Aim) -> None:
    # Where people never say yes, saying no of all has no F1 and no kappa, and Youden's index is undefined everywhere.
    cut = best_threshold(np.array([0.1, 0.4, 0.6, 0.9]), np.zeros(4, dtype=bool), aim)
    assert np.isnan(cut) if aim == "youden" else cut < 0.9

    # A score that is wrong throughout: every defined kappa is negative or 0, and one of those is chosen.
    backwards = best_threshold(np.array([0.0, 0.0, 1.0]), np.array([True, True, False]), aim)
    assert not np.isnan(backwards)


def test_folds_that_leave_one_answer_are_said_and_not_counted() -> None:
    truth, cluster = np.repeat([True, False, False, False], 3), np.repeat(np.arange(4), 3)
    report = threshold_report(
        np.linspace(1, 0, 12), truth, cluster, aim="youden", number=4, draws=Draws(0, 50)
    )

    assert len(report.out_of_fold.thresholds) == 3 and sum(report.out_of_fold.counts) == 9
    assert "3 of 12 cases have no answer out of fold" in report.notes[0]
    assert sum(report.in_sample.counts) == 12
    assert np.isnan(report.out_of_fold.metrics["sensitivity"].value)


@pytest.mark.parametrize("aim", ["kappa", "f1", "youden", "costs"])
@pytest.mark.parametrize("seed", range(5))
def test_the_cut_off_is_the_middle_one_of_the_best_by_scikit_learns_own_measures(aim: Aim, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.repeat([True, False], [6, 9]))
    scores = np.round(rng.random(15) * 8 + truth) / 10
    values = sorted(set(scores))
    cuts = [values[0], *((low + high) / 2 for low, high in pairwise(values)), np.nextafter(values[-1], 2)]

    def worth(yes: np.ndarray) -> float:
        if aim == "kappa":
            return cohen_kappa_score(truth, yes)
        if aim == "f1":
            return f1_score(truth, yes, zero_division=0)
        if aim == "youden":
            return recall_score(truth, yes) + recall_score(~truth, ~yes) - 1
        return -(2 * (yes & ~truth).sum() + 5 * (~yes & truth).sum())

    found = np.array([worth(scores >= cut) for cut in cuts])
    best = [cut for cut, value in zip(cuts, found, strict=True) if value >= found.max() - 1e-12]

    assert best_threshold(scores, truth, aim, Costs(2, 5)) == best[len(best) // 2]


def test_between_two_kinds_that_lie_apart_every_cut_is_as_good_and_a_score_on_it_is_yes() -> None:
    scores = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    report = threshold_report(scores, scores == 1, np.arange(6), fixed=1.0, draws=Draws(0, 20))

    assert report.threshold == 0.5 and report.fixed.counts == (3, 0, 0, 3)
    # Left out by itself, a score of 0.5 stands on the cut that the others have.
    scores = np.array([0.0, 0.0, 0.0, 0.5, 1.0, 1.0, 1.0])
    on_it = threshold_report(scores, scores > 0, np.arange(7), number=7, draws=Draws(0, 20))
    assert on_it.out_of_fold.counts == (4, 0, 0, 3) and sorted(on_it.out_of_fold.thresholds)[-1] == 0.5
    # Where saying yes to all is best, the cut is the lowest score.
    all_yes = threshold_report(scores, np.arange(7) != 6, np.arange(7), aim="f1", number=7, draws=Draws(0, 20))  # fmt: skip
    assert all_yes.threshold == 0.0 and all_yes.in_sample.counts == (6, 1, 0, 0)


def test_what_wrong_answers_cost_is_counted_by_hand() -> None:
    """Fixed at 0.5 two of eight are a wrong yes, and one is a wrong no."""
    scores = np.array([0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.2, 0.1])
    truth = np.array([True, True, False, False, True, False, False, False])
    found = threshold_report(scores, truth, np.arange(8), costs=Costs(3.0, 10.0), fixed=0.5, number=4)

    assert found.fixed.counts == (2, 2, 1, 3)
    assert found.fixed.cost == pytest.approx((3 * 2 + 10 * 1) / 8)
    assert threshold_report(scores, truth, np.arange(8), fixed=0.6, number=4).fixed.counts == (2, 2, 1, 3)
    assert threshold_report(scores, truth, np.arange(8), fixed=0.7, number=4).fixed.counts == (2, 1, 1, 4)


def test_the_curve_of_rates_is_scikit_learns() -> None:
    rng = np.random.default_rng(3)
    truth = rng.random(40) > 0.5
    scores = np.round(truth * 0.3 + rng.random(40), 1)
    found = threshold_report(scores, truth, np.arange(40))
    false, true, cuts = roc_curve(truth, scores, drop_intermediate=False)

    assert found.roc["threshold"].tolist() == pytest.approx(cuts)
    assert found.roc["false_positive_rate"].tolist() == pytest.approx(false)
    assert found.roc["true_positive_rate"].tolist() == pytest.approx(true)
    assert found.auc.value == pytest.approx(roc_auc_score(truth, scores))
    assert found.optimism["kappa"] == pytest.approx(found.in_sample.metrics["kappa"].value - found.out_of_fold.metrics["kappa"].value)  # fmt: skip
