"""Counting rules on votes alone: numbers by hand, and what no order of ballots and no abstention may change."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venire import Jury, VenireError
from venire.agents.orchestrator import Finding
from venire.orchestration.counting import Tally, counting_rule
from venire.orchestration.counting.averages import majority_preference, mode, trimmed_mean
from venire.orchestration.counting.dawid_skene import (
    SMOOTHING,
    Learned,
    _furthest,
    _majority,
    _maximise,
    learn,
)
from venire.orchestration.counting.rule import plain
from venire.orchestration.counting.weighted import reliability
from venire.rubrics.scale import NOT_APPLICABLE, Scale, Value

FIVE = Scale.model_validate({"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}})
METRES = Scale.model_validate({"level": "interval", "minimum": 0, "maximum": 10})
PREFERENCE = Scale.model_validate({"level": "ordinal", "anchors": {n: str(n) for n in (-1, 0, 1)}})
TWO = Scale.model_validate({"level": "binary", "anchors": {0: "no", 1: "yes"}})
COLOURS = Scale.model_validate({"level": "nominal", "anchors": {"red": "", "green": "", "blue": ""}})
NAMED = Scale.model_validate({"level": "nominal", "anchors": {1: "", "red": ""}})
RULES = ("mean", "median", "mode", "trimmed", "weighted", "dawid-skene")


def tally(
    *votes: Value, scale: Scale = FIVE, case: str = "c", finding: Finding | None = None, **jury: object
) -> Tally:
    cast = {f"j{number}": vote for number, vote in enumerate(votes)}
    return tally_of(cast, scale, case=case, finding=finding, **jury)


def tally_of(cast: dict[str, Value], scale: Scale = FIVE, *, case: str = "c", finding: Finding | None = None, **jury: object) -> Tally:  # fmt: skip
    seats = [{"name": name, "model": "scripted"} for name in dict.fromkeys(n.partition("#")[0] for n in cast)]
    made = Jury.model_validate({"name": "j", "seats": seats or [{"name": "a"}], "quorum": 1, **jury})
    return Tally(case, "x", scale, cast, finding, made)


def counted(name: str, one: Tally, run: list[Tally] | None = None) -> tuple[Value | None, str]:
    found = counting_rule(name).over(run or [one])(one)
    return found.value, found.method


@pytest.mark.parametrize(
    ("votes", "preferred"),
    [
        ((-1, -1, 1), -1),
        ((-2, -2, 1, 1), 0),
        ((-1, -1, 1, 2, 2), 2),
        ((-2, -2, -1, 1, 1), -2),
        ((-1, 0, 1), 0),
        ((-2, -1), 0),
        ((-2, -2, -1, -1, 0), -1),
    ],
)
def test_of_preferences_as_common_the_one_nearest_the_median_counts_and_between_two_as_near_neither(
    votes: tuple[int, ...], preferred: int
) -> None:
    assert majority_preference(votes) == preferred
    assert majority_preference([-vote for vote in votes]) == -preferred


@pytest.mark.parametrize("rule", ["mode", "weighted"])
def test_a_tie_between_two_outputs_is_for_neither(rule: str) -> None:
    tied = tally(-1, 1, scale=PREFERENCE, weights={"j0": 1.0})
    assert counted(rule, replace(tied, compares=True)) == (0, rule)
    more = tally(-1, 1, 1, scale=PREFERENCE, weights={"j0": 1.0})
    assert counted(rule, replace(more, compares=True)) == (1, rule)


@pytest.mark.parametrize(
    ("rule", "votes", "value"),
    [
        ("mean", (1, 2, 5), 8 / 3),
        ("mean", (1, 3), 2),
        ("median", (1, 2, 5), 2),
        ("median", (1, 4), 2.5),
        ("median", (2, 4), 3),
        ("mode", (1, 5, 5), 5),
        ("mode", (1, 2, 5), 2),
        ("mode", (1, 1, 3, 5, 5), 1),
        ("mode", (1, 1, 4, 5, 5), 5),
        ("trimmed", (1, 2, 2, 5), 2),
        ("trimmed", (1, 2, 5), 2),
        ("trimmed", (1, 4), 2.5),
    ],
)
def test_numbers_are_counted_as_their_rule_says(rule: str, votes: tuple[int, ...], value: float) -> None:
    found, method = counted(rule, tally(*votes))
    assert (found, method) == (pytest.approx(value), rule)
    assert isinstance(found, int) is (float(value).is_integer())


def test_a_whole_number_is_one_only_where_all_votes_are() -> None:
    assert counted("mean", tally(1.5, 2.5, scale=METRES)) == (2.0, "mean")
    assert isinstance(plain([1.5, 2.5], 2.0), float) and isinstance(plain([1, 3], 2.0), int)
    assert plain([1, 2], 1.5) == 1.5


@pytest.mark.parametrize("rule", ["mean", "median", "mode", "trimmed"])
def test_words_are_counted_by_the_commonest_and_a_tie_goes_to_the_first_of_the_alphabet(rule: str) -> None:
    assert counted(rule, tally("red", "red", "blue", scale=COLOURS)) == ("red", "mode")
    assert counted(rule, tally("red", "green", scale=COLOURS)) == ("green", "mode")
    assert counted(rule, tally("red", 1, scale=NAMED)) == (1, "mode"), "a number among words is one of them"


def test_a_binary_tie_is_hung_by_the_median_and_not_by_what_has_a_rule_for_it() -> None:
    assert counted("median", tally(0, 1, scale=TWO)) == (None, "none")
    tied = tally(0, 1, scale=TWO)
    assert counting_rule("median").over([tied])(tied).why.startswith("the votes are tied")
    assert counted("median", tally(0, 0, 1, 1, scale=TWO)) == (None, "none")
    assert counted("median", tally(0, 1, 1, scale=TWO)) == (1, "median")
    assert counted("median", tally(0, 0, 1, scale=TWO)) == (0, "median")
    assert counted("mode", tally(0, 1, scale=TWO)) == (0, "mode")
    assert counted("mean", tally(0, 1, scale=TWO))[0] in (0, 0.5)


@pytest.mark.parametrize("rule", RULES)
def test_fewer_than_a_quorum_are_hung_by_every_rule_and_a_quorum_is_not(rule: str) -> None:
    few = counting_rule(rule).over([tally(3, NOT_APPLICABLE, quorum=2)])(tally(3, NOT_APPLICABLE, quorum=2))
    assert (few.value, few.method) == (None, "none") and few.why.startswith(
        "too few jurors said that the question applies: 1 of the 2"
    )
    assert counted(rule, tally(3, 3, NOT_APPLICABLE, quorum=2))[0] == 3


def test_the_trimmed_mean_drops_one_at_each_end() -> None:
    assert trimmed_mean([9, 1, 2, 3]) == 2.5 and trimmed_mean([1, 9]) == 5 and trimmed_mean([4]) == 4


def test_a_tie_of_modes_goes_to_the_one_nearest_the_median_and_then_to_the_lower() -> None:
    assert mode([2, 4]) == mode([4, 2]) == 2
    assert mode([5, 5, 1, 1, 4]) == 5
    assert mode([3]) == 3
    assert counted("majority", tally(1, 5, 5)) == (5, "mode")
    with pytest.raises(VenireError, match="counting rule"):
        counting_rule("plurality-of-fives")


@given(st.lists(st.integers(1, 5), min_size=1, max_size=7), st.sampled_from(RULES), st.randoms())
def test_no_rule_depends_on_the_order_of_ballots(votes: list[int], rule: str, order: object) -> None:
    cast: dict[str, Value] = {f"j{number}": vote for number, vote in enumerate(votes)}
    names = list(cast)
    order.shuffle(names)  # type: ignore[attr-defined]

    assert counted(rule, tally_of(cast)) == counted(rule, tally_of({name: cast[name] for name in names}))


@given(st.lists(st.integers(1, 5), min_size=1, max_size=7), st.sampled_from(RULES))
def test_who_finds_that_it_does_not_apply_moves_no_value(votes: list[int], rule: str) -> None:
    assert counted(rule, tally(*votes)) == counted(rule, tally(*votes, NOT_APPLICABLE))


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=9),
    st.sampled_from(["mean", "median", "mode", "trimmed"]),
)
def test_every_value_lies_among_the_votes_and_goes_with_the_scale_turned_round(
    votes: list[int], rule: str
) -> None:
    value = counted(rule, tally(*votes))[0]
    assert isinstance(value, int | float) and min(votes) <= value <= max(votes)
    if rule != "mode":
        assert counted(rule, tally(*(6 - vote for vote in votes)))[0] == pytest.approx(6 - value)


def test_weights_of_the_jury_file_count_and_a_seat_without_one_weighs_one() -> None:
    one = tally(1, 5, 5, weights={"j0": 3.0})
    assert counted("weighted", one) == (pytest.approx((3 * 1 + 5 + 5) / 5), "weighted")
    assert counted("weighted", tally(1, 5, weights={"j0": 0.0})) == (5, "weighted")
    assert counted("weighted", tally(1, weights={"j0": 0.0})) == (None, "none")
    unweighed = tally(1, weights={"j0": 0.0})
    assert (
        counting_rule("weighted").over([unweighed])(unweighed).why == "every juror who voted has the weight 0"
    )
    assert counted("weighted", tally("red", "blue", "blue", scale=COLOURS, weights={"j0": 3.0})) == ("red", "weighted")  # fmt: skip
    assert counted("weighted", tally("red", "blue", scale=COLOURS, weights={"j0": 1.0})) == (
        "blue",
        "weighted",
    )


def test_repeats_of_a_judge_weigh_as_the_judge_does() -> None:
    one = tally_of({"a#1": 1, "a#2": 1, "b": 5}, weights={"a": 2.0})
    assert counted("weighted", one)[0] == pytest.approx((2 + 2 + 5) / 5)
    assert set(reliability([one])) == {"a", "b"}
    assert reliability([tally_of({"a#1": "red", "a#2": "red", "b": "blue"}, COLOURS)]) == {"a": 0.5, "b": 0.0}


def test_reliability_is_how_near_a_juror_is_to_the_others_on_the_length_of_the_scale() -> None:
    run = [tally(1, 1, 5, case="c1"), tally(2, 3, 3, case="c2")]
    found = reliability(run)
    assert found["j0"] == pytest.approx(((1 - 2 / 4) + (1 - 1 / 4)) / 2)
    assert found["j1"] == pytest.approx(((1 - 2 / 4) + (1 - 0.5 / 4)) / 2)
    assert found["j2"] == pytest.approx(((1 - 4 / 4) + (1 - 0.5 / 4)) / 2)
    words = reliability([tally("red", "red", "blue", scale=COLOURS)])
    assert words == {"j0": 0.5, "j1": 0.5, "j2": 0.0}
    assert reliability([tally(3)]) == {}
    # Who votes alone on one case is weighed by the others.
    assert reliability([tally(3), tally(1, 5, case="c2")]) == {"j0": 0.0, "j1": 0.0}


def test_estimated_weights_are_those_of_the_whole_run() -> None:
    run = [tally(1, 1, 5, case=f"c{n}") for n in range(3)]
    weights = reliability(run)
    value = (weights["j0"] + weights["j1"] + 5 * weights["j2"]) / sum(weights.values())
    assert counted("weighted", run[0], run)[0] == pytest.approx(value)
    assert value < 7 / 3


@pytest.mark.parametrize("good", [0, 2])
def test_dawid_skene_follows_those_who_agree_across_the_run(good: int) -> None:
    """Two jurors who see the same and one who answers at random: where it stands alone, it is outvoted, and in doubt unheard."""
    truth = [1, 5, 1, 5, 5, 1, 1, 5, 1, 5, 5, 1]
    noise = [1, 1, 5, 5, 1, 5, 1, 1, 5, 5, 1, 5]
    pair = [number for number in range(3) if number != 2 - good]
    run = []
    for number, (true, odd) in enumerate(zip(truth, noise, strict=True)):
        votes = {f"j{n}": (true if n in pair else odd) for n in range(3)}
        run.append(tally_of(dict(votes), case=f"c{number}"))
    assert [counted("dawid-skene", one, run)[0] for one in run] == truth
    two = tally_of({f"j{pair[0]}": 1, f"j{2 - good}": 5}, case="new")
    assert counted("dawid-skene", two, [*run, two])[0] == 1


def test_a_maximisation_is_the_shares_of_what_is_believed_and_of_what_each_juror_said_under_it() -> None:
    """Two cases, the first believed to be 3 parts of 4 the first answer; both jurors give it the first, and the second the second."""
    votes = [[("a", 0), ("b", 0)], [("a", 1), ("b", 0)]]
    model = _maximise(votes, [(0.75, 0.25), (0.0, 1.0)], (1, 5))
    e = SMOOTHING

    priors = [(e + 0.75) / (2 * e + 2), (e + 1.25) / (2 * e + 2)]
    assert list(map(math.exp, model.priors)) == pytest.approx(priors)
    first, second = ([math.exp(cell) for cell in row] for row in model.errors["a"])
    assert first == pytest.approx([(e + 0.75) / (2 * e + 0.75), (e + 0.25) / (2 * e + 1.25)])
    assert second == pytest.approx([e / (2 * e + 0.75), (e + 1.0) / (2 * e + 1.25)])
    weights = [priors[0] * first[0], priors[1] * first[1]]
    assert model.beliefs([("a", 0)]) == pytest.approx([weight / sum(weights) for weight in weights])
    # Of a juror who was never met nothing is known: its vote leaves what is common.
    assert model.beliefs([("stranger", 0)]) == pytest.approx(priors)


def test_learning_goes_on_until_nothing_changes() -> None:
    run = [
        tally(1, 1, 5, case="c1"),
        tally(5, 5, 5, case="c2"),
        tally(1, 5, 5, case="c3"),
        tally(1, 1, 1, case="c4"),
    ]
    model = learn(run)
    places = {vote: at for at, vote in enumerate(FIVE.values)}
    votes = [[(name, places[vote]) for name, vote in one.votes.items()] for one in run]
    beliefs = [model.beliefs(each) for each in votes]
    again = _maximise(votes, beliefs, FIVE.values)

    assert model.answers == FIVE.values
    assert all(sum(each) == pytest.approx(1) for each in beliefs)
    assert _furthest(beliefs, [again.beliefs(each) for each in votes]) < 1e-4
    assert _furthest([(0.25, 0.75)], [(0.5, 0.5)]) == 0.25


def test_of_two_answers_that_are_as_likely_the_lower_is_given() -> None:
    assert counted("dawid-skene", tally(1, 5)) == (1, "dawid-skene")
    assert counted("dawid-skene", tally(5, 1)) == (1, "dawid-skene")
    # The likeliest need not be likely.
    assert counted("dawid-skene", tally(5, 5, 3, 1, 2)) == (5, "dawid-skene")


def test_it_starts_from_the_majority_and_small_likelihoods_do_not_vanish() -> None:
    assert _majority([("a", 0), ("b", 0), ("c", 2)], 3) == (2 / 3, 0, 1 / 3)
    unlikely = Learned((1, 5), (-800.0, -800.0 + math.log(3)), {})
    assert unlikely.beliefs([]) == pytest.approx((0.25, 0.75))


def test_any_number_is_no_answer_to_learn_errors_of() -> None:
    with pytest.raises(VenireError, match=r"'x' takes any number.*\n.*median"):
        counted("dawid-skene", tally(1.5, scale=METRES))
