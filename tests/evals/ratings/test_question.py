"""What a rating answers: the scale that ratings seem to have, which values are legal, and what answers are worth."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from juror_worlds import LIKERT, ONE_TO_FIVE, TWO, WORDS

from venire.evals.ratings.question import (
    RewardTable,
    assumed_question,
    class_places,
    half_step,
    nearest_legal,
    off_scale,
    rubric_questions,
)
from venire.rubrics import Rubric
from venire.rubrics.scale import CostMatrix, Scale, Value

NAN = float("nan")
RISK = Scale(
    level="ordinal",
    anchors={0: "none", 1: "some", 3: "high"},
    costs=CostMatrix.model_validate({0: {0: 0, 1: -1, 3: -4}, 1: {0: -2, 1: 1, 3: -3}, 3: {0: -9, 1: -5, 3: 2}, "abstention": -0.5}),
)  # fmt: skip


@pytest.mark.parametrize(
    ("values", "level", "categories", "wanted", "legal"),
    [
        ([1, 3, 5.0, 3], None, (), "interval", (1, 5)),
        ([0, 1, 1], None, (), "binary", (0, 1)),
        ([0, 2], None, (), "interval", (0, 2)),
        ([1, 2], "binary", (), "binary", (1, 2)),
        ([0, 1], "interval", (), "interval", (0, 1)),
        ([0, 1, 2], "binary", (), "interval", (0, 2)),
        ([0, 1], None, (0, 1, 2), "interval", (0, 1)),
        ([1, 2, 3], "nominal", (), "nominal", (1, 2, 3)),
        (["warm", "cold", "warm"], None, (), "nominal", ("cold", "warm")),
        ([1, "warm"], "interval", (), "nominal", ("1", "warm")),
        (["warm", "cold"], None, ("warm", "cold", "wet"), "nominal", ("warm", "cold", "wet")),
    ],
)
def test_ratings_without_a_rubric_seem_to_have_the_scale_of_their_values(values: list[Value], level: str | None, categories: tuple[Value, ...], wanted: str, legal: tuple[Value, ...]) -> None:  # fmt: skip
    found = assumed_question(pd.Series(values), level, categories)
    assert found is not None
    assert (found.scale.level, found.better) == (wanted, "high")
    assert (found.scale.values or found.scale.ends) == legal


@pytest.mark.parametrize("values", [[3, 3.0], ["so", "so"], []])
def test_the_same_value_throughout_is_no_scale(values: list[Value]) -> None:
    assert assumed_question(pd.Series(values, dtype=object), None) is None


def test_an_illegal_answer_is_none_on_the_scale_and_a_blank_one_is_not_checked() -> None:
    given = pd.Series([1, 5, 2.5, 0.9, 5.1, "3", "x", "not_applicable", "", None], dtype=object)
    assert off_scale(given, LIKERT).tolist() == [False, False, True, True, True, False, True, False, False, False]  # fmt: skip
    assert off_scale(given, ONE_TO_FIVE).tolist() == [False, False, False, True, True, False, True, False, False, False]  # fmt: skip
    words = pd.Series(["red", "Red", "not_applicable", None, 1], dtype=object)
    assert off_scale(words, WORDS).tolist() == [False, True, False, False, True]


def test_a_value_between_two_counts_as_the_nearest_and_in_the_middle_as_the_lower() -> None:
    assert nearest_legal(np.array([[-4, 0.5], [2, 2.1]]), [0, 1, 3]).tolist() == [[0, 0], [1, 3]]
    assert class_places(pd.Series([0.5, 0.51, 2.0, 2.1, 9, None, "so"]), RISK).tolist() == [0, 1, 1, 2, 2, -1, -1]  # fmt: skip
    assert class_places(pd.Series(["blue", "pink", None, "red"]), WORDS).tolist() == [2, -1, -1, 0]
    assert [half_step(scale) for scale in (RISK, TWO, ONE_TO_FIVE, WORDS)] == [0.5, 0.5, 0.0, None]


def test_an_answer_earns_what_its_costs_say_by_the_right_one_and_none_where_nothing_is_right() -> None:
    table = RewardTable.of(RISK)
    assert table is not None and RewardTable.of(LIKERT) is None

    assert table.rewards([0, 1, 3, 0, 2.0, 3, NAN, NAN], [0, 0, 0, 3, 3, 2.0, 3, NAN]) == pytest.approx([0, -1, -4, -9, -5, -3, -0.5, NAN], nan_ok=True)  # fmt: skip
    assert table.rewards([[1.0], [NAN]], [1, 3]).tolist() == [[1, -5], [-0.5, -0.5]]


def test_of_two_rubrics_that_ask_the_same_the_first_counts() -> None:
    def rubric(name: str, better: str, *attributes: str) -> Rubric:
        asked = [{"name": each, "question": "?", "scale": "five", "better": better} for each in attributes]
        return Rubric.model_validate({"name": name, "version": 1, "scales": {"five": LIKERT.model_dump()}, "attributes": asked})  # fmt: skip

    rubrics = rubric("r", "high", "safe", "clear"), rubric("s", "low", "risk", "safe")
    assert {name: question.better for name, question in rubric_questions(*rubrics).items()} == {"safe": "high", "clear": "high", "risk": "low"}  # fmt: skip
    assert list(rubric_questions(*rubrics, only=["risk", "none"])) == ["risk"]
