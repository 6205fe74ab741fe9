"""One reference, one cluster, one maker of folds, one pooling: the parts that everything else is built on."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from venire.evals.ratings.folds import cluster_numbers, clusters, fold_numbers, folds, groups_in
from venire.evals.ratings.people import check_ratings, last_round
from venire.evals.ratings.pooling import pooling, upright
from venire.evals.ratings.preferences import load_preferences
from venire.evals.ratings.question import Question, assumed_question
from venire.evals.ratings.reference import RULES, reference
from venire.evals.statistics.draws import Draws
from venire.evals.statistics.matrix import InvalidRatings
from venire.rubrics.errors import VenireError
from venire.rubrics.scale import Scale

LIKERT = Scale.model_validate({"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}})
YES_NO = Question(Scale.model_validate({"level": "binary", "anchors": {0: "no", 1: "yes"}}), "high")
COLOUR = Question(Scale.model_validate({"level": "nominal", "anchors": {"red": "", "blue": ""}}), "high")
ASKED = {
    "clear": Question(LIKERT, "high"),
    "risk": Question(LIKERT, "low"),
    "safe": YES_NO,
    "colour": COLOUR,
}


def people(attribute: str, *cases: list[object]) -> pd.DataFrame:
    """One row a rating: each list holds what people gave one case."""
    return pd.DataFrame(
        [
            (f"c{number}", f"p{who}", attribute, value)
            for number, given in enumerate(cases)
            for who, value in enumerate(given)
        ],
        columns=["case", "rater", "attribute", "value"],
    )


def values(table: pd.DataFrame, **options: object) -> dict[str, object]:
    found = reference(table, ASKED, **options).table  # type: ignore[arg-type]
    return dict(zip(found["case"], found["value"], strict=True))


def test_numbers_have_the_median_words_and_two_values_the_majority() -> None:
    assert values(people("clear", [1, 2], [1, 2, 5])) == {"c0": 1.5, "c1": 2}
    assert values(people("safe", [0, 1], [0, 1, 1], [0])) == {"c1": 1, "c2": 0}
    assert values(people("colour", ["red", "blue"], ["red", "red", "blue"])) == {"c1": "red"}


def test_a_rule_counts_for_numbers_with_an_order_only() -> None:
    clear, safe = people("clear", [1, 1, 5], [1, 2]), people("safe", [0, 1], [1, 1])

    assert values(clear, rule="mean") == pytest.approx({"c0": 7 / 3, "c1": 1.5})
    assert values(clear, rule="majority") == {"c0": 1}
    for rule in RULES:
        assert values(safe, rule=rule) == {"c1": 1}
    with pytest.raises(VenireError, match="'mode' is not a way to combine people's ratings"):
        values(clear, rule="mode")


def test_a_tie_is_counted_and_said_by_attribute() -> None:
    both = pd.concat([people("safe", [0, 1], [1, 0], [1, 1]), people("colour", ["red", "blue"])])
    found = reference(both, ASKED)

    assert found.undecided == {"safe": 2, "colour": 1}
    assert "no majority on 'safe' of 2 cases" in found.notes[0] and "'colour' of 1 case:" in found.notes[1]
    assert not reference(people("clear", [1, 5]), ASKED).notes


def test_raters_may_be_left_out_and_what_is_off_the_scale_is_refused() -> None:
    split = people("safe", [0, 1])

    assert values(split, without=["p1"]) == {"c0": 0}
    assert reference(split, ASKED, without=["p0", "p1"]).table.empty
    with pytest.raises(InvalidRatings, match="is not a value on the scale"):
        values(people("safe", [7]))


def test_a_group_is_never_taken_for_a_case_of_its_name() -> None:
    cases = pd.Series(["a", "b", "c"])

    assert cluster_numbers(cases, {"a": "b"}).tolist() == [0, 1, 2]
    assert cluster_numbers(cases, {"a": "b", "c": "b", "b": None}).tolist() == [0, 1, 0]
    table = pd.DataFrame({"case": ["a", "a", "b"], "group": [None, "ward", np.nan]})
    assert clusters(cases, groups_in(table)).tolist() == ["group ward", "case b", "case c"]
    assert groups_in(table[["case"]]).empty


def test_folds_hold_groups_whole_are_as_equal_as_they_allow_and_follow_the_seed() -> None:
    cluster = np.repeat(np.arange(12), [9, 7, 5, 5, 4, 3, 3, 2, 2, 1, 1, 1])
    numbers = fold_numbers(cluster, 4, np.random.default_rng(3))
    parts = folds(cluster, 4, np.random.default_rng(3))

    assert sorted(np.bincount(numbers)) == [10, 11, 11, 11]
    assert all(len(set(numbers[cluster == each])) == 1 for each in range(12))
    assert [set(fold.held_out) for fold in parts] == [
        set(np.flatnonzero(numbers == part)) for part in range(4)
    ]
    assert not any(set(one.held_out) & set(other.held_out) for one, other in pairwise(parts))
    assert (numbers != fold_numbers(cluster, 4, np.random.default_rng(4))).any()


def test_what_is_pooled_shares_a_scale_and_points_one_way() -> None:
    both = pooling(ASKED)
    rows = pd.DataFrame({"attribute": ["clear", "risk", "safe"], "value": [5.0, 1.0, 1.0]})

    assert both.names == ("clear", "risk") and both.note == "scores of risk reversed so that high is good"
    assert both.rows(rows)["value"].tolist() == [5, 5]
    alone = pooling(ASKED, ["risk"])
    assert alone.names == ("risk",) and not alone.turned
    assert pooling(ASKED, ["risk"], good_is_high=True).turned == {"risk": 6}
    assert pooling({"colour": COLOUR}).names == ()
    assert upright(rows["value"], rows["attribute"], ASKED).tolist() == [5, 5, 1]


@pytest.mark.parametrize(
    ("given", "level", "assumed"),
    [
        ([0, 1, 1], None, "binary"),
        ([0, 1, 1], "ordinal", "interval"),
        ([1, 2, 5], None, "interval"),
        ([1, 2, 5], "nominal", "nominal"),
        (["a", "b"], None, "nominal"),
        (["a", "a"], None, None),
    ],
)
def test_what_ratings_without_a_rubric_seem_to_answer(
    given: list[object], level: str | None, assumed: str | None
) -> None:
    found = assumed_question(pd.Series(given), level)

    assert (found.scale.level if found else None) == assumed


def test_draws_start_at_the_seed_every_time() -> None:
    draws = Draws(7, 50)

    assert draws.rng().random() == draws.rng().random()
    assert draws.bootstrap().resamples == 50
    assert Draws() == Draws(0, 1000)


def test_a_preference_keeps_who_was_shown_first_and_by_how_much_the_first_is_longer(tmp_path: Path) -> None:
    rows = [
        {"case": "a", "first": "x", "second": "y", "preference": 1, "output_1": "four", "output_2": "longest"},
        {"case": "b", "first": "x", "second": "y", "preference": "y", "order": "ba", "output_1": "four", "output_2": "a"},
        {"case": "c", "first": "x", "second": "y", "preference": 1.25},
        {"case": "d", "first": "x", "second": "y", "preference": "tie"},
        {"case": "e", "first": "x", "second": "y", "preference": ""},
    ]  # fmt: skip
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found, lost = load_preferences(tmp_path / "p.jsonl")

    assert lost == 1 and found["case"].tolist() == list("abcd")
    assert found["share"].tolist() == [1.0, 0.0, 0.75, 0.5]
    assert found["swapped"].tolist() == [False, True, False, False]
    assert found["length"].tolist()[:2] == [-3.0, 3.0] and found["length"].isna().tolist()[2:] == [True, True]


def test_of_several_rounds_a_raters_last_word_on_an_attribute_counts() -> None:
    rows = [("a", "ana", "clear", 1.0, 1), ("a", "ana", "clear", 4.0, 3), ("a", "ana", "clear", 2.0, 2), ("a", "ben", "clear", 5.0, 1), ("a", "ana", "risk", 3.0, 1), ("b", "ana", "clear", 2.0, None)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["case", "rater", "attribute", "value", "round"])

    assert last_round(table)["value"].tolist() == [4.0, 5.0, 3.0, 2.0]
    assert len(last_round(table.drop(columns="round"))) == 6
    usable, check = check_ratings(table, ASKED)
    assert sorted(usable["value"]) == [2.0, 3.0, 4.0, 5.0] and (check.given, check.earlier) == (4, 2)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"preference": 1}, [(False, 1.0)]), ({"preference": "2"}, [(False, 0.0)]), ({"preference": "tie"}, [(False, 0.5)]), ({"preference": 1.25}, [(False, 0.75)]),
        ({"preference": "x"}, [(False, 1.0)]), ({"preference": "y"}, [(False, 0.0)]), ({"preference": "second"}, [(False, 0.0)]), ({"preference": "first", "order": 2}, [(True, 1.0)]),
        ({"probability": 0.9}, [(False, 0.9)]), ({"probability": 0.2, "order": "ba"}, [(True, 0.2)]), ({"preference": "error"}, []), ({"preference": ""}, []),
        ({"g1_winner": "model_1", "g2_winner": "model_2"}, [(False, 1.0), (True, 0.0)]), ({"g1_winner": "tie", "g2_winner": "error"}, []), ({"g1_winner": "error", "g2_winner": "model_1"}, []),
    ],
)  # fmt: skip
def test_a_preference_is_what_the_first_won_in_whichever_words(tmp_path: Path, row: dict[str, object], told: list[tuple[bool, float]]) -> None:  # fmt: skip
    file = tmp_path / "p.jsonl"
    pair = {"case": "c", "first": "x", "second": "y", "judge": "j"}
    whole = {**pair, "preference": 1, "case": "last"} if "g1_winner" not in row else {**pair, "g1_winner": "tie", "g2_winner": "tie", "case": "last"}  # fmt: skip
    file.write_text("".join(json.dumps(each) + "\n" for each in ({**pair, **row}, whole)))
    table, lost = load_preferences(file)

    mine = table[table["case"] == "c"]
    assert list(zip(mine["swapped"], mine["share"].round(9), strict=True)) == told
    assert lost == (not told)
    alpaca = tmp_path / "a.json"
    alpaca.write_text(json.dumps([{"instruction": "i", "generator_1": "x", "generator_2": "y", "output_1": "12345", "output_2": "12", "preference": 2, "annotator": "k"}]))  # fmt: skip
    (read,) = load_preferences(alpaca)[0].to_dict("records")
    assert (read["case"], read["judge"], read["first"], read["share"], read["length"]) == ("i", "k", "x", 0.0, 3.0)  # fmt: skip
