"""The threshold: chosen inside folds, so that a score without signal is shown to have none."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score, f1_score, recall_score, roc_auc_score, roc_curve
from written_transcripts import written_run

from venire import Case, Rubric, Store, VenireError, load_rubric
from venire.evals.claims.threshold import (
    Aim,
    Costs,
    LabelledCases,
    ThresholdReport,
    _scores,
    best_threshold,
    labelled_cases,
    threshold_json,
    threshold_lines,
    threshold_report,
    threshold_table,
)
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


def test_cases_that_stand_twice_in_their_group_make_no_interval_narrower() -> None:
    rng = np.random.default_rng(7)
    truth = rng.random(40) < 0.5
    scores = np.round(truth * 0.3 + rng.random(40), 2)
    once = threshold_report(scores, truth, np.arange(40), fixed=0.6)
    twice = threshold_report(np.tile(scores, 2), np.tile(truth, 2), np.tile(np.arange(40), 2), fixed=0.6)

    def bounds(report: ThresholdReport) -> list[float]:
        found = [report.auc, *report.fixed.metrics.values()]
        return [value for each in found for value in (each.value, each.low, each.high)]

    assert bounds(twice) == pytest.approx(bounds(once))


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


RUBRIC = Rubric.model_validate(
    {
        "name": "r",
        "version": 1,
        "scales": {
            "five": {"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}},
            "two": {"level": "binary", "anchors": {0: "no", 1: "yes"}},
        },
        "attributes": [
            {"name": "clear", "question": "Is it clear?", "scale": "five"},
            {"name": "fine", "question": "Is it fine?", "scale": "two", "reverse_as": "flawed"},
        ],
        "composites": {"both": {"clear": 0.75, "fine": 0.25}},
    }
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two arms on six cases, of which the last is hung; two cases are of one group."""
    cases = [Case(id=f"c{n}", output="x", group="g" if n < 2 else None) for n in range(6)]
    votes = {
        arm: {f"c{n}": {"x": {} if n == 5 else {"clear": abs(turn - n), "fine": 1}} for n in range(6)}
        for arm, turn in (("up", -1), ("down", 5))
    }
    return written_run(tmp_path_factory.mktemp("threshold") / "run", RUBRIC, cases, votes)


def people(rows: dict[str, list[int]], attribute: str = "good") -> pd.DataFrame:
    given = [(case, f"p{who}", attribute, value) for case, values in rows.items() for who, value in enumerate(values)]  # fmt: skip
    return pd.DataFrame(given, columns=["case", "rater", "attribute", "value"])


def test_a_runs_scores_stand_beside_what_most_people_say(run: Path) -> None:
    human = people({"c0": [0, 0, 1], "c1": [1, 1], "c2": [0, 1], "c3": [1], "c5": [1], "gone": [1]})
    for arm, scores in (("up", [1, 2, 4]), ("down", [5, 4, 2])):
        store = Store.read(run)
        found = labelled_cases(store, human, "clear", arm=arm)
        store.release()
        assert (found.cases, found.scores.tolist(), found.truth.tolist()) == (["c0", "c1", "c3"], scores, [False, True, True])  # fmt: skip
        assert (found.cluster.tolist(), found.arm, found.attribute, found.fixed) == (
            [0, 0, 1],
            arm,
            "good",
            3.0,
        )
        assert "1 case left out, because the jury is hung or there is no clear" in found.notes
        assert "2 cases left out, because people have no majority" in found.notes


@pytest.mark.parametrize(
    ("score", "middle"), [("clear", 3.0), ("fine", 0.5), ("flawed", 0.5), ("both", 2.375)]
)
def test_a_score_that_is_no_share_of_claims_is_cut_in_the_middle_of_its_scale(
    run: Path, score: str, middle: float
) -> None:
    store = Store.read(run)
    assert labelled_cases(store, people({"c0": [0], "c1": [1]}), score, attribute="good").fixed == middle
    store.release()


@pytest.mark.parametrize(
    ("human", "options", "said"),
    [
        (people({"c0": [0, 5]}), {}, "0 of the questions"),
        (pd.concat([people({"c0": [1]}), people({"c0": [0]}, "fine")]), {}, "2 of the questions"),
        (people({"c0": [1]}), {"attribute": "bad"}, "people did not rate 'bad'"),
        (people({"c0": [1, 4]}, "clear"), {"attribute": "clear"}, "'clear' is not a yes-or-no question"),
        (people({"c5": [1]}), {}, "no case has both"),
        (people({"c0": [1]}), {"arm": "none"}, "no arm named 'none'"),
        (people({"c0": [1]}), {"score": "precision"}, "no score named 'precision'"),
    ],
)
def test_what_cannot_stand_beside_people_is_refused(run: Path, human: pd.DataFrame, options: dict[str, str], said: str) -> None:  # fmt: skip
    store = Store.read(run)
    with pytest.raises(VenireError, match=said):
        labelled_cases(store, human, **({"score": "clear"} | options))  # type: ignore[arg-type]
    store.release()


def test_table_lines_and_document_have_the_reports_numbers() -> None:
    scores = np.array([0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.2, 0.1])
    truth, cluster = np.array([1, 1, 0, 1, 1, 0, 0, 0], dtype=bool), np.repeat(np.arange(4), 2)
    report = threshold_report(scores, truth, cluster, score="clear", costs=Costs(1, 2), fixed=0.65, number=4)
    found = LabelledCases([], scores, truth, cluster, "arm", "good", 0.65, ())
    document, table = threshold_json("here", found, report), threshold_table(report)

    assert (document["cases"], document["groups"], document["positives"], document["folds"]) == (8, 4, 4, 4)
    assert document["fixed"]["counts"] == {"tp": 2, "fp": 1, "fn": 2, "tn": 3} and document["fixed"]["cost"] == 5 / 8  # fmt: skip
    rows = {cells[0]: cells[1:] for cells in zip(*(column.cells for column in table.columns), strict=True)}
    assert "recall" not in rows and rows["cost per case"] == tuple(f"{document[arm]['cost']:.3f}" if arm else "" for arm in ("out_of_fold", "in_sample", "", "fixed"))  # fmt: skip
    for name in ("kappa", "sensitivity", "specificity", "f1"):
        values = [document[arm][name]["value"] for arm in ("out_of_fold", "in_sample", "fixed")]
        assert [float(rows[name][at].split()[0]) for at in (0, 1, 3)] == pytest.approx(values, abs=5e-4)
        assert float(rows[name][2]) == pytest.approx(document["optimism"][name], abs=5e-4)
        assert document["optimism"][name] == pytest.approx(values[1] - values[0])
    first, second, *_ = threshold_lines(found, report)
    assert "8 cases in 4 groups; people say yes on 4" in first
    cuts = document["out_of_fold"]["thresholds"]
    assert (
        f"threshold {document['threshold']:.3f}" in second and f"{min(cuts):.3f} to {max(cuts):.3f}" in second
    )


def test_a_preference_is_scored_between_the_rows_outputs_as_people_answer(tmp_path: Path) -> None:
    rubric = load_rubric("preference")
    cases = [Case.from_row({"id": f"c{n}", "output_a": "Left.", "output_b": "Right."}) for n in range(8)]
    votes = {case.id: {"x": {"preference": case.under_labels(-1)}} for case in cases}
    store = Store.read(written_run(tmp_path / "run", rubric, cases, {"j": votes}))
    assert _scores(store, store.arms()[0], "preference") == dict.fromkeys((case.id for case in cases), -1.0)
    assert {case.swapped for case in cases} == {True, False}
    store.release()


def test_a_hung_case_has_no_share_of_its_claims_and_a_rubrics_own_scores_are_read_as_they_were_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def heard(case: str, precision: float | None) -> tuple[Any, Any]:
        findings = SimpleNamespace(
            measure=lambda name: SimpleNamespace(value=precision), of=SimpleNamespace(all=0.25)
        )
        return SimpleNamespace(case=case), SimpleNamespace(findings=findings)

    arm: Any = SimpleNamespace(name="j", jury=SimpleNamespace(protocol="decompose-verify", claims=None))
    monkeypatch.setattr(
        "venire.evals.claims.threshold.cards", lambda *given: [heard("a", 0.5), heard("b", None)]
    )
    assert _scores(None, arm, "all") == {"a": 0.25} and _scores(None, arm, "precision") == {"a": 0.5}  # type: ignore[arg-type]

    plain: Any = SimpleNamespace(name="j", jury=SimpleNamespace(protocol="panel"))
    counted = [
        SimpleNamespace(case="a", outcomes={"clear": SimpleNamespace(value=3)}, derived={"overall": 2.5}),
        SimpleNamespace(case="b", outcomes={"clear": SimpleNamespace(value=None)}, derived={"overall": None}),
        SimpleNamespace(case="c", outcomes={"clear": SimpleNamespace(value="not_applicable")}, derived={}),
    ]
    monkeypatch.setattr(
        "venire.evals.claims.threshold.verdicts", lambda *given, **more: [(plain, each) for each in counted]
    )
    assert _scores(None, plain, "clear") == {"a": 3.0} and _scores(None, plain, "overall") == {"a": 2.5}  # type: ignore[arg-type]
