"""One reference, one cluster, one maker of folds, one pooling: the parts that everything else is built on."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from venire import Case
from venire.evals.ratings.folds import cluster_numbers, clusters, fold_numbers, folds, groups_in
from venire.evals.ratings.people import check_ratings, last_round
from venire.evals.ratings.pooling import pooling, table_pooling, upright
from venire.evals.ratings.preferences import load_preferences, preference_number
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
    ("values", "levels", "categories", "pooled"),
    [
        ({"a": [1, 5], "b": [2, 4], "c": [0, 1], "d": ["x", "y"]}, {}, {}, ("a", "b")),
        ({"a": [1, 5], "b": [3, 7]}, {}, {}, ()),
        ({"a": [2, 3], "b": [1, 5], "c": [5, 1]}, {}, {}, ("a", "b", "c")),
        ({"a": [1, 5], "b": [1, 5]}, {"b": "nominal"}, {}, ()),
        ({"a": [0, 1], "b": [1, 1], "c": [0, 5]}, {}, {}, ("a", "b")),
        ({"a": ["x"], "b": ["x", "y"], "c": ["z"]}, {}, {}, ("a", "b")),
        ({"a": [1, 5], "b": [3, 7]}, {}, {"a": [1, 3, 5, 7], "b": [1, 3, 5, 7]}, ("a", "b")),
        ({"a": [1, 5], "b": [1, 5]}, {}, {"a": [1, 5], "b": [1, 2, 5]}, ()),
        ({"clear": [1, 5], "risk": [1, 5], "a": [1, 5]}, {}, {}, ("clear", "risk")),
    ],
)  # fmt: skip
def test_of_a_table_without_scales_what_lies_within_one_range_is_pooled(
    values: dict[str, list[object]], levels: dict[str, str], categories: dict[str, list[int]], pooled: tuple[str, ...]
) -> None:  # fmt: skip
    parts = {name: pd.DataFrame({"value": given}) for name, given in values.items()}
    asked = {name: question for name, question in ASKED.items() if name in values}
    found, note = table_pooling(parts, asked, {name: levels.get(name, "ordinal") for name in values}, categories)  # fmt: skip

    assert found.names == pooled
    assert ("no scale is declared" in note) == (bool(pooled) and not asked and not categories)
    left_out = [name for name in values if pooled and name not in pooled]
    assert ("left out" in note) == bool(left_out) and f"{', '.join(left_out)} left" in f"{note} left"
    assert found.turned == ({"risk": 6} if asked else {})


@pytest.mark.parametrize("number", range(6))
def test_a_persons_preference_is_a_number_between_the_rows_outputs(number: int) -> None:
    """The row's first output is below zero, whichever of the two jurors know as output A."""
    case = Case.from_row({"id": f"c{number}", "output_a": "1", "output_b": "2", "system_a": "p", "system_b": "q"})  # fmt: skip

    told = {word: preference_number(case, word) for word in ("p", " q ", "A", "output b", "Tie", "neither", "zzz", 0.5)}  # fmt: skip
    assert list(told.values()) == [-1, 1, -1, 1, 0, 0, "zzz", 0.5]
    alone = case.model_copy(update={"system_b": case.system})
    assert preference_number(alone, case.system) == case.system and preference_number(None, "p") == "p"


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
