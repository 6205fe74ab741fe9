"""What juries are chosen by: each objective is its coefficient, answers are weighed means, and what is not answered is in none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from juror_worlds import LIKERT, ONE_TO_FIVE, TWO, WORDS
from scipy.stats import kendalltau

from venire.evals.agreement.rater_agreement import agreement
from venire.evals.comparison.objectives import (
    OBJECTIVES,
    AnswerScale,
    ScoredVotes,
    equal_weights,
    objective,
    scored_votes,
)
from venire.evals.ratings.question import Question
from venire.evals.ratings.reference import codes
from venire.rubrics.scale import CostMatrix, Scale

COEFFICIENTS = {
    "icc3k": "icc3k", "icc2": "icc2", "kappa_quadratic": "kappa_quadratic", "kappa": "kappa", "spearman": "spearman",
    "kendall": "kendall", "alpha": "alpha_ordinal", "mae": "mae",
}  # fmt: skip


def two_raters(x: np.ndarray, y: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(
        [(f"c{n}", rater, "a", value) for rater, values in (("x", x), ("y", y)) for n, value in enumerate(values)],
        columns=["case", "rater", "attribute", "value"],
    )  # fmt: skip


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_an_objective_is_the_coefficient_of_its_name(name: str) -> None:
    rng = np.random.default_rng(3)
    x = rng.integers(1, 6, 40).astype(float)
    y = np.clip(x + rng.integers(-1, 3, 40), 1, 5)
    table = two_raters(x, y)
    wanted = agreement(table, resamples=10, levels={"a": "ordinal"}).attributes["a"][COEFFICIENTS[name]].value

    scale = AnswerScale.of(LIKERT)
    alone = OBJECTIVES[name].value(x[None, :], y[None, :], scale)
    gap = np.where(np.arange(41) == 40, np.nan, np.append(x, 0.0))
    with_gap = OBJECTIVES[name].value(gap[None, :], np.append(y, 3.0)[None, :], scale)
    many = OBJECTIVES[name].value(np.array([x, 6 - x]), np.broadcast_to(y, (2, 40)), scale)
    # Of two arms held against the same people, each left other cases open.
    some = np.append(x[:30], np.full(10, np.nan))
    apart = OBJECTIVES[name].value(np.array([some, x]), np.broadcast_to(y, (2, 40)), scale)

    assert [alone[0], with_gap[0], many[0], apart[1]] == pytest.approx([wanted] * 4, abs=1e-9)
    assert apart[0] == pytest.approx(OBJECTIVES[name].value(x[None, :30], y[None, :30], scale)[0], abs=1e-9)


def test_taus_of_few_and_of_many_values_are_scipys_and_of_one_there_is_none() -> None:
    rng = np.random.default_rng(5)
    yes, few, many = rng.integers(0, 2, 90), rng.integers(1, 4, 90), rng.random(90)
    for x, y in ((yes, few), (few, yes), (many, many[::-1]), (few, many)):
        wanted = kendalltau(x, y).statistic
        assert OBJECTIVES["kendall"].value(x[None].astype(float), y[None].astype(float), AnswerScale.of(LIKERT))[0] == pytest.approx(wanted)  # fmt: skip
    assert np.isnan(OBJECTIVES["kendall"].value(np.ones((1, 90)), few[None].astype(float), AnswerScale.of(LIKERT))[0])  # fmt: skip


def test_alpha_takes_the_scales_level() -> None:
    rng = np.random.default_rng(4)
    x = rng.integers(1, 4, 30).astype(float)
    y = np.where(rng.random(30) < 0.7, x, rng.integers(1, 4, 30))
    found = agreement(two_raters(x, y), resamples=10).attributes["a"]

    nominal = OBJECTIVES["alpha"].value(x[None, :] - 1, y[None, :] - 1, AnswerScale.of(WORDS))
    interval = OBJECTIVES["alpha"].value(x[None, :], y[None, :], AnswerScale.of(ONE_TO_FIVE))

    assert nominal[0] == pytest.approx(found["alpha_nominal"].value, abs=1e-9)
    assert interval[0] == pytest.approx(found["alpha_interval"].value, abs=1e-9)


@pytest.mark.parametrize("scale", [LIKERT, WORDS])
def test_a_jury_with_one_seat_more_answers_as_its_weights_say(scale: Scale) -> None:
    rng = np.random.default_rng(6)
    votes = rng.integers(0, 3, (50, 5)).astype(float)
    votes[rng.random(votes.shape) < 0.1] = np.nan
    seen = ScoredVotes(
        votes, votes[:, 0], np.zeros(50, dtype=np.int64), np.arange(50), (AnswerScale.of(scale),)
    )
    seats = np.array([0, 1, 0, 2.1, 0])

    grown = seen.answers_with_a_seat(seats, np.array([0, 1, 4]), 0.9)
    weighed = seen.answers(seats + 0.9 * np.eye(5)[[0, 1, 4]])

    assert np.allclose(grown, weighed, equal_nan=True, atol=1e-12)


def test_costs_choose_the_judge_whose_mistakes_are_cheap() -> None:
    """Two judges are right as often; one misses what is dear to miss, the other raises false alarms."""
    rng = np.random.default_rng(2)
    truth = np.repeat([0, 1], 60)
    missing = np.where((truth == 1) & (rng.random(120) < 0.4), 0, truth)
    alarmed = np.where((truth == 0) & (rng.random(120) < 0.4), 1, truth)
    scale = Scale(
        level="binary",
        anchors={0: "no", 1: "yes"},
        costs=CostMatrix.model_validate({0: {0: 0, 1: -1}, 1: {0: -10, 1: 0}, "abstention": -3}),
    )
    answers = AnswerScale.of(scale)
    rows = np.vstack([missing, alarmed, np.full(120, np.nan)]).astype(float)
    every = np.broadcast_to(truth.astype(float), rows.shape)

    worth = objective("costs").score(rows, every, answers)
    kappa = objective("kappa").score(rows[:2], every[:2], answers)

    assert abs(kappa[0] - kappa[1]) < 0.15 and worth[1] > worth[0] + 1
    assert worth[2] == pytest.approx(-3)
    votes = scored_votes(rows[:2].T, truth.astype(float), ["a"] * 120, np.arange(120), {"a": answers})
    assert set(votes.constant(objective("costs"))) == {1.0}


def test_words_earn_what_their_costs_say_whatever_their_place_in_the_alphabet() -> None:
    costs = {"yes": {"yes": 1, "no": -10, "maybe": 0}, "no": {"yes": -1, "no": 1, "maybe": 0}, "maybe": {"yes": 0, "no": 0, "maybe": 1}, "abstention": -3}  # fmt: skip
    scale = Scale(
        level="nominal",
        anchors={word: word for word in ("yes", "no", "maybe")},
        costs=CostMatrix.model_validate(costs),
    )
    table = pd.DataFrame(
        {
            "attribute": "a",
            "value": ["yes", "no", "maybe", "no", "yes"],
            "truth": ["yes", "no", "maybe", "yes", "no"],
        }
    )
    questions = {"a": Question(scale, "high")}
    said, right = (
        codes(table.assign(value=table[name]), questions).to_numpy(float) for name in ("value", "truth")
    )
    worth = objective("costs").score(said[None], right[None], AnswerScale.of(scale))
    assert worth[0] == pytest.approx((1 + 1 + 1 - 10 - 1) / 5)


def test_the_mean_over_attributes_is_of_those_on_which_the_objective_is_defined() -> None:
    """On the second attribute people always say the same, so that nothing can be ranked there."""
    rng = np.random.default_rng(9)
    truth = np.concatenate([rng.normal(size=12), np.full(8, 2.0)])
    votes = truth[:, None] + rng.normal(size=(20, 2))
    seen = ScoredVotes(votes, truth, np.repeat([0, 1], [12, 8]), np.arange(20), (AnswerScale.of(ONE_TO_FIVE),) * 2)  # fmt: skip
    spearman = [pd.Series(column[:12]).corr(pd.Series(truth[:12]), method="spearman") for column in votes.T]

    assert seen.scores(votes.T, OBJECTIVES["spearman"]) == pytest.approx(spearman)
    errors = np.abs(votes - truth[:, None])
    both = -(errors[:12].mean(axis=0) + errors[12:].mean(axis=0)) / 2
    assert seen.scores(votes.T, OBJECTIVES["mae"]) == pytest.approx(both)


@pytest.mark.parametrize(("scale", "given", "legal"), [(LIKERT, [0.2, 1.5, 2.51, 9, np.nan], [1, 1, 3, 5, np.nan]), (ONE_TO_FIVE, [1.5, np.nan], [1.5, np.nan]), (TWO, [0.5, 0.6], [0, 1])])  # fmt: skip
def test_an_answer_is_the_nearest_legal_one(scale: Scale, given: list[float], legal: list[float]) -> None:
    assert AnswerScale.of(scale).legal(np.array(given)) == pytest.approx(np.array(legal), nan_ok=True)


def test_credit_is_nearness_on_a_scale_with_an_order_and_a_missing_word_is_a_miss() -> None:
    said, truth = np.array([[1.0, 3.0, np.nan, 5.0]]), np.array([[2.0, 3.0, 4.0, 1.0]])
    assert OBJECTIVES["credit"].value(said, truth, AnswerScale.of(LIKERT))[0] == pytest.approx(1 - (1 + 0 + 4) / 3 / 4)  # fmt: skip
    words = OBJECTIVES["credit"].value(np.array([[0.0, 1.0, np.nan, 2.0]]), np.array([[0.0, 2.0, 1.0, np.nan]]), AnswerScale.of(WORDS))  # fmt: skip
    assert words[0] == pytest.approx(1 / 3)
    assert OBJECTIVES["mae"].score(said, truth, AnswerScale.of(LIKERT))[0] == pytest.approx(-5 / 3)
    assert OBJECTIVES["mae"].fits(AnswerScale.of(LIKERT)) and not OBJECTIVES["mae"].fits(
        AnswerScale.of(WORDS)
    )
    assert not OBJECTIVES["costs"].fits(AnswerScale.of(LIKERT)) and OBJECTIVES["kappa"].fits(AnswerScale.of(WORDS))  # fmt: skip


def test_answers_are_weighed_means_or_the_weightiest_word_of_those_who_answered() -> None:
    votes = np.array(
        [[1.0, 5.0, 3.0], [2.0, np.nan, 4.0], [np.nan, np.nan, np.nan], [0.0, 1.0, 1.0], [2.0, 1.0, 0.0]]
    )
    seen = scored_votes(votes, np.zeros(5), ["a", "a", "a", "b", "b"], np.arange(5), {"a": AnswerScale.of(LIKERT), "b": AnswerScale.of(WORDS)})  # fmt: skip
    found = seen.answers(np.array([[0.5, 0.25, 0.25], [0.2, 0.2, 0.6], equal_weights([0, 1, 2], 3)]))

    assert found[0] == pytest.approx([2.5, 2 * 2 / 3 + 4 / 3, np.nan, 0, 2], nan_ok=True)
    assert found[1] == pytest.approx([3.0, 0.25 * 2 + 0.75 * 4, np.nan, 1, 0], nan_ok=True)
    # Of three words with a vote each that of the first member counts.
    assert found[2, 3:].tolist() == [1, 2]
    assert seen.constant(OBJECTIVES["kappa"]).tolist() == [0.0] * 5
    told = replace(seen, truth=np.array([1.0, 2.0, 5.0, 2.0, 2.0]))
    assert told.constant(OBJECTIVES["kappa"]).tolist() == [2.0, 2.0, 2.0, 2.0, 2.0]
    part = told.at(np.array([0, 3]))
    assert (part.truth.tolist(), part.attribute.tolist(), part.cluster.tolist(), part.votes.tolist()) == ([1.0, 2.0], [0, 1], [0, 3], votes[[0, 3]].tolist())  # fmt: skip
    masked = told.scores(np.array([[1.0, 5.0, 5.0, 2.0, 0.0]] * 2), OBJECTIVES["credit"], np.array([[1.0] * 5, [1, 0, 1, 1, 0]]))  # fmt: skip
    assert masked == pytest.approx([(0.75 + 0.5) / 2, 1.0])
