"""Which jury to use: planted worlds, worlds without anything to find, and the rules of counting."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from juror_worlds import (
    ADVERSE,
    COPIES,
    GOOD,
    LIKERT,
    ONE_TO_FIVE,
    TWO,
    YES_OR_NO,
    clueless_votes,
    judgement_tables,
    noisy_view,
    planted_votes,
)
from scipy import stats

from venire import VenireError
from venire.evals.comparison.objectives import OBJECTIVES, AnswerScale, scored_votes
from venire.evals.ratings.folds import Fold, folds, held_values
from venire.evals.ratings.question import Question
from venire.evals.ratings.reference import reference
from venire.evals.report.html import svg
from venire.evals.statistics.estimate import Estimate
from venire.evals.statistics.proportion import wilson
from venire.evals.studies import findings
from venire.evals.studies.candidates import (
    DIFFERENCE,
    Candidate,
    Candidates,
    Composition,
    chosen_answers,
    frontier,
    pareto,
    preferred_column,
    price_tiers,
)
from venire.evals.studies.choices import Goal
from venire.evals.studies.deliberated_arms import _Room, weigh
from venire.evals.studies.judgements import arm_credits
from venire.evals.studies.juror_pool import Pool, pool_of
from venire.evals.studies.juror_tables import (
    Shares,
    _random,
    _with_sampling,
    effective_jurors,
    error_correlations,
    exact_shapley,
    growth,
    juror_errors,
    jurors_table,
    leave_one_out,
    position_bias,
    sampled_shapley,
)
from venire.evals.studies.jury_search import VoteCounter, best_juries
from venire.evals.studies.paired_means import (
    HeldObjective,
    MeanCredit,
    by_cluster,
    cases_for,
    contrast_power,
    detectable,
    mean_credit_estimate,
    mean_difference,
    pairs_power,
    typical,
)
from venire.evals.studies.recorded_jurors import analyse
from venire.evals.studies.study_report import composition_figures, composition_page, write_composition
from venire.rubrics.scale import Scale


def pool(votes: dict[str, np.ndarray], truth: np.ndarray, counting: str = "median") -> Pool:
    return pool_of(*judgement_tables(votes, truth), YES_OR_NO, counting)


def answer(found: Composition, what: str) -> dict[str, float]:
    (row,) = found.answers[found.answers["what"] == what].to_dict("records")
    return row


@pytest.fixture(scope="module")
def world() -> Composition:
    votes, truth = planted_votes(np.random.default_rng(2), 500)
    return analyse(*judgement_tables(votes, truth), questions=YES_OR_NO, resamples=300, rounds=2)


def test_the_search_finds_the_three_who_are_good_and_independent(world: Composition) -> None:
    arms = world.frontier.set_index("arm")

    assert arms.loc["jury of 3", "jurors"] == " + ".join(GOOD)
    assert world.recommended == "jury of 3"
    assert set(world.jurors[world.jurors["in_jury"]]["juror"]) == set(GOOD)
    assert world.sentences()[0].startswith("Use jury of 3 (good-1 + good-2 + good-3), at 3 votes per case")
    assert world.sentences()[1].startswith("A jury is worth using")


def test_shapley_ranks_the_good_first_and_the_adverse_last(world: Composition) -> None:
    ranked = list(world.jurors["juror"])

    assert set(ranked[:3]) == set(GOOD) and set(ranked[-2:]) == set(ADVERSE)
    adverse = world.jurors.set_index("juror").loc[list(ADVERSE)]
    assert (adverse["shapley_high"] < 0).all()
    assert any(words.startswith("Leave out adverse") for words in world.sentences())


def test_the_effective_number_of_jurors_is_near_the_truth(world: Composition) -> None:
    votes, truth = planted_votes(np.random.default_rng(9), 200_000)
    wrong = np.column_stack([given != truth for given in votes.values()]).astype(float)
    among_all, among_good = (np.corrcoef(wrong[:, :k], rowvar=False) for k in (10, 3))
    true = 100 / among_all.sum()
    found = world.independence.set_index("jury")

    assert found.loc["all jurors", "effective"] == pytest.approx(true, rel=0.1)
    assert found.loc["all jurors", "low"] < true < found.loc["all jurors", "high"]
    assert found.loc["jury of 3", "effective"] == pytest.approx(9 / among_good.sum(), rel=0.15)
    assert found.loc["all jurors", "participation"] == pytest.approx(100 / (among_all**2).sum(), rel=0.15)


def test_copies_count_as_one_and_strangers_as_many() -> None:
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 2, 1500)
    one = noisy_view(truth, 0.7, rng)
    copies = pool({name: one.copy() for name in COPIES}, truth)
    strangers = pool({name: noisy_view(truth, 0.7, rng) for name in COPIES}, truth)

    assert effective_jurors(juror_errors(copies), copies.cluster).value == pytest.approx(1)
    found = effective_jurors(juror_errors(strangers), strangers.cluster)
    assert found.value == pytest.approx(5, rel=0.1) and found.low < 5 < found.high


def test_missing_answers_make_errors_no_less_alike() -> None:
    rng = np.random.default_rng(9)
    shared, own = rng.normal(size=(2000, 1)), rng.normal(size=(2000, 5))
    errors = np.sqrt(0.5) * shared + np.sqrt(0.5) * own
    errors[rng.random(errors.shape) < 0.4] = np.nan

    found = effective_jurors(errors, np.arange(2000) // 2)

    assert found.value == pytest.approx(5 / 3, rel=0.06) and found.low < 5 / 3 < found.high


def test_jurors_who_share_no_question_are_not_said_to_be_independent() -> None:
    errors = np.full((30, 2), np.nan)
    errors[:15, 0], errors[15:, 1] = np.random.default_rng(1).normal(size=(2, 15))

    found = effective_jurors(errors, np.arange(30))

    assert not found.defined and "share fewer than 3 questions" in found.note


def test_the_naive_figure_flatters_and_the_held_out_one_does_not() -> None:
    naive, held = [], []
    for seed in range(6):
        votes, truth = clueless_votes(np.random.default_rng(100 + seed), 80, jurors=9)
        found = analyse(
            *judgement_tables(votes, truth), questions=YES_OR_NO, resamples=50, rounds=1, largest=3
        )
        naive.append(answer(found, "best jury, naive")["value"])
        held.append(answer(found, "best jury, held out")["value"])

    assert np.mean(naive) > 0.56
    assert np.mean(held) == pytest.approx(0.5, abs=0.05)


def test_where_all_jurors_are_alike_the_advice_is_the_cheapest_single_judge() -> None:
    told = []
    for seed in range(5):
        votes, truth = clueless_votes(np.random.default_rng(seed), 120, jurors=6)
        cost = {name: 0.01 * (6 - number) for number, name in enumerate(votes)}
        found = analyse(
            *judgement_tables(votes, truth, cost=cost), questions=YES_OR_NO, resamples=200, rounds=2
        )
        told.append((found.recommended, found.sentences()[1]))

    assert [name for name, _ in told].count("juror-5") >= 4
    assert not any(words.startswith("A jury is worth using") for name, words in told if name == "juror-5")
    assert sum("No jury is shown to be better than the best single judge" in words for _, words in told) >= 3


def test_jurors_with_the_very_same_votes_make_no_jury() -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 100)
    same = noisy_view(truth, 0.8, rng)
    votes = {f"juror-{number}": same.copy() for number in range(4)}
    cost = {"juror-0": 2.0, "juror-1": 1.0, "juror-2": 3.0, "juror-3": 4.0}
    found = analyse(*judgement_tables(votes, truth, cost=cost), questions=YES_OR_NO, resamples=100)

    assert found.recommended == "juror-1"
    assert answer(found, DIFFERENCE)["value"] == 0
    assert "No jury is shown to be better" in found.sentences()[1] and "nan" not in found.sentences()[1]


def test_equal_but_independent_jurors_do_make_a_jury() -> None:
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 2, 400)
    votes = {f"juror-{number}": noisy_view(truth, 0.7, rng) for number in range(7)}
    found = analyse(*judgement_tables(votes, truth), questions=YES_OR_NO, resamples=200, rounds=2)

    assert found.recommended.startswith("jury of")
    chosen = found.growth[found.growth["how"] == "random"].set_index("size")["score"]
    # Condorcet: the majority of n jurors who are right seven times in ten.
    for size in (1, 3, 5, 7):
        assert chosen[size] == pytest.approx(stats.binom.sf(size // 2, size, 0.7), abs=0.04)


def test_labels_of_held_out_cases_do_not_reach_the_choice() -> None:
    votes, truth = planted_votes(np.random.default_rng(6), 120)
    judged, people = judgement_tables(votes, truth)
    test = [f"c{number}" for number in range(60, 120)]
    turned = people.assign(value=np.where(people["case"].isin(test), 1 - people["value"], people["value"]))
    one, other = (
        analyse(judged, each, questions=YES_OR_NO, test=test, resamples=50) for each in (people, turned)
    )
    columns = ["size", "jurors", "chosen_on", "single", "single_chosen_on"]

    assert one.selection[columns].equals(other.selection[columns])
    assert one.selection["held_out"].iloc[0] > 0.5 > other.selection["held_out"].iloc[0]
    assert "One test set of 60 cases" in " ".join(one.methods)


def test_the_same_seed_gives_the_same_numbers() -> None:
    votes, truth = planted_votes(np.random.default_rng(7), 100)
    one, two = (
        analyse(*judgement_tables(votes, truth), questions=YES_OR_NO, seed=3, resamples=50, rounds=1)
        for _ in range(2)
    )

    for name, table in one.tables.items():
        pd.testing.assert_frame_equal(table, two.tables[name])


def test_shapley_values_share_out_everything_and_equal_jurors_share_equally() -> None:
    votes, truth = planted_votes(np.random.default_rng(3), 200)
    votes["twin"] = votes["good-1"].copy()
    laid = pool({name: votes[name] for name in ("good-1", "twin", "good-2", "copy-1", "adverse-1")}, truth)
    urn = VoteCounter(laid)
    floor = urn.constant().mean()
    whole = urn.scores(np.ones((1, 5), dtype=bool))[0]
    exact = exact_shapley(urn)
    sampled = sampled_shapley(urn, rng=np.random.default_rng(0), orders=600)

    assert floor == pytest.approx(max(np.mean(truth), 1 - np.mean(truth)))
    for shares in (exact, sampled):
        assert shares.values.sum() == pytest.approx(whole - floor)
    assert exact.values[0] == pytest.approx(exact.values[1])
    assert (np.abs(sampled.values - exact.values) < 4 * sampled.se + 1e-9).all()
    assert (sampled.se > 0).all() and (exact.se == 0).all()


def test_the_error_of_sampled_shapley_values_is_how_far_they_vary_from_draw_to_draw() -> None:
    votes, truth = planted_votes(np.random.default_rng(3), 20)
    counter = VoteCounter(pool({name: votes[name] for name in ("good-1", "copy-1", "copy-2", "adverse-1")}, truth))  # fmt: skip
    drawn = [sampled_shapley(counter, rng=np.random.default_rng(seed), orders=8) for seed in range(25)]

    spread = np.std([shares.values for shares in drawn], axis=0, ddof=1)
    claimed = np.sqrt(np.mean([shares.se**2 for shares in drawn], axis=0))
    assert np.mean(claimed**2) / np.mean(spread**2) == pytest.approx(1, abs=0.25)
    assert drawn[0].orders == 8


def test_who_is_silent_on_a_question_adds_nothing_to_it_and_takes_nothing_from_it() -> None:
    truth = np.array([1.0, 2.0, 3.0, 5.0])
    votes = {"loud": truth.copy(), "shy": np.array([1.0, np.nan, 4.0, np.nan])}
    asked = {"sound": Question(LIKERT, "high")}
    shares = exact_shapley(VoteCounter(pool_of(*judgement_tables(votes, truth), asked, "mean"))).each

    assert shares[1, [1, 3]].tolist() == [0, 0] and (shares[1, [0, 2]] != 0).all()


def test_exact_shapley_is_the_mean_over_all_orders() -> None:
    rng = np.random.default_rng(2)
    truth = rng.integers(1, 6, 30)
    votes = {f"j{j}": np.clip(truth + rng.integers(-2, 3, 30), 1, 5) for j in range(4)}
    urn = VoteCounter(pool_of(*judgement_tables(votes, truth), {"sound": Question(LIKERT, "high")}, "mean"))

    def worth(coalition: tuple[int, ...]) -> float:
        if not coalition:
            return float(urn.constant().mean())
        return float(urn.scores(np.isin(np.arange(4), coalition)[None, :])[0])

    by_hand = np.zeros(4)
    for order in permutations(range(4)):
        for place, juror in enumerate(order):
            by_hand[juror] += (worth(order[: place + 1]) - worth(order[:place])) / 24

    assert exact_shapley(urn).values == pytest.approx(by_hand)


def test_what_can_be_detected_is_detected_four_times_in_five() -> None:
    n, sd = 60, 0.3
    effect = detectable(sd, n)
    drawn = np.random.default_rng(0).normal(effect, sd, (4000, n))
    p = stats.ttest_1samp(drawn, 0, axis=1).pvalue

    assert effect == pytest.approx((1.959964 + 0.841621) * sd / math.sqrt(n))
    assert np.mean(p < 0.05) == pytest.approx(0.8, abs=0.03)
    assert cases_for(effect, sd) == n
    assert cases_for(0.02, sd) == math.ceil((2.801585 * sd / 0.02) ** 2)


def test_power_counts_cases_not_questions() -> None:
    case = np.repeat(np.arange(50), 2)
    gap = np.repeat(np.random.default_rng(0).normal(0, 0.4, 50), 2)
    (row,) = pairs_power({("a", "b"): gap}, case).to_dict("records")

    assert row["n"] == 50
    assert row["sd"] == pytest.approx(by_cluster(gap, case).std(ddof=1))
    mean, spread = typical(np.column_stack([gap, np.zeros(100), -gap]), case)
    assert mean == pytest.approx(np.mean([row["detectable"], 2 * row["detectable"], row["detectable"]]))
    assert spread == pytest.approx(np.std([1, 2, 1], ddof=1) * row["detectable"])


def test_power_is_of_errors_as_wide_as_the_folds_make_them_and_of_cases_in_any_measure() -> None:
    case = np.repeat(np.arange(30), 2)
    gap = np.repeat(np.random.default_rng(1).normal(0.02, 0.3, 30), 2)
    plain, wide = (pairs_power({("a", "b"): gap}, case, widening=by).loc[0] for by in (1.0, 1.5))
    contrasts = {by: mean_difference(gap, case, method="m", widening=by) for by in (1.0, 1.5)}

    assert (wide["sd"], wide["detectable"]) == pytest.approx((1.5 * plain["sd"], 1.5 * plain["detectable"]))
    assert wide["cases_for_0.05"] == cases_for(0.05, 1.5 * gap[::2].std(ddof=1)) > plain["cases_for_0.05"]
    assert wide["difference"] == plain["difference"] == pytest.approx(gap.mean())
    for by, by_pairs in ((1.0, plain), (1.5, wide)):
        row = contrast_power({("a", "b"): contrasts[by]}, 30).loc[0]
        assert row.drop(["first", "second"]).tolist() == pytest.approx(
            by_pairs.drop(["first", "second"]).tolist()
        )


def test_arms_that_never_differ_do_not_show_what_could_be_detected() -> None:
    same, apart = np.zeros(12), np.tile([0.0, 0.1], 6)
    table = pairs_power({("a", "b"): same, ("a", "c"): np.full(12, 0.1), ("b", "c"): apart}, np.arange(12))

    assert table["detectable"].isna().tolist() == [True, True, False]
    assert table[["sd", "cases_for_0.05", "cases_for_0.02"]].isna().all(axis=1).tolist() == [
        True,
        True,
        False,
    ]
    assert typical(np.column_stack([same, same, apart]), np.arange(12))[0] == pytest.approx(
        table["detectable"][2]
    )
    assert np.isnan(typical(np.column_stack([same, same]), np.arange(12))).all()


def test_one_pair_of_arms_has_no_spread_of_what_could_be_detected() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 40)
    votes = {name: noisy_view(truth, 0.8, rng) for name in ("one", "two")}
    found = analyse(*judgement_tables(votes, truth), questions=YES_OR_NO, resamples=20)

    said = " ".join([*found.methods, *found.sentences()])
    assert "Only one pair of arms has scores that differ" in said and "nan" not in said


def test_folds_hold_every_case_out_once_and_keep_groups_whole() -> None:
    cluster = np.random.default_rng(0).integers(0, 12, 60)
    parts = folds(cluster, 5, np.random.default_rng(1))

    assert sorted(np.concatenate([fold.held_out for fold in parts])) == list(range(60))
    assert not any(set(cluster[fold.chosen_on]) & set(cluster[fold.held_out]) for fold in parts)
    rows = held_values([*parts, *parts], [fold.held_out.astype(float) for fold in (*parts, *parts)])
    assert rows.tolist() == list(range(60))


def test_a_juror_who_takes_the_first_text_is_found_out() -> None:
    rows = []
    for number in range(40):
        for order, first, second in (("given", 1, 2), ("swapped", 2, 1)):
            for juror, value in (("first", first), ("second", second), ("steady", 1 + number % 2)):
                rows.append((f"c{number}", juror, "better", value, order))
    table = pd.DataFrame(rows, columns=["case", "juror", "attribute", "value", "order"])
    found = position_bias(table).set_index("juror")

    assert found["lean"].to_dict() == {"first": 1.0, "second": -1.0, "steady": 0.0}
    assert found["consistent"].to_dict() == {"first": 0.0, "second": 0.0, "steady": 1.0}


def test_the_front_holds_what_nobody_beats() -> None:
    score, cost = np.array([0.9, 0.8, 0.7, 0.9, np.nan]), np.array([3.0, 1.0, 2.0, 4.0, 0.1])

    assert pareto(score, cost).tolist() == [True, True, False, False, False]
    assert pareto(score, cost, np.array([1.0, 1.0, 0.5, 1.0, 1.0])).tolist() == [
        True,
        True,
        True,
        False,
        False,
    ]


def arms_world(gain: float, *, seed: int = 0, cases: int = 120) -> pd.DataFrame:
    """A dear jury that is better than the cheap judge by `gain`, and a judge in between."""
    rng = np.random.default_rng(seed)
    noise = rng.uniform(0.3, 0.7, cases)
    rows = []
    for arm, kind, more, cost in (("judge", "single judge", 0, 1), ("other", "single judge", 0, 2), ("jury", "jury", gain, 9)):  # fmt: skip
        credit = np.clip(noise + more + rng.normal(0, 0.1, cases), 0, 1)
        rows.append(
            pd.DataFrame({"arm": arm, "kind": kind, "case": [f"c{c}" for c in range(cases)], "attribute": "a", "credit": credit, "cost": cost})
        )  # fmt: skip
    return pd.concat(rows, ignore_index=True)


def test_of_equal_arms_the_cheapest_is_advised_and_of_a_better_jury_the_jury() -> None:
    told = [weigh(arms_world(0.0, seed=seed), resamples=200).recommended for seed in range(10)]
    better = weigh(arms_world(0.15), resamples=200, unit="dollars per case")

    assert told.count("judge") >= 9
    assert better.recommended == "jury"
    assert better.sentences()[0].startswith("Use jury, at 9 dollars per case")
    assert better.sentences()[1].startswith("A jury is worth using")
    assert better.power.iloc[0]["first"] == "the best jury"
    assert set(better.tables) == {"answers", "frontier", "noise", "power"}


def test_the_advice_counts_what_its_own_table_of_noise_has() -> None:
    equal, better = weigh(arms_world(0.0), resamples=200), weigh(arms_world(0.15), resamples=200)

    assert int(equal.noise["within"].sum()) == 3
    assert "the cheapest of 3 arms that are not shown to be worse" in equal.sentences()[0]
    assert int(better.noise["within"].sum()) == 1
    assert (
        "the only arm that is not shown to be worse than the best; 2 cheaper arms are shown to be worse"
        in (better.sentences()[0])
    )
    assert "the best arm, chosen on other cases, is no better on any case" in better.sentences()[0]


def test_arms_of_one_kind_leave_it_open_whether_juries_pay() -> None:
    table = arms_world(0.0)
    found = weigh(table[table["kind"] == "single judge"], resamples=100)

    assert (
        found.sentences()[1]
        == "It is not shown whether a jury is worth using: there is no jury among the arms."
    )


def test_arms_get_credit_on_what_any_of_them_answered() -> None:
    people = pd.DataFrame(
        {"case": ["1", "2", "1", "2"], "rater": "p", "attribute": ["a", "a", "b", "b"], "value": [5, 1, 1, 0]}
    )
    ratings = pd.DataFrame(
        [("1", "x", "a", 4), ("2", "x", "a", 1), ("1", "y", "a", 5), ("1", "x", "b", 1), ("2", "y", "b", 0)],
        columns=["case", "rater", "attribute", "value"],
    )
    questions = {"a": Question(LIKERT, "high"), "b": Question(TWO, "high")}
    costs = pd.DataFrame({"arm": ["x", "y"], "cost": [20.0, 5.0], "seconds": [3.0, 1.0]})
    table = arm_credits(
        ratings,
        reference(people, questions),
        questions=questions,
        kinds={"x": "jury", "y": "single judge"},
        costs=costs,
    )
    credit = table.set_index(["arm", "case", "attribute"])["credit"]

    assert credit[("x", "1", "a")] == 0.75 and credit[("y", "1", "a")] == 1
    assert math.isnan(credit[("y", "2", "a")])
    assert credit[("y", "1", "b")] == 0 and credit[("y", "2", "b")] == 1
    assert dict(zip(table["arm"], table["cost"], strict=True)) == {"x": 20, "y": 5}


def test_what_cannot_be_analysed_says_what_to_do() -> None:
    votes, truth = planted_votes(np.random.default_rng(1), 20)
    judged, people = judgement_tables(votes, truth)
    wrong = {
        "columns are missing in the judgements: 'juror'": lambda: analyse(judged.drop(columns="juror"), people, questions=YES_OR_NO),
        "is not on its scale": lambda: analyse(judged.assign(value=7), people, questions=YES_OR_NO),
        "more than once": lambda: analyse(pd.concat([judged, judged]), people, questions=YES_OR_NO),
        "no case and attribute in common": lambda: analyse(judged, people.assign(case="z"), questions=YES_OR_NO),
        "cannot be counted by": lambda: analyse(judged, people, questions=YES_OR_NO, counting="decision"),
        "there is only one juror": lambda: analyse(judged[judged["juror"] == "good-1"], people, questions=YES_OR_NO),
        "a jury needs two jurors or more": lambda: analyse(judged, people, questions=YES_OR_NO, largest=1),
        "too few": lambda: analyse(judged[judged["case"].isin(["c1", "c2"])], people, questions=YES_OR_NO),
        "nothing can be scored": lambda: analyse(judged, people, questions=YES_OR_NO, test=["z"]),
        "into both parts": lambda: analyse(judged.assign(group="g" + judged["case"].str[-1]), people, questions=YES_OR_NO, test=["c1"]),
    }  # fmt: skip
    for words, attempt in wrong.items():
        with pytest.raises(VenireError) as caught:
            attempt()
        assert words in caught.value.problem and caught.value.remedy


def test_a_juror_who_seldom_answers_is_left_out_by_name() -> None:
    votes, truth = planted_votes(np.random.default_rng(1), 60)
    votes = {name: given.astype(float) for name, given in votes.items()}
    votes["good-1"][:40] = np.nan
    found = analyse(*judgement_tables(votes, truth), questions=YES_OR_NO, resamples=50, rounds=1)

    assert "good-1" not in set(found.jurors["juror"])
    assert found.notes == (
        "Jurors left out, because they answered fewer than half of the questions: good-1.",
    )


def test_the_report_shows_every_figure_and_table(world: Composition, tmp_path: Path) -> None:
    drawn = composition_figures(world)
    written = write_composition(world, tmp_path)

    assert set(drawn) == {"frontier", "growth", "contributions"}
    for picture in map(svg, drawn.values()):
        ElementTree.fromstring(picture)
        assert "nan" not in picture
    page = written.read_text(encoding="utf-8")
    assert page == composition_page(world, drawn)
    for name in world.tables:
        assert (tmp_path / "tables" / f"{name}.csv").is_file()
        assert f'data-table="{name}"' in page
    assert "NaN" not in (tmp_path / "report.json").read_text(encoding="utf-8")


def test_names_that_are_markup_stay_words(tmp_path: Path) -> None:
    votes, truth = planted_votes(np.random.default_rng(1), 60)
    renamed = {f"<b>{name}</b>": given for name, given in votes.items()}
    found = analyse(*judgement_tables(renamed, truth), questions=YES_OR_NO, resamples=50, rounds=1)

    assert "<b>" not in write_composition(found, tmp_path).read_text(encoding="utf-8")


@pytest.mark.parametrize("counting", ["mean", "median"])
def test_on_scales_of_numbers_the_near_and_independent_are_seated(counting: str) -> None:
    rng = np.random.default_rng(11)
    truth = rng.integers(1, 6, 150).astype(float)
    near = {f"near-{n}": np.clip(truth + rng.normal(0, 1, 150), 1, 5) for n in range(3)}
    far = {f"far-{n}": rng.uniform(1, 5, 150) for n in range(3)}
    judged, people = judgement_tables(near | far, truth)
    judged["group"] = "g" + (judged["case"].str[1:].astype(int) // 3).astype(str)
    raters = [people.assign(rater=f"r{step}", value=np.clip(truth + step, 1, 5)) for step in (-1, 0, 1)]
    found = analyse(
        judged, pd.concat(raters), questions={"sound": Question(ONE_TO_FIVE, "high")}, counting=counting,
        resamples=200, rounds=1,
    )  # fmt: skip

    assert set(found.jurors["juror"][:3]) == set(near)
    assert set(found.jurors[found.jurors["in_jury"]]["juror"]) == set(near)
    assert found.recommended in ("jury of 2", "jury of 3")
    assert found.power.iloc[0]["n"] == 50
    alone = found.frontier.set_index("arm")["score"]
    for name, given in near.items():
        assert alone[name] == pytest.approx(1 - np.abs(given - truth).mean() / 4)


def test_a_lenient_juror_errs_alike_on_attributes_of_either_direction() -> None:
    questions = {"help": Question(LIKERT, "high"), "harm": Question(LIKERT, "low")}
    people = pd.DataFrame({"case": "c", "attribute": ["help", "harm"], "value": [3, 3]})
    judged = pd.DataFrame({"case": "c", "juror": "lenient", "attribute": ["help", "harm"], "value": [4, 2]})

    assert set(juror_errors(pool_of(judged, people, questions, "median")).ravel()) == {0.25}


def test_values_that_are_all_the_same_are_no_certainty() -> None:
    cases = np.arange(20)
    right = mean_credit_estimate(np.ones(20), cases, method="m")
    grouped = mean_credit_estimate(np.ones(20), cases // 2, method="m")
    halves = mean_credit_estimate(np.full(20, 0.5), cases, method="m")
    better = mean_difference(np.full(10, 0.25), cases[:10], method="m")
    same = mean_difference(np.zeros(10), cases[:10], method="m")

    assert (right.low, right.high) == (pytest.approx(0.8389, abs=1e-4), 1.0), "Wilson's, of 20 of 20"
    assert grouped.low == pytest.approx(0.7225, abs=1e-4), "of ten groups"
    assert np.isnan(halves.low) and halves.note == "no interval: all cases have the same value"
    assert np.isnan(better.difference.low) and better.p == pytest.approx(2 / 2**10), "as of flipped signs"
    assert (same.difference.low, same.difference.high) == pytest.approx((-0.2775, 0.2775), abs=1e-4), (
        "Wilson's, of 0 of 10: so many others may differ"
    )
    assert (same.p, same.difference.note) == (1, "both arms score the same on every case")


def test_leave_one_out_is_the_pool_less_the_pool_without_and_of_equal_juries_the_cheapest_is_best() -> None:
    """Three jurors on two questions: without the third, the first question ties and earns nothing."""
    truth = np.array([1.0, 0.0])
    votes = {"a": np.array([1.0, 0.0]), "b": np.array([0.0, 0.0]), "c": np.array([1.0, 1.0])}
    three = pool(votes, truth)
    counter = VoteCounter(three)

    assert counter.credits(np.ones((1, 3), dtype=bool)).tolist() == [[1.0, 1.0]]
    assert leave_one_out(counter).tolist() == [[1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
    assert np.isnan(leave_one_out(VoteCounter(pool({"a": votes["a"]}, truth)))).all()
    alike = pool({"dear": votes["a"], "cheap": votes["a"], "worse": votes["b"]}, truth)
    priced = replace(alike, cost=np.array([3.0, 1.0, 0.5]))
    assert best_juries(priced, (1,)).tolist() == [[False, True, False]]
    assert best_juries(replace(alike, cost=np.array([1.0, 3.0, 0.5])), (1,)).tolist() == [
        [True, False, False]
    ]


@pytest.mark.parametrize("widening", [1.0, 1.5])
@pytest.mark.parametrize("a_group", [1, 3])
def test_a_mean_difference_is_students_t_of_whole_groups(widening: float, a_group: int) -> None:
    """Even values have no heavy tails: the degrees of freedom are one less than the groups."""
    values = np.linspace(-0.3, 0.5, 36)[np.random.default_rng(0).permutation(36)]
    cluster = np.arange(36) // a_group
    means = values.reshape(-1, a_group).mean(axis=1)
    with_gap = np.append(values, np.nan)
    found = mean_difference(with_gap, np.append(cluster, 0), method="m", widening=widening)
    error, free = widening * stats.sem(means), len(means) - 1

    assert (found.difference.value, found.difference.se, found.difference.n) == (pytest.approx(values.mean()), pytest.approx(error), 36)  # fmt: skip
    assert found.p == pytest.approx(2 * stats.t.sf(values.mean() / error, free))
    assert (found.difference.low, found.difference.high) == pytest.approx(stats.t.interval(0.95, free, values.mean(), error))  # fmt: skip
    credits = (values + 0.3) / 0.9
    alone = mean_credit_estimate(credits, cluster, method="m", widening=widening)
    share, size = credits.mean(), credits.mean() * (1 - credits.mean()) / (error / 0.9) ** 2
    assert (alone.low, alone.high) == pytest.approx(wilson(share, size, 0.95, free))
    few = mean_difference(values[: 6 * a_group], cluster[: 6 * a_group], method="m")
    assert np.isnan(few.p) and np.isnan(few.difference.low) and few.difference.defined
    assert not np.isnan(mean_difference(values[: 7 * a_group], cluster[: 7 * a_group], method="m").p)


@pytest.mark.parametrize(("name", "sign"), [("mae", -1), ("credit", 1), ("spearman", 1)])
def test_an_objective_of_held_out_questions_is_jackknifed_over_groups_with_high_as_good(
    name: str, sign: int
) -> None:
    rng = np.random.default_rng(4)
    truth = rng.integers(1, 6, 40).astype(float)
    near, far = (np.clip(truth + rng.normal(0, sd, 40), 1, 5) for sd in (0.3, 2.0))
    scale, cluster, held = AnswerScale.of(LIKERT), np.arange(40) // 2, np.arange(10, 40)
    votes = scored_votes(np.column_stack([near, far]), truth, ["a"] * 40, cluster, {"a": scale})
    measure = HeldObjective(votes, held, OBJECTIVES[name])

    def value(answers: np.ndarray, kept: np.ndarray) -> float:
        return float(OBJECTIVES[name].value(answers[kept][None], truth[kept][None], scale)[0])

    assert measure.scores(near[None, :5], np.arange(5))[0] == pytest.approx(sign * value(near, np.arange(5)))
    one = measure.estimate(near[held], method="m")
    assert one.value == pytest.approx(value(near, held)) and one.low < one.value < one.high
    gap = measure.difference(near[held], far[held], method="m")
    assert gap.difference.value == pytest.approx(sign * (value(near, held) - value(far, held))) and gap.difference.value > 0  # fmt: skip
    left_out = [value(near, kept) - value(far, kept) for group in range(5, 20) if len(kept := held[cluster[held] != group])]  # fmt: skip
    assert gap.difference.se == pytest.approx(np.sqrt(14 / 15 * ((left_out - np.mean(left_out)) ** 2).sum()))


def test_an_interval_is_wider_by_the_error_of_having_drawn_orders() -> None:
    found = _with_sampling(Estimate(0.5, 0.2, 0.9, 10, ""), 0.3 / 1.96)
    assert (found.low, found.high) == pytest.approx((0.5 - np.hypot(0.3, 0.3), 0.5 + 0.5))


def test_the_table_of_jurors_has_each_ones_own_numbers_and_those_who_add_most_come_first() -> None:
    rng = np.random.default_rng(8)
    truth = rng.integers(0, 2, 30).astype(float)
    votes = {"poor": np.where(rng.random(30) < 0.4, truth, 1 - truth), "good": truth.copy(), "fair": np.where(rng.random(30) < 0.8, truth, 1 - truth)}  # fmt: skip
    votes["fair"][:6] = np.nan
    three = replace(pool(votes, truth), cost=np.array([3.0, 1.0, 2.0]))
    counter = VoteCounter(three)
    names = list(three.jurors)
    shares = Shares(np.array([np.full(30, {"poor": -0.1, "good": 0.4, "fair": 0.2}[name]) + np.linspace(-0.05, 0.05, 30) for name in names]), np.zeros(3), 0)  # fmt: skip
    chosen = SimpleNamespace(seated=np.array([name == "good" for name in names]), sizes=(1, 3), by_size=[np.ones(30), np.zeros(30)], rows=np.arange(30))  # fmt: skip
    table = jurors_table(counter, shares, chosen)  # type: ignore[arg-type]
    rows = table.set_index("juror")

    assert table["juror"].tolist() == ["good", "fair", "poor"]
    assert rows["shapley"].to_dict() == pytest.approx({"good": 0.4, "fair": 0.2, "poor": -0.1})
    assert rows["answered"].to_dict() == pytest.approx({"good": 1, "fair": 0.8, "poor": 1})
    assert rows["score"].to_dict() == pytest.approx({name: (votes[name] == truth).mean() for name in votes})
    assert rows["cost"].to_dict() == dict(zip(names, three.cost, strict=True)) and rows["in_jury"]["good"] and not rows["in_jury"]["fair"]  # fmt: skip
    without = leave_one_out(counter).mean(axis=1)
    assert rows["leave_one_out"].to_dict() == pytest.approx(dict(zip(names, without, strict=True)))
    sizes = growth(counter, chosen, widening=1.0, rng=rng).set_index(["how", "size"])  # type: ignore[arg-type]
    alone = sorted((votes[name] == truth).mean() for name in votes)
    random = sizes.loc[("random", 1)]
    assert (random["score"], random["juries"]) == (pytest.approx(np.mean(alone)), 3)
    assert (random["weakest"], random["strongest"]) == pytest.approx(tuple(np.quantile(alone, [0.05, 0.95])))
    assert sizes.loc[("chosen", 1), "score"] == 1 and sizes.loc[("chosen", 3), "score"] == 0
    errors = pd.DataFrame({name: (votes[name] != truth).astype(float) for name in names})
    for row in error_correlations(three).to_dict("records"):
        assert row["correlation"] == pytest.approx(errors[row["first"]].corr(errors[row["second"]]), nan_ok=True)  # fmt: skip


def test_random_juries_have_the_size_that_is_asked_for_and_seat_nobody_more_often() -> None:
    few, many = (_random(jurors, 3, np.random.default_rng(0)) for jurors in (5, 12))
    assert len(few) == math.comb(5, 3) == len(np.unique(few, axis=0)) and len(many) == 100
    assert (few.sum(axis=1) == 3).all() and (many.sum(axis=1) == 3).all()
    assert many.mean(axis=0) == pytest.approx(np.full(12, 0.25), abs=0.15)


@pytest.mark.parametrize("searched", [None, "tpe"])
def test_seats_of_a_search_are_held_against_each_other_on_what_was_chosen_on_alone(monkeypatch: pytest.MonkeyPatch, searched: str | None) -> None:  # fmt: skip
    given: dict[str, Any] = {}
    ballots = pd.DataFrame({"case": ["s1", "s2", "t1"], "juror": "x"})
    monkeypatch.setattr(findings, "blind_ballots", lambda *_: ballots.copy())
    monkeypatch.setattr(findings, "groups_of", lambda *_: {})
    monkeypatch.setattr(findings, "check_ratings", lambda people, questions: (people, None))
    monkeypatch.setattr(findings, "analyse", lambda ballots, people, **more: given.update(ballots=ballots, **more))  # fmt: skip
    study = SimpleNamespace(arms={}, unit="usd", search=searched, selection=["s1", "s2"], test=["t1"], reference=None, seed=0, goal=None)  # fmt: skip
    findings._jurors(None, study, pd.DataFrame({"attribute": ["a"]}), {}, 10)  # type: ignore[arg-type]

    assert given["ballots"]["case"].tolist() == (["s1", "s2"] if searched else ["s1", "s2", "t1"])
    assert given["test"] == (None if searched else {"t1"})


def test_what_is_chosen_among_arms_is_scored_on_cases_that_it_was_not_chosen_on() -> None:
    """Two arms are right on one half of the cases each: the better one on either half is wrong on the other. The third is dearer."""
    first = np.arange(8) < 4
    table = np.column_stack([first, ~first, np.full(8, 0.25)]).astype(float)
    half, other = np.flatnonzero(first), np.flatnonzero(~first)
    measure, cost = MeanCredit(np.arange(8)), np.array([1.0, 1.0, 2.0])
    crossed = [Fold(half, other), Fold(other, half)]
    tiers = price_tiers(["a", "b", "c"], cost, table, crossed, measure)

    assert chosen_answers(table, crossed, measure).tolist() == [0.0] * 8
    assert [(tier.arms, tier.cost, set(tier.answers)) for tier in tiers] == [
        (2, 1.0, {0.0}),
        (1, 2.0, {0.25}),
    ]
    once = [Fold(half, other)]
    assert preferred_column(table, once, measure) == (0, 1.0), "of the cases to choose on alone"
    (tier, _) = price_tiers(["a", "b", "c"], cost, table, once, measure)
    assert tier.arm == "a" and tier.answers.tolist() == [0.0] * 4


def test_the_constant_that_arms_are_held_against_is_what_people_give_on_other_cases() -> None:
    truth = np.array([1.0, 1.0, 2.0, 5.0, 5.0, 4.0])
    names = ["jury", "judge"]
    kinds = pd.DataFrame({"kind": ["jury", "single judge"]}, index=names)
    scale = {"a": AnswerScale.of(LIKERT)}
    votes = scored_votes(np.column_stack([truth, truth]), truth, ["a"] * 6, np.arange(6), scale)
    half, other = np.arange(3), np.arange(3, 6)
    found = {}
    for by_credit, name in ((False, "mae"), (True, "credit")):
        room = _Room(names, kinds, np.ones(2), pd.DataFrame(), np.ones((6, 2)), votes, Goal(OBJECTIVES[name]), by_credit)  # fmt: skip
        found[name] = room.candidates(np.arange(6), [Fold(half, other), Fold(other, half)], np.arange(6)).constant  # fmt: skip

    assert found["mae"] is not None and found["mae"].tolist() == [5, 5, 5, 1, 1, 1]
    assert found["credit"] is not None and found["credit"].tolist() == [0, 0, 0.25, 0, 0, 0.25]


def test_only_arms_whose_members_were_chosen_have_wider_intervals_and_the_front_is_of_score_and_cost() -> (
    None
):
    rng = np.random.default_rng(3)
    good, poor = rng.uniform(0.5, 1, 20), rng.uniform(0, 0.5, 20)
    arms = tuple(Candidate(name, "jury", answers, cost, chosen=chosen) for name, answers, cost, chosen in (("dear", poor, 3.0, False), ("given", good, 2.0, False), ("made", good, 2.0, True), ("cheap", poor, 1.0, False)))  # fmt: skip
    found = frontier(
        Candidates(arms, (), MeanCredit(np.arange(20)), good, None, None, {}, 20, 1.5)
    ).set_index("arm")

    assert found.index.tolist()[0] == "cheap" and found.index.tolist()[-1] == "dear"
    for name, answers, widening in (("given", good, 1.0), ("made", good, 1.5), ("cheap", poor, 1.0)):
        alone = mean_credit_estimate(answers, np.arange(20), method="m", widening=widening)
        assert (found.loc[name, "score"], found.loc[name, "low"], found.loc[name, "high"]) == pytest.approx((answers.mean(), alone.low, alone.high))  # fmt: skip
    assert found["front"].to_dict() == {"cheap": True, "given": True, "made": True, "dear": False}


@pytest.mark.parametrize("goal", [None, Goal(OBJECTIVES["mae"]), Goal(OBJECTIVES["icc3k"])])
def test_coefficients_beside_a_choice_are_of_the_answers_that_were_held_out(goal: Goal | None) -> None:
    """Judges so alike that folds differ in which they choose: what all cases choose would flatter the choice."""
    rng = np.random.default_rng(3)
    cases, truth = [f"c{case}" for case in range(24)], rng.uniform(1, 9, 24)
    judged = pd.concat(
        [pd.DataFrame({"case": cases, "rater": arm, "attribute": "a", "value": np.clip(truth + rng.normal(0, 2, 24), 0, 10)}) for arm in ("one", "two", "three", "both")]
    )  # fmt: skip
    asked = {"a": Question(Scale.model_validate({"level": "interval", "minimum": 0, "maximum": 10}), "high")}
    people = pd.DataFrame({"case": cases, "attribute": "a", "value": truth})
    kinds = {"one": "single judge", "two": "single judge", "three": "single judge", "both": "jury"}
    table = arm_credits(judged, reference(people, asked), questions=asked, kinds=kinds)
    found = weigh(table, questions=asked, goal=goal, resamples=20)
    rows, chosen = found.measures.set_index("arm"), found.choices.iloc[0]

    assert chosen["optimism"] > 0.001
    # A credit is 1 less the error's share of the scale.
    expected = rows[goal.objective.name] if goal else 1 - rows["mae"] / 10
    assert rows["objective"].tolist() == pytest.approx(expected.tolist())
