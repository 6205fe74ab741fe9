"""What a jury is worth in independent votes: published judges, planted herding, and the ends of the scale."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from shared_data import shared_file

from venire.evals.audits.independence import (
    _right_or_wrong,
    _sentence,
    effective_number,
    effective_votes,
    independence_section,
    independence_table,
    independent_majority,
    votes_by_round,
)
from venire.evals.ratings.published_data import llmbar
from venire.evals.ratings.question import Question
from venire.rubrics.scale import Scale


def jury(rng: np.random.Generator, cases: int, jurors: int, shared: float) -> tuple[pd.DataFrame, pd.Series]:
    """Jurors of whom each follows one common guess on the share `shared` of cases, and errs alone on the others."""
    labels = pd.Series(rng.integers(0, 2, cases), index=[f"c{number}" for number in range(cases)])
    common = rng.random(cases) < 0.7
    right = np.where(rng.random((cases, jurors)) < shared, common[:, None], rng.random((cases, jurors)) < 0.7)
    values = np.where(right, labels.to_numpy()[:, None], 1 - labels.to_numpy()[:, None])
    table = pd.DataFrame(values, index=labels.index, columns=[f"j{number}" for number in range(jurors)])
    long = table.rename_axis(index="case", columns="juror").stack().rename("value").reset_index()
    return long, labels


def test_jurors_who_err_apart_are_worth_their_number() -> None:
    found = effective_votes(*jury(np.random.default_rng(0), 20_000, 5, 0.0))

    assert found.kish == pytest.approx(5, abs=0.15) and found.eigenvalues == pytest.approx(5, abs=0.05)
    assert found.majority == pytest.approx(found.independent, abs=0.01)
    assert found.independent == pytest.approx(0.837, abs=0.01)


def test_jurors_who_always_agree_are_one() -> None:
    found = effective_votes(*jury(np.random.default_rng(0), 500, 5, 1.0))

    assert found.kish == pytest.approx(1) and found.eigenvalues == pytest.approx(1)
    assert found.majority == pytest.approx(next(iter(found.accuracy.values())))


def test_jurors_who_err_in_turn_are_worth_more_than_their_number_and_it_says_why() -> None:
    labels = pd.Series(1, index=[f"c{number}" for number in range(12)])
    votes = pd.DataFrame(
        [
            (case, j, int(n % 4 != turn))
            for n, case in enumerate(labels.index)
            for turn, j in enumerate("abc")
        ],
        columns=["case", "juror", "value"],
    )
    found = effective_votes(votes, labels)

    assert found.correlation == pytest.approx(-1 / 3) and found.kish == pytest.approx(9)
    assert (
        found.note
        == "the jurors are worth more independent votes than there are jurors, because their being right is negatively correlated (-0.33)"
    )


@pytest.mark.parametrize(("kish", "told"), [(2.3, True), (2.96, False), (3.1, False), (np.nan, False)])
def test_a_cause_is_told_only_of_jurors_that_are_worth_less_than_they_are(kish: float, told: bool) -> None:
    rows = pd.DataFrame(
        [{"jurors": 3, "kish": kish, "eigenvalues": 2.9, "majority": 0.4, "independent": 0.4, "cases": 9}]
    )
    assert ("because they tend to be right on the same cases" in _sentence("j", "x", rows)) == told


def test_herding_lowers_it_round_by_round() -> None:
    rng = np.random.default_rng(3)
    labels = pd.Series(rng.integers(0, 2, 400), index=[f"c{number}" for number in range(400)])
    right = rng.random((400, 5)) < 0.7
    rounds = []
    for number in (1, 2, 3):
        values = np.where(right, labels.to_numpy()[:, None], 1 - labels.to_numpy()[:, None])
        table = pd.DataFrame(values, index=labels.index, columns=list("abcde"))
        long = table.rename_axis(index="case", columns="juror").stack().rename("value").reset_index()
        rounds.append(long.assign(round=number))
        follows = rng.random(right.shape) < 0.5
        right = np.where(follows, right[:, :1], right)
    found = votes_by_round(pd.concat(rounds), labels)

    assert (np.diff(found["kish"]) < -0.3).all() and (np.diff(found["eigenvalues"]) < -0.2).all()
    assert (np.diff(found["correlation"]) > 0).all()
    assert found["right_to_wrong"].tolist()[0] == 0 and (found["right_to_wrong"][1:] > 0).all()
    assert (found["wrong_to_right"][1:] > 0).all()


def test_a_tie_is_half_right_and_an_abstention_is_wrong() -> None:
    votes = pd.DataFrame(
        [("x", "a", 1), ("x", "b", 2), ("y", "a", 1), ("y", "b", None), ("w", "a", 2), ("w", "b", 2)],
        columns=["case", "juror", "value"],
    )
    found = effective_votes(votes, pd.Series({"x": 1, "y": 1, "w": 2, "z": 2}))

    assert found.cases == 3 and found.accuracy == {"a": 1.0, "b": pytest.approx(1 / 3)}
    assert found.majority == pytest.approx(2.5 / 3)
    assert (
        found.note
        == "1 juror left out, because a juror who is right on all cases or on none has no errors to compare"
    )


@pytest.mark.parametrize("wrong", ["", "a"])
def test_jurors_who_never_err_do_not_show_whether_they_err_apart(wrong: str) -> None:
    labels = pd.Series(1, index=[f"c{number}" for number in range(12)])
    votes = pd.DataFrame(
        [(case, j, int(not (case == "c0" and j == wrong))) for case in labels.index for j in "abc"],
        columns=["case", "juror", "value"],
    )
    found = effective_votes(votes, labels)

    assert np.isnan([found.kish, found.eigenvalues, found.correlation]).all()
    assert (
        found.note
        == f"{2 if wrong else 3} jurors left out, because a juror who is right on all cases or on none has no errors to compare"
    )


def test_a_juror_who_never_errs_changes_nothing_in_how_far_the_others_err_apart() -> None:
    votes, labels = jury(np.random.default_rng(4), 600, 3, 0.5)
    sure = pd.DataFrame({"case": labels.index, "juror": "sure", "value": labels.to_numpy()})
    without, beside = (effective_votes(table, labels) for table in (votes, pd.concat([votes, sure])))

    assert beside.correlation == pytest.approx(without.correlation)
    assert beside.kish == pytest.approx(4 / (1 + 3 * without.correlation))


def test_what_a_juror_was_not_asked_has_no_part_in_its_correlations() -> None:
    votes, labels = jury(np.random.default_rng(5), 4000, 4, 0.5)
    whole = effective_votes(votes, labels)
    drawn = np.random.default_rng(6).random(len(votes)) < 0.6
    some, blank = votes[drawn], votes.assign(value=votes["value"].where(drawn))

    assert effective_votes(some, labels).kish == pytest.approx(whole.kish, rel=0.05)
    assert effective_votes(some, labels).accuracy["j0"] == pytest.approx(whole.accuracy["j0"], abs=0.02)
    assert effective_votes(blank, labels).accuracy["j0"] == pytest.approx(
        0.6 * whole.accuracy["j0"], abs=0.02
    )


def test_an_abstention_takes_back_no_earlier_vote() -> None:
    votes = pd.DataFrame(
        [("x", "a", 1, 1), ("x", "b", 1, 1), ("x", "a", None, 2), ("y", "a", None, 1), ("y", "b", 1, 1)],
        columns=["case", "juror", "value", "round"],
    )
    found = votes_by_round(votes, pd.Series({"x": 1, "y": 1}))

    assert found["right_to_wrong"].tolist() == [0, 0] and found["majority"].tolist() == [1, 1]
    assert found["kish"].isna().all() and found["note"].str.startswith("2 cases with a label").all()


@pytest.mark.parametrize(
    ("accuracy", "expected"), [([0.7], 0.7), ([0.6, 0.6], 0.6), ([0.7] * 3, 0.784), ([1, 0], 0.5), ([], 0.5)]
)
def test_condorcet(accuracy: list[float], expected: float) -> None:
    assert independent_majority(np.array(accuracy, dtype=float)) == pytest.approx(expected)


def test_no_label_at_all_is_said() -> None:
    votes = pd.DataFrame([("x", "a", 1), ("x", "b", 2)], columns=["case", "juror", "value"])
    found = effective_votes(votes, pd.Series(dtype=float))

    assert found.cases == 0 and np.isnan(found.majority) and np.isnan(found.independent)
    assert "0 cases with a label" in found.note


def test_six_judges_of_llmbar_are_worth_two() -> None:
    recording = llmbar(shared_file("llmbar"))
    votes = recording.judgements
    vanilla = votes[votes["juror"].str.endswith("/Vanilla") & (votes["repeat"] == 0)]
    found = effective_votes(vanilla, recording.people.set_index("case")["value"])

    assert (found.jurors, found.cases) == (6, 419)
    assert (
        f"{found.kish:.2f} {found.majority:.3f} {found.accuracy['GPT-4/Vanilla']:.3f}" == "2.13 0.553 0.828"
    )
    assert f"{found.eigenvalues:.2f} {found.independent:.3f}" == "3.44 0.627"


@pytest.mark.parametrize("r", [-0.2, 0.0, 0.3, 1.0])
def test_columns_with_one_correlation_are_worth_kishs_number(r: float) -> None:
    correlations = np.full((4, 4), r)
    found = effective_number(correlations)

    assert found.kish == pytest.approx(4 / (1 + 3 * r))
    eigenvalues = np.linalg.eigvalsh(np.where(np.eye(4), 1.0, correlations))
    assert found.participation == pytest.approx(eigenvalues.sum() ** 2 / (eigenvalues**2).sum())
    assert (found.correlation, found.unknown) == (pytest.approx(r), 0)
    gap = correlations.copy()
    gap[0, 1] = gap[1, 0] = np.nan
    assert effective_number(gap).unknown == 1 and effective_number(gap).kish == pytest.approx(found.kish)
    assert (
        np.isnan(effective_number(np.full((4, 4), -0.4)).kish) and effective_number(np.ones((1, 1))).kish == 1
    )


def test_a_vote_is_right_within_half_a_step_and_a_blank_one_is_neither_right_nor_wrong() -> None:
    five = Question(
        Scale.model_validate({"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}}), "high"
    )
    word = Question(Scale.model_validate({"level": "nominal", "anchors": {"a": "", "b": ""}}), "high")
    votes = pd.DataFrame(
        [("c1", "x", 3), ("c1", "x", 4), ("c1", "x", None), ("c2", "x", 3), ("c1", "w", "a"), ("c1", "w", "b"), ("c3", "x", 3)],
        columns=["case", "attribute", "value"],
    )  # fmt: skip
    truth = pd.DataFrame([("c1", "x", 3.5), ("c2", "x", 4.0), ("c1", "w", "a")], columns=["case", "attribute", "value"])  # fmt: skip
    found = _right_or_wrong(votes, truth, {"x": five, "w": word})

    assert found["labelled"].tolist() == [True] * 6 + [False]
    assert found["value"].tolist() == pytest.approx([1, 1, np.nan, 0, 1, 0, np.nan], nan_ok=True)


def test_juries_of_two_seats_or_more_are_told_of_from_the_first_round_to_the_last() -> None:
    """Of four cases x is right on three and y on two; in the second round y turns to what x said of the last."""
    five = Question(Scale.model_validate({"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}}), "high")  # fmt: skip
    said = {"x": (3, 3, 3, 5), "y": (3, 5, 3, 3), "lone": (3, 3, 3, 3)}
    rows = [("jury" if juror != "lone" else "single", f"c{n}", juror, "a", 1, value) for juror, values in said.items() for n, value in enumerate(values)]  # fmt: skip
    rows += [("jury", "c3", "y", "a", 2, 5), ("jury", "c1", "y", "a", 2, 3), ("jury", "none", "x", "a", 1, 3)]
    rounds = pd.DataFrame(rows, columns=["arm", "case", "juror", "attribute", "round", "value"])
    truth = pd.DataFrame({"case": [f"c{n}" for n in range(4)], "attribute": "a", "value": 3.0})
    table = independence_table(rounds, truth, {"a": five})

    assert table[["arm", "round", "jurors", "cases"]].to_numpy().tolist() == [["jury", 1, 2, 4], ["jury", 2, 2, 4]]  # fmt: skip
    assert table["majority"].tolist() == [pytest.approx((1 + 0.5 + 1 + 0.5) / 4), pytest.approx(3 / 4)]
    assert table[["right_to_wrong", "wrong_to_right"]].to_numpy().tolist() == [[0, 0], [1, 1]]
    section = independence_section(rounds, truth, {"a": five})
    assert section is not None
    (told,) = section.sentences
    assert "majority is right in 75% of 4 cases" in told and "After the first round they were worth" in told
    assert "the majority was right in 75% of cases. In later rounds 1 vote went from wrong to right and 1 from right to wrong." in told  # fmt: skip
    assert told.startswith("jury, a: 2 jurors are worth 1.0 independent votes, because they tend") and "worth 3.0 independent votes, and" in told  # fmt: skip
    twice = pd.concat([rounds, rounds.assign(arm="other")])
    (one, rest) = independence_section(twice, truth, {"a": five}, most=1).sentences  # type: ignore[union-attr]
    assert one == told and rest.endswith("only in the table: 1.")
    assert independence_section(rounds[rounds["arm"] == "single"], truth, {"a": five}) is None
