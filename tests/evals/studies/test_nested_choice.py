"""Nested validation: what is chosen without a case owes nothing to it, in the outer folds and in the inner ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import lsq_linear, minimize
from scipy.stats import rankdata, spearmanr, t

from venire.evals.comparison.objectives import OBJECTIVES, AnswerScale, ScoredVotes
from venire.evals.ratings.folds import Fold, folds
from venire.evals.studies.attribute_choice import (
    _blocks,
    _onto_simplex,
    choose,
    composed_arms,
    ordering_weights,
    simplex_weights,
    usual_answers,
)

RNG = np.random.default_rng
SIZES = (1, 3, 5)


def guessing_votes(seed: int, n: int = 60) -> ScoredVotes:
    rng = RNG(seed)
    scale = AnswerScale(level="interval", steps=np.array([]), width=4.0)
    return ScoredVotes(
        votes=rng.normal(3, 1, (n, 6)),
        truth=rng.normal(3, 1, n),
        attribute=np.zeros(n, dtype=np.int64),
        cluster=np.arange(n),
        scales=(scale,),
    )


@pytest.mark.parametrize("objective", ["spearman", "mae"])
def test_arms_are_fitted_and_preferred_without_the_held_out_cases(objective: str) -> None:
    """Every fit is told which questions it may learn from; the answers to those held out must not be among them."""
    votes = guessing_votes(3)
    votes = replace(votes, truth=np.arange(60.0))
    learn = composed_arms(OBJECTIVES[objective], 3)
    seen: list[frozenset[float]] = []

    def fit(some: ScoredVotes) -> dict[str, np.ndarray]:
        seen.append(frozenset(some.truth))
        return dict(learn(some))

    outer = folds(votes.cluster, 3, RNG(0))
    choose(votes, outer, OBJECTIVES[objective], fit, rng=RNG(0))

    assert len(seen) == (len(outer) + 1) * 6
    for number, fold in enumerate(outer):
        inside, held = set(fold.chosen_on.astype(float)), set(fold.held_out.astype(float))
        whole, *inner = seen[6 * number : 6 * number + 6]
        assert whole == inside
        assert all(part < whole and not part & held for part in inner)
        # Each question is left out of one inner fit, and learned from in the other four.
        assert sorted(value for part in inner for value in part) == sorted([*inside] * 4)


def one_scale(
    votes: np.ndarray, truth: np.ndarray, scale: AnswerScale, cluster: np.ndarray | None = None
) -> ScoredVotes:
    n = len(truth)
    return ScoredVotes(
        votes, truth, np.zeros(n, dtype=np.int64), np.arange(n) if cluster is None else cluster, (scale,)
    )


INTERVAL = AnswerScale(level="interval", steps=np.array([]), width=4.0)
NOMINAL = AnswerScale(level="nominal", steps=np.arange(3.0), width=1.0)


@pytest.mark.parametrize("ridge", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_weights_on_the_simplex_are_where_a_general_optimiser_puts_them(seed: int, ridge: float) -> None:
    rng = RNG(seed)
    truth = rng.normal(3, 1, 50)
    votes = truth[:, None] + rng.normal(0.2, [0.5, 0.8, 1.5, 3.0], (50, 4))
    found = simplex_weights(votes, truth, ridge=ridge)

    strength = ridge * np.mean((votes - truth[:, None]) ** 2, axis=0).mean()

    def loss(weights: np.ndarray) -> float:
        return float(np.mean((votes @ weights - truth) ** 2) + strength * ((weights - 0.25) ** 2).sum())

    best = minimize(loss, np.full(4, 0.25), bounds=[(0, 1)] * 4, constraints={"type": "eq", "fun": lambda w: w.sum() - 1}, method="SLSQP", options={"ftol": 1e-12})  # fmt: skip
    assert found.sum() == pytest.approx(1) and (found >= 0).all()
    assert found == pytest.approx(best.x, abs=2e-3)
    assert loss(found) <= loss(best.x) + 1e-6


@pytest.mark.parametrize("ranked", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_weights_that_order_are_a_ridge_regression_without_negative_ones(seed: int, ranked: bool) -> None:
    """Votes and truth are centred within each attribute; the ridge draws towards the best equal weights."""
    rng = RNG(seed)
    attribute = np.repeat([0, 1], [40, 20])
    truth = rng.normal(3, 1, 60) + 5 * attribute
    votes = truth[:, None] + rng.normal(0.2, [0.5, 0.8, 1.5], (60, 3))
    found = ordering_weights(votes, truth, attribute, ridge=0.3, ranked=ranked)

    x, y = votes.copy(), truth.copy()
    for place in (0, 1):
        rows = attribute == place
        goal = rankdata(truth[rows]) / rows.sum() if ranked else truth[rows]
        x[rows], y[rows] = votes[rows] - votes[rows].mean(axis=0), goal - goal.mean()
    mean = x.mean(axis=1)
    strength = 0.3 * (x**2).mean(axis=0).mean()
    anchor = np.full(3, max(mean @ y / (mean @ mean), 0.0) / 3)
    stacked = np.vstack([x / np.sqrt(60), np.sqrt(strength) * np.eye(3)])
    best = lsq_linear(stacked, np.concatenate([y / np.sqrt(60), np.sqrt(strength) * anchor]), (0, np.inf), tol=1e-14).x  # fmt: skip
    assert found == pytest.approx(best / best.sum(), abs=1e-5)


def test_with_fewer_than_three_answered_questions_weights_are_equal_and_a_missing_vote_is_the_others_mean() -> (
    None
):
    votes = np.array([[1.0, 2.0], [3.0, np.nan], [np.nan, np.nan], [4.0, 5.0]])
    truth = np.array([1.0, 3.0, 2.0, np.nan])
    one = np.zeros(4, dtype=np.int64)
    for weights in (simplex_weights(votes, truth, ridge=0), ordering_weights(votes, truth, one, ridge=0, ranked=False)):  # fmt: skip
        assert weights.tolist() == [0.5, 0.5]
    gap, filled = np.array([[1.0, 3.0, np.nan], [2.0, 1.0, 4.0], [4.0, 5.0, 3.0], [5.0, 4.0, 4.0]]), None
    filled = np.where(np.isnan(gap), 2.0, gap)
    truth = np.array([2.0, 2.0, 4.0, 5.0])
    assert simplex_weights(gap, truth, ridge=0.1) == pytest.approx(simplex_weights(filled, truth, ridge=0.1))
    assert ordering_weights(gap, truth, one, ridge=0.1, ranked=True) == pytest.approx(ordering_weights(filled, truth, one, ridge=0.1, ranked=True))  # fmt: skip
    # Votes that go against the truth leave nobody with a weight, and so equal ones.
    assert ordering_weights(-filled[:, :2], truth, one, ridge=0.0, ranked=False).tolist() == [0.5, 0.5]


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=6))
def test_the_nearest_point_of_the_simplex_is_no_further_than_any_other(values: list[float]) -> None:
    point = np.array(values)
    found = _onto_simplex(point)
    others = RNG(0).dirichlet(np.ones(len(point)), 200)

    assert found.sum() == pytest.approx(1) and (found >= 0).all()
    assert ((found - point) ** 2).sum() <= ((others - point) ** 2).sum(axis=1).min() + 1e-9


def steps_by_hand(votes: np.ndarray, truth: np.ndarray, largest: int, score: Callable[[np.ndarray], float]) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Caruana's forward steps with replacement over plain means, nine seats at the most."""
    jurors = votes.shape[1]
    seats = [max(range(jurors), key=lambda j: score(votes[:, j]))]
    best, highest = list(seats), score(votes[:, seats[0]])
    for _ in range(8):
        joining = range(jurors) if len(set(seats)) < largest else sorted(set(seats))
        seats.append(max(joining, key=lambda j: score(votes[:, [*seats, j]].mean(axis=1))))
        if score(votes[:, seats].mean(axis=1)) > highest + 1e-9:
            best, highest = list(seats), score(votes[:, seats].mean(axis=1))
    single = np.eye(jurors)[seats[0]]
    return single, np.bincount(best, minlength=jurors) / len(best)


@pytest.mark.parametrize("largest", [1, 2, 5])
@pytest.mark.parametrize("seed", range(3))
def test_a_jury_by_steps_is_the_one_that_counting_by_hand_gives(seed: int, largest: int) -> None:
    rng = RNG(seed)
    truth = rng.normal(3, 1, 30)
    votes = truth[:, None] + rng.normal(0, [0.9, 1.0, 1.1, 1.2, 5.0], (30, 5))
    arms = composed_arms(OBJECTIVES["mae"], largest)(one_scale(votes, truth, INTERVAL))
    single, jury = steps_by_hand(votes, truth, largest, lambda said: -float(np.abs(said - truth).mean()))

    assert arms["single judge"] == pytest.approx(single)
    assert arms["jury by steps"] == pytest.approx(jury)
    assert arms["all jurors"] == pytest.approx(np.full(5, 0.2), abs=1e-5)
    for ridge in (0.1, 0.3):
        assert arms[f"weights (ridge {ridge})"] == pytest.approx(simplex_weights(votes, truth, ridge=ridge))
    assert list(arms) == ["single judge", "jury by steps", "all jurors", "weights (ridge 0.1)", "weights (ridge 0.3)"]  # fmt: skip
    ranked = composed_arms(OBJECTIVES["kendall"], largest)(one_scale(votes, truth, INTERVAL))
    for ridge in (0.1, 0.3):
        wanted = ordering_weights(votes, truth, np.zeros(30, dtype=np.int64), ridge=ridge, ranked=True)
        assert ranked[f"weights (ridge {ridge})"] == pytest.approx(wanted)
    spearman = steps_by_hand(votes, truth, largest, lambda said: spearmanr(said, truth).statistic)[1]
    assert ranked["jury by steps"] == pytest.approx(spearman)


def test_words_have_no_weights_and_who_never_answers_is_no_judge() -> None:
    truth = np.tile(np.arange(3.0), 20)
    votes = np.column_stack([np.full(60, np.nan), np.where(np.arange(60) % 5 == 0, (truth + 1) % 3, truth)])
    arms = composed_arms(OBJECTIVES["kappa"], 2)(one_scale(votes, truth, NOMINAL))

    assert set(arms) == {"single judge", "jury by steps", "all jurors"}
    assert arms["single judge"].tolist() == [0, 1]


def fixed_arms(**arms: list[float]) -> Callable[[ScoredVotes], dict[str, np.ndarray]]:
    return lambda votes: {name.replace("_", " "): np.array(weights) for name, weights in arms.items()}


def held_out_votes(seed: int = 0, n: int = 48) -> tuple[np.ndarray, np.ndarray]:
    rng = RNG(seed)
    truth = rng.normal(3, 1, n)
    return truth[:, None] + rng.normal(0, [0.6, 0.7, 0.8], (n, 3)), truth


def jackknife_t(left_out: np.ndarray, value: float, widening: float) -> tuple[float, float, float, float]:
    """The delete-a-group jackknife of a textbook: low, high, p and error."""
    g = len(left_out)
    error = np.sqrt((g - 1) / g * ((left_out - left_out.mean()) ** 2).sum()) * widening
    reach = t.ppf(0.975, g - 1) * error
    return value - reach, value + reach, 2 * t.sf(abs(value) / error, g - 1), error


@pytest.mark.parametrize("rounds", [1, 2])
def test_a_choice_among_fixed_arms_has_their_held_out_values_and_a_textbook_jackknifes_intervals(rounds: int) -> None:  # fmt: skip
    votes, truth = held_out_votes()
    cluster = np.arange(48) // 2
    seen = one_scale(votes, truth, INTERVAL, cluster)
    parts = [fold for number in range(rounds) for fold in folds(cluster, 4, RNG(number))]
    fit = fixed_arms(single_judge=[1.0, 0, 0], all_jurors=[1 / 3, 1 / 3, 1 / 3])
    found = choose(seen, parts, OBJECTIVES["mae"], fit, rng=RNG(0))
    errors = {"single": np.abs(votes[:, 0] - truth), "jury": np.abs(votes.mean(axis=1) - truth)}

    assert found.jury is not None and (found.jury.name, found.single.name) == ("all jurors", "single judge")
    assert (found.single.value.n, found.clusters) == (48, 24)
    # Each of four folds is held against the other three: Nadeau and Bengio's 1 + 4/3.
    widening = np.sqrt(1 + 4 * 12 / 36)
    kept = cluster[None, :] != np.arange(24)[:, None]
    means = {name: np.array([gaps[rows].mean() for rows in kept]) for name, gaps in errors.items()}
    for arm, name in ((found.single, "single"), (found.jury, "jury")):
        low, high, _, _ = jackknife_t(means[name], errors[name].mean(), widening)
        assert [arm.value.value, arm.naive] == pytest.approx([errors[name].mean()] * 2)
        assert (arm.value.low, arm.value.high) == pytest.approx((max(low, 0), high))
        assert arm.measures["mae"] == pytest.approx(errors[name].mean())
    said = votes.mean(axis=1)
    assert found.jury.measures["spearman"] == pytest.approx(spearmanr(said, truth).statistic)
    gap = errors["single"].mean() - errors["jury"].mean()
    low, high, p, error = jackknife_t(means["single"] - means["jury"], gap, widening)
    assert (found.gain.value, found.gain.low, found.gain.high) == pytest.approx((gap, low, high))
    assert (found.p, found.error) == pytest.approx((p, error))
    assert found.gain.method == "delete-a-group jackknife of 24 groups" and found.gain.confidence == 0.95
    assert found.best.name == "all jurors" and found.pays == (low > 0)
    assert found.over_constant.value > 0 and found.over_constant.low > 0


def test_one_test_set_is_not_widened_and_a_constant_is_learned_where_arms_are() -> None:
    votes, truth = held_out_votes(1)
    seen = one_scale(votes, truth, INTERVAL)
    fold = Fold(np.arange(24), np.arange(24, 48))
    found = choose(seen, [fold], OBJECTIVES["mae"], fixed_arms(single_judge=[1.0, 0, 0], all_jurors=[0.2, 0.4, 0.4]), rng=RNG(0), confidence=0.9)  # fmt: skip
    test = np.arange(24, 48)
    errors = np.abs(votes[test, 0] - truth[test])
    jury = np.abs(votes[test] @ [0.2, 0.4, 0.4] - truth[test])
    usual = np.abs(np.median(truth[:24]) - truth[test])

    assert found.single.value.value == pytest.approx(errors.mean()) and found.single.value.n == 24
    assert found.single.naive == pytest.approx(np.abs(votes[:24, 0] - truth[:24]).mean())
    left_out = np.array([np.delete(errors, n).mean() for n in range(24)])
    error = np.sqrt(23 / 24 * ((left_out - left_out.mean()) ** 2).sum())
    reach = t.ppf(0.95, 23) * error
    assert (found.single.value.low, found.single.value.high) == pytest.approx((errors.mean() - reach, errors.mean() + reach))  # fmt: skip
    assert found.over_constant.value == pytest.approx(usual.mean() - jury.mean())


def test_without_a_jury_there_is_no_gain_and_arms_that_never_differ_have_p_1() -> None:
    votes, truth = held_out_votes(2)
    seen = one_scale(votes, truth, INTERVAL)
    parts = folds(seen.cluster, 4, RNG(0))
    alone = choose(seen, parts, OBJECTIVES["mae"], fixed_arms(single_judge=[1.0, 0, 0]), rng=RNG(0))
    assert alone.jury is None and not alone.gain.defined and np.isnan(alone.p) and not alone.pays
    assert alone.gain.n == 48 and alone.best.name == "single judge" and "no jury" in alone.gain.note
    # A jury by steps that seats one juror is the judge alone.
    lone = choose(seen, parts, OBJECTIVES["mae"], fixed_arms(single_judge=[1.0, 0, 0], jury_by_steps=[1.0, 0, 0]), rng=RNG(0))  # fmt: skip
    assert lone.jury is None and lone.best.name == "single judge"
    same = choose(seen, parts, OBJECTIVES["mae"], fixed_arms(single_judge=[1.0, 0, 0], all_jurors=[1.0, 0, 0]), rng=RNG(0))  # fmt: skip
    assert (same.gain.value, same.p, same.error) == (0.0, 1.0, 0.0) and np.isnan(same.gain.low)
    assert not same.pays and "same whichever group" in same.gain.note


def test_the_jury_by_steps_gives_way_only_to_an_arm_that_beats_it_by_more_than_a_standard_error() -> None:
    """The first two err in turn and alike, so that their shares hardly matter; the third errs on all cases."""
    rng = RNG(3)
    truth = rng.normal(3, 1, 60)
    odd = np.arange(60) % 2
    votes = np.column_stack([truth + odd, truth + 1 - odd, truth + rng.normal(0, 3, 60)])
    seen = one_scale(votes, truth, INTERVAL)
    parts = folds(seen.cluster, 4, RNG(0))
    steps, close, poor = [0.6, 0.4, 0.0], [0.4, 0.6, 0.0], [0.3, 0.3, 0.4]
    for arms, best in (
        ({"jury_by_steps": steps, "all_jurors": close}, "jury by steps"),
        ({"jury_by_steps": close, "all_jurors": steps}, "jury by steps"),
        ({"jury_by_steps": poor, "all_jurors": steps}, "all jurors"),
        ({"jury_by_steps": steps, "all_jurors": poor}, "jury by steps"),
    ):
        found = choose(seen, parts, OBJECTIVES["mae"], fixed_arms(single_judge=[0.0, 0.0, 1.0], **arms), rng=RNG(0))  # fmt: skip
        assert found.best.name == best and found.jury is not None and found.jury.name == best
        assert found.best.weights.tolist() == arms[best.replace(" ", "_")]
    judged = choose(seen, parts, OBJECTIVES["mae"], fixed_arms(single_judge=[1.0, 0.0, 0.0], all_jurors=poor), rng=RNG(0))  # fmt: skip
    assert judged.best.name == "single judge" and judged.jury is not None and judged.jury.name == "all jurors"
    assert judged.gain.value < 0 and not judged.pays


def test_a_jury_pays_only_where_it_is_shown_to_beat_a_constant_too() -> None:
    votes, truth = held_out_votes()
    choice = choose(one_scale(votes, truth, INTERVAL), folds(np.arange(48), 4, RNG(0)), OBJECTIVES["mae"], fixed_arms(single_judge=[1.0, 0, 0], all_jurors=[0.3, 0.3, 0.4]), rng=RNG(0))  # fmt: skip
    for gain_low, constant_low, pays in ((0.1, 0.1, True), (0.1, np.nan, True), (0.1, 0.0, False), (0.1, -0.1, False), (0.0, 0.1, False), (-0.1, 0.1, False), (np.nan, 0.1, False)):  # fmt: skip
        made = replace(choice, gain=replace(choice.gain, low=gain_low), over_constant=replace(choice.over_constant, low=constant_low))  # fmt: skip
        assert made.pays is pays


def test_the_usual_answer_is_that_of_the_cases_to_choose_on_by_attribute() -> None:
    votes = np.zeros((6, 1))
    train = ScoredVotes(votes, np.array([1.0, 2, 5, 7, 7, 8]), np.array([0, 0, 0, 1, 1, 1]), np.arange(6), (INTERVAL, INTERVAL))  # fmt: skip
    test = ScoredVotes(votes[:4], np.array([9.0, 9, 9, 9]), np.array([1, 0, 2, 1]), np.arange(4), (INTERVAL, INTERVAL, INTERVAL))  # fmt: skip

    assert usual_answers(train, test, OBJECTIVES["mae"]) == pytest.approx([7, 2, np.nan, 7], nan_ok=True)


def test_clusters_are_left_out_in_a_hundred_groups_at_the_most() -> None:
    assert _blocks(np.array([5, 5, 9, 7])).tolist() == [0, 0, 2, 1]
    many = _blocks(np.arange(250))
    assert many.max() == 99 and np.bincount(many).min() == 2 and np.bincount(many).max() == 3


def test_too_few_groups_or_an_objective_that_is_undefined_have_no_interval() -> None:
    votes, truth = held_out_votes(n=48)
    fit = fixed_arms(single_judge=[1.0, 0, 0], all_jurors=[0.3, 0.3, 0.4])
    two = one_scale(votes, truth, INTERVAL, np.arange(48) % 2)
    found = choose(two, [Fold(np.arange(0, 48, 2), np.arange(1, 48, 2))], OBJECTIVES["mae"], fit, rng=RNG(0))
    assert found.single.value.defined and np.isnan(found.single.value.low) and "undefined" in found.single.value.note  # fmt: skip
    assert np.isnan(found.p)
    flat = one_scale(np.full((48, 3), 2.0), truth, INTERVAL)
    none = choose(flat, folds(flat.cluster, 4, RNG(0)), OBJECTIVES["spearman"], fit, rng=RNG(0))
    assert np.isnan(none.single.value.value) and none.single.value.n == 48 and np.isnan(none.p)
