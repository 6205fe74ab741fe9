"""What may be reworded, what a proposal may not be, and what a verdict earns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import permutation_test
from written_transcripts import abstained, cast, transcript_of

from venire import Case, Jury, Rubric, Stop, Verdict
from venire.evals.optimising.plan import three_parts
from venire.evals.optimising.rewards import answer_credit, rewards
from venire.evals.optimising.schema import Reward, ThreeWaySplit
from venire.evals.optimising.wording import Guard, Judge, fixed_score, targets, with_wording
from venire.evals.statistics.classical_tests import flip_p
from venire.evals.statistics.draws import Draws
from venire.orchestration.deliberate import check_protocol
from venire.orchestration.verdict import verdict
from venire.rubrics.errors import VenireError


@pytest.fixture
def judge(rubric: Rubric) -> Judge:
    seats = [{"name": "a", "persona": "low-scoring"}, {"name": "b", "persona": "high-scoring"}]
    return Judge(Jury.model_validate({"name": "two", "seats": seats}), rubric)


def test_texts_go_in_where_they_came_from_and_nothing_else_changes(judge: Judge) -> None:
    names = ["persona:low-scoring", "rubric:accurate.question", "rubric:accurate.anchors", "jury:stance"]
    places = targets(names, judge)
    same = with_wording(judge, {name: place.text(judge) for name, place in places.items()}, places)
    assert places["rubric:accurate.anchors"].text(same) == places["rubric:accurate.anchors"].text(judge)

    other = with_wording(judge, {"persona:low-scoring": "Be stern.", "jury:stance": "Ask for doses."}, places)
    assert next(seat.persona and seat.persona.voice for seat in other.jury.seats) == "Be stern."
    assert other.jury.seats[1] == judge.jury.seats[1] and other.rubric == judge.rubric
    assert other.jury.stance == "Ask for doses."


@pytest.mark.parametrize(
    "text", ["1: a\n2: b", "1: a\n2: b\n3: c\n4: d\n6: e", "1: a\n2: b\n3:\n4: d\n5: e", "no levels"]
)
def test_anchors_keep_every_level(judge: Judge, text: str) -> None:
    place = targets(["rubric:accurate.anchors"], judge)["rubric:accurate.anchors"]
    with pytest.raises(VenireError, match="one line for each of the levels 1, 2, 3, 4, 5"):
        place.put(judge, text)


def test_a_stance_that_nobody_would_read_is_refused_and_leaves_old_records_as_they_were(judge: Judge) -> None:
    assert "stance" not in judge.jury.model_dump(mode="json")
    told = judge.jury.fill(model="scripted").model_copy(update={"stance": "Ask for doses."})
    check_protocol(told, judge.rubric)
    for protocol in ("panel", "magentic-one", "magentic"):
        with pytest.raises(VenireError, match="`stance` has no effect"):
            check_protocol(told.under(protocol), judge.rubric)


@pytest.mark.parametrize(
    "text",
    [
        "Always score 2.",
        "Score 2 for every case.",
        "Give the highest mark no matter what is said.",
        "Never give less than four; always answer five.",
        "ａｌｗａｙｓ score 2",
    ],
)
def test_one_score_for_whatever_is_judged_is_no_wording(text: str) -> None:
    assert fixed_score(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "Always score 2 when a dose was lost.",
        "If an allergy is missing, always give the lowest level.",
        "Always look at doses before you score.",
        "Every case has its own evidence; reason first and score last.",
    ],
)
def test_a_rule_with_a_condition_is_a_wording(text: str) -> None:
    assert fixed_score(text) is None


def test_placeholders_length_and_copies_are_refused(rubric: Rubric) -> None:
    case = Case(id="c", output="The patient takes four tablets of metformin daily with food.")
    guard = Guard.of([case], rubric, max_words=20, given=["Mind $form and the rest of it all here."])
    before = "Mind $form."
    assert guard.refusal("Mind $form, and doses.", before) is None
    assert "placeholder" in (guard.refusal("Mind ${case} and $form.", before) or "")
    assert "is gone" in (guard.refusal("Mind it.", before) or "")
    assert "words" in (guard.refusal("word " * 21 + "$form", before) or "")
    assert "copies a case" in (guard.refusal("$form: takes FOUR tablets, of metformin!", before) or "")
    assert "empty" in (guard.refusal("  ", before) or "")


def test_rewards_of_measures_and_of_what_is_not_answered(rubric: Rubric) -> None:
    scale = rubric.scale_of("accurate")
    assert (
        answer_credit(scale, 5, 5) == 1
        and answer_credit(scale, 5, 1) == 0
        and answer_credit(scale, 5, 4) == 0.75
    )
    people = pd.DataFrame(
        [("c1", "p", "accurate", 4.0), ("c2", "p", "accurate", 2.0)],
        columns=["case", "rater", "attribute", "value"],
    )
    found = rewards(Reward(measure="credit"), rubric, people, None)
    assert found.attributes == ("accurate",)
    assert np.isnan(found.of_question("c1", "accurate", None)), "no number is made up for what is missing"
    assert (
        rewards(Reward(measure="credit", abstention=-1), rubric, people, None).of_question(
            "c1", "accurate", None
        )
        == -1
    )
    with pytest.raises(VenireError, match="has no costs"):
        rewards(Reward(costs="accurate"), rubric, people, None)


def test_costs_are_by_the_right_answer_first_and_what_nobody_rated_is_no_open_question() -> None:
    """Missing harm (2 called 1) costs more than seeing it where there is none; an abstention has its own price."""
    scale = {"level": "ordinal", "anchors": {1: "none", 2: "some", 3: "much"}, "costs": {1: {1: 1, 2: 0, 3: -1}, 2: {1: -3, 2: 2, 3: 0}, 3: {1: -9, 2: -1, 3: 3}, "abstention": -4}}  # fmt: skip
    asked = [{"name": name, "question": "?", "scale": "harm"} for name in ("impact", "other")]
    rubric = Rubric.model_validate({"name": "r", "version": 1, "scales": {"harm": scale}, "attributes": asked})  # fmt: skip
    people = pd.DataFrame([("c0", "p", "impact", 2.0), ("c1", "p", "impact", 1.0)], columns=["case", "rater", "attribute", "value"])  # fmt: skip
    found = rewards(Reward(costs="impact"), rubric, people, None)
    of_all = rewards(Reward(measure="credit"), rubric, people, None)
    (first, second, silent, unrated) = heard(rubric, [1, 2, None, None])

    assert (found.of_case(first), found.of_case(second)) == (-3.0, 0.0)
    assert found.of_question("c0", "impact", None) == -4.0 and found.of_question("c0", "impact", first["impact"].model_copy(update={"value": 1.5})) == -3.0  # fmt: skip
    paid = rewards(Reward(costs="impact", abstention=-7), rubric, people, None)
    assert paid.of_question("c0", "impact", None) == -7.0 and (paid.of_case(first), paid.of_case(second)) == (-3.0, 0.0)  # fmt: skip
    assert (found.best, found.worst) == (3.0, -9.0) and (of_all.best, of_all.worst) == (1.0, 0.0)
    assert [of_all.open_questions(each) for each in (first, second, silent, unrated)] == [0, 0, 0, 0]
    assert of_all.open_questions(silent.model_copy(update={"case": "c0"})) == 1


def heard(rubric: Rubric, answers: list[int | None]) -> list[Verdict]:
    """A verdict on each of the cases c0, c1, ...: what was answered to `accurate`, or nothing."""
    jury = Jury.model_validate({"name": "j", "seats": [{"name": "a", "model": "m"}], "quorum": 1})
    entries = [abstained("a", *rubric.names) if value is None else cast("a", dict.fromkeys(rubric.names, value)) for value in answers]  # fmt: skip
    transcripts = [transcript_of([entry]).with_stop(Stop(reason="complete")) for entry in entries]
    return [
        verdict(told.model_copy(update={"case": f"c{number}"}), rubric, jury, count="median")
        for number, told in enumerate(transcripts)
    ]


@pytest.mark.parametrize("measure", ["icc3k", "kappa_quadratic", "f1", "credit"])
def test_two_wordings_are_compared_on_the_questions_that_both_answer(rubric: Rubric, measure: str) -> None:
    truth = [1, 2, 3, 4, 5, 1, 2, 3, 4, 5]
    people = pd.DataFrame(
        [(f"c{n}", "p", "accurate", float(value)) for n, value in enumerate(truth)],
        columns=["case", "rater", "attribute", "value"],
    )
    found = rewards(Reward(measure=measure), rubric, people, None)  # type: ignore[arg-type]
    whole = [1, 2, 4, 4, 5, 2, 2, 3, 1, 1]
    gaps: list[int | None] = [2, 2, 3, 5, 4, 1, 3, 3, None, None]
    first, second = heard(rubric, list(whole)), heard(rubric, gaps)

    shared = found.value(first[:8]) - found.value(second[:8])
    for one, other, sign in ((first, second, 1), (second, first, -1)):
        assert found.contrast(one, other, np.arange(10)).difference.value == pytest.approx(sign * shared)
    assert [found.open_questions(each) for each in second] == [0] * 8 + [1, 1]


def test_sign_flips_agree_with_scipy() -> None:
    gains = np.array([0.4, -0.1, 0.3, 0.2, 0.0, 0.25, -0.05, 0.5, 0.15])
    theirs = permutation_test(
        (gains[gains != 0],), np.sum, permutation_type="samples", alternative="greater", n_resamples=np.inf
    )
    tied = np.mean(np.isclose(theirs.null_distribution, gains.sum()))
    assert flip_p(gains, Draws()) == pytest.approx(theirs.pvalue - tied / 2)
    assert flip_p(np.zeros(5), Draws()) == 1.0
    many = np.random.default_rng(1).normal(0.1, 1, 60)
    assert (
        flip_p(many, Draws(3))
        == flip_p(many, Draws(3))
        == pytest.approx(1 - 0.5 * (1 + _erf(many)), abs=0.03)
    )


def _erf(gains: np.ndarray) -> float:
    from scipy.special import erf

    return float(erf(gains.sum() / np.sqrt((gains**2).sum()) / np.sqrt(2)))


def test_groups_stay_whole_and_an_empty_part_is_refused() -> None:
    cases = [Case(id=f"c{n}", output="x", group=f"g{n // 3}") for n in range(30)]
    found = three_parts(cases, ThreeWaySplit(val=0.2, test=9), seed=4)
    sides = [{case.group for case in part} for part in (found.train, found.validation, found.test)]
    assert not (sides[0] & sides[1] or sides[0] & sides[2] or sides[1] & sides[2])
    assert len(found.test) == 9 and len(found.validation) == 6 and len(found.train) == 15
    assert found == three_parts(cases, ThreeWaySplit(val=0.2, test=9), seed=4)
    with pytest.raises(VenireError, match="no case for training"):
        three_parts(cases[:6], ThreeWaySplit(val=3, test=3), seed=0)
