"""Yes-or-no questions in a comparison: the paper's counts, people among themselves, conditional questions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from venire import Rubric
from venire.evals.audits.yes_no import MAJORITY, yes_no_section
from venire.evals.ratings.evidence import Evidence
from venire.evals.ratings.question import rubric_questions

RUBRIC = Rubric.model_validate(
    {
        "name": "concordance",
        "version": 1,
        "scales": {
            "agree": {"level": "binary", "anchors": {0: "Discordant", 1: "Concordant"}},
            "choice": {"level": "nominal", "anchors": {"ai": "AI", "human": "Human"}},
            "five": {"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}},
        },
        "attributes": [
            {"name": "concordant", "question": "The same?", "scale": "agree"},
            {"name": "preference", "question": "Which?", "scale": "choice", "asked_if": {"concordant": 1}},
            {"name": "clear", "question": "Clear?", "scale": "five"},
        ],
    }
)
TRUTH = np.repeat([1, 0], 20)


def rows(rater: str, attribute: str, values: object) -> pd.DataFrame:
    given = list(values)  # type: ignore[call-overload]
    return pd.DataFrame(
        {"case": [f"k{n}" for n in range(len(given))], "rater": rater, "attribute": attribute, "value": given}
    )


def predicted(tp: int, fp: int, fn: int, tn: int) -> np.ndarray:
    return np.repeat([1, 0, 1, 0], [tp, fn, fp, tn])


def evidence(people: list[pd.DataFrame], arms: list[pd.DataFrame]) -> Evidence:
    seated = pd.concat(arms, ignore_index=True)
    return Evidence(
        arms=seated,
        people=pd.concat(people, ignore_index=True),
        questions=rubric_questions(RUBRIC),
        cases=pd.DataFrame({"case": sorted(set(seated["case"])), "group": None}),
        costs=pd.DataFrame(),
        stops=pd.DataFrame(),
        kinds=dict.fromkeys(seated["rater"], "single judge"),
        rubrics=dict.fromkeys(seated["rater"], RUBRIC),
    )


@pytest.fixture(scope="module")
def people() -> list[pd.DataFrame]:
    first, third = TRUTH.copy(), TRUTH.astype(float)
    first[:4] = 0
    third[20:23], third[30:] = 1, np.nan
    return [
        rows("p1", "concordant", first),
        rows("p2", "concordant", TRUTH),
        rows("p3", "concordant", third).dropna(),
        rows("p2", "preference", ["ai"] * 15 + ["human"] * 5 + ["ai"] * 20),
    ]


def test_the_papers_counts_give_the_papers_figures(people: list[pd.DataFrame]) -> None:
    arms = [
        rows("judge", "concordant", predicted(20, 5, 0, 15)),
        rows("dtv", "concordant", predicted(16, 8, 4, 12)),
    ]
    section = yes_no_section(evidence(people, arms))
    assert section is not None

    table = section.tables["metrics"].set_index(["rater", "metric"])["value"]
    assert table["judge", "f1"] == pytest.approx(0.889, abs=5e-4)
    assert table["dtv", "kappa"] == pytest.approx(0.400)
    assert table["judge", "sensitivity"] == 1.0 and table["dtv", "precision"] == pytest.approx(2 / 3)
    assert table[MAJORITY, "accuracy"] == 1.0
    assert len(section.figures) == 1
    assert any("dtv said yes 24 times (16 right, 8 wrong) and no 16 times (12 right, 4 wrong)" in words for words in section.sentences)  # fmt: skip


def test_people_stand_against_the_majority_and_each_other_each_on_their_own_cases(
    people: list[pd.DataFrame],
) -> None:
    section = yes_no_section(evidence(people, [rows("judge", "concordant", TRUTH)]))
    assert section is not None

    pairs = section.tables["pairs"].set_index(["first", "second"])
    assert pairs["n"][MAJORITY, "p1"] == 40 and pairs["n"]["p1", "p3"] == 30
    assert pairs["value"][MAJORITY, "p2"] == 1.0
    (panel,) = section.tables["people"].to_dict("records")
    assert (panel["unanimous"], panel["rated_by_all"], panel["tied"]) == (23, 30, 0)
    assert (panel["yes_by_majority"], panel["no_by_majority"], panel["unanimous_share"]) == (20, 20, 23 / 30)
    assert any("on 23 of the 30 cases that all of them answered (76.7%)" in words for words in section.sentences)  # fmt: skip


def test_a_conditional_question_counts_only_where_its_person_met_the_condition(
    people: list[pd.DataFrame],
) -> None:
    section = yes_no_section(evidence(people, [rows("judge", "concordant", TRUTH)]))
    assert section is not None

    shares = section.tables["conditional"].set_index(["rater", "value"])
    assert (shares["count"]["p2", "ai"], shares["n"]["p2", "ai"]) == (15, 20)
    assert shares["low"]["all", "ai"] == pytest.approx(0.531, abs=1e-3)  # Wilson, 15 of 20.


def test_without_a_question_of_two_values_there_is_no_section() -> None:
    assert yes_no_section(evidence([rows("p1", "clear", [3] * 4)], [rows("j", "clear", [2] * 4)])) is None


def test_a_tied_majority_and_a_jury_halfway_are_left_out() -> None:
    people = [rows("p1", "concordant", [1, 1, 0, 0]), rows("p2", "concordant", [1, 0, 0, 0])]
    section = yes_no_section(evidence(people, [rows("jury", "concordant", [1, 1, 0.5, 0])]))
    assert section is not None

    mine = section.tables["metrics"].query("rater == 'jury' and metric == 'accuracy'")
    assert mine["n"].item() == 2


def test_a_case_that_no_arm_scored_is_not_among_those_that_people_agree_on() -> None:
    people = [rows("p1", "concordant", [1, 1, 0, 0]), rows("p2", "concordant", [1, 1, 0, 1])]
    section = yes_no_section(evidence(people, [rows("jury", "concordant", [1, 1, 0])]))
    assert section is not None

    (panel,) = section.tables["people"].to_dict("records")
    assert (panel["cases"], panel["yes_by_majority"], panel["no_by_majority"], panel["tied"]) == (3, 2, 1, 0)
    assert (panel["unanimous"], panel["rated_by_all"]) == (3, 3)


def test_an_arm_on_other_cases_and_one_person_alone_are_said_and_have_no_figures() -> None:
    late = rows("late", "concordant", [1, 1, 0, 1]).iloc[3:]
    section = yes_no_section(evidence([rows("p1", "concordant", [1, 0, 1])], [rows("jury", "concordant", [1, 0, 0]), late]))  # fmt: skip
    assert section is not None

    told = section.sentences
    assert len(told) == 3 and "only one person answered" in told[0]
    assert "jury said yes 1 times (1 right, 0 wrong) and no 2 times (1 right, 1 wrong)" in told[1]
    assert told[2] == "concordant: late and people's majority have no case in common."


def test_a_case_without_a_readable_answer_is_no_tie() -> None:
    people = [rows("p1", "concordant", [1, 1, 0.5, 0]), rows("p2", "concordant", [1, 0, 0.5, 0])]
    section = yes_no_section(evidence(people, [rows("jury", "concordant", [1, 1, 1, 0])]))
    assert section is not None

    (panel,) = section.tables["people"].to_dict("records")
    assert (panel["cases"], panel["tied"], panel["yes_by_majority"], panel["no_by_majority"]) == (4, 1, 1, 1)


def test_of_two_conditional_questions_each_is_told_with_its_own_shares(people: list[pd.DataFrame]) -> None:
    fields = RUBRIC.model_dump()
    fields["attributes"] = [*fields["attributes"], {"name": "harm", "question": "?", "scale": "agree", "asked_if": {"concordant": 0}}]  # fmt: skip
    rubric = Rubric.model_validate(fields)
    given = evidence([*people, rows("p2", "harm", [1] * 25 + [0] * 15)], [rows("judge", "concordant", TRUTH)])
    found = replace(given, questions=rubric_questions(rubric), rubrics={"judge": rubric})
    section = yes_no_section(found)
    assert section is not None

    first, second = section.sentences[-2:]
    assert first.startswith("preference (asked only if concordant is 1): people gave 20 answers: ai 75.0% (")
    assert second.startswith("harm (asked only if concordant is 0): people gave 20 answers: 0 75.0% (")
    assert "1 25.0% (" in second and "ai" not in second.partition(": ")[2]
