"""Folds and clusters: no group on both sides, every row held out once, and what a row found of itself put back in its place."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from venire import VenireError
from venire.evals.ratings.folds import (
    Fold,
    cluster_numbers,
    clusters,
    fold_numbers,
    folds,
    groups_in,
    held_rows,
    held_values,
    selection_folds,
    shared_group_note,
    widening,
)

RNG = np.random.default_rng
CASES = pd.Series(["a", "b", "c", "d", "e", "f"], index=range(10, 16))


@given(st.lists(st.integers(0, 12), min_size=1, max_size=60), st.integers(2, 8), st.integers(0, 99))
def test_folds_never_share_a_group_and_hold_out_each_row_once(
    groups: list[int], number: int, seed: int
) -> None:
    parts = folds(groups, number, RNG(seed))

    assert len(parts) == min(number, len(set(groups)))
    assert sorted(row for part in parts for row in part.held_out) == list(range(len(groups)))
    for part in parts:
        assert sorted([*part.chosen_on, *part.held_out]) == list(range(len(groups)))
        assert not {groups[row] for row in part.chosen_on} & {groups[row] for row in part.held_out}
        assert len(part.held_out)


@given(st.lists(st.integers(1, 6), min_size=4, max_size=20), st.integers(2, 4), st.integers(0, 99))
def test_folds_are_as_equal_as_their_groups_allow(sizes: list[int], number: int, seed: int) -> None:
    at = fold_numbers(np.repeat(np.arange(len(sizes)), sizes), number, RNG(seed))
    held = np.bincount(at, minlength=number)
    assert held.max() - held.min() <= max(sizes)


def test_the_largest_groups_are_dealt_first_and_the_rest_by_chance() -> None:
    groups = ["x"] * 6 + ["y"] * 3 + list("abc")
    assert {tuple(sorted(np.bincount(fold_numbers(groups, 2, RNG(seed))))) for seed in range(20)} == {(6, 6)}
    assert len({tuple(fold_numbers(list("abcdef"), 3, RNG(seed))) for seed in range(20)}) > 5
    assert (
        fold_numbers(list("abcdef"), 3, RNG(4)).tolist() == fold_numbers(list("abcdef"), 3, RNG(4)).tolist()
    )


def test_a_cluster_is_a_group_by_name_or_the_case_itself() -> None:
    named = clusters(CASES, {"a": "g", "b": "g", "c": 1, "d": None, "e": float("nan")})
    assert named.tolist() == ["group g", "group g", "group 1", "case d", "case e", "case f"]
    assert named.index.tolist() == CASES.index.tolist()
    # A group that is named as a case is: not confused with it.
    assert clusters(pd.Series(["a", "b"]), {"a": "b"}).nunique() == 2
    assert cluster_numbers(CASES, {"a": "g", "c": "g"}).tolist() == [0, 1, 0, 2, 3, 4]
    assert clusters(pd.Series([1, 2]), {1: "g"}).tolist() == ["group g", "case 2"]


def test_groups_are_read_from_their_column_where_there_is_one() -> None:
    table = pd.DataFrame(
        {"case": ["a", "a", "b", "c"], "group": ["g", "g", None, "h"], "value": [1, 2, 3, None]}
    )
    assert list(groups_in(table).items()) == [("a", "g"), ("c", "h")]
    assert groups_in(table[["case"]]).empty


def test_a_split_that_parts_groups_says_of_how_many_cases() -> None:
    groups = {"a": "g", "b": "g", "c": "h", "d": "h", "e": "i"}
    parts = {"a": "train", "b": "test", "c": "train", "d": "test", "e": "train", "f": "test", "x": "train"}
    note = shared_group_note(parts, groups, "split")
    assert note.startswith("The column 'split' splits groups: 2 of the 3 cases of 'test' have other cases")
    assert shared_group_note({"a": "train", "b": "train", "c": "test"}, groups, "split") == ""
    three = {**parts, "y": "dev", "d": "dev"}
    assert "1 of the 2 cases of 'test' and 1 of the 2 cases of 'dev'" in shared_group_note(
        three, groups, "split"
    )


def test_what_folds_found_goes_back_to_its_rows_and_several_findings_to_their_mean() -> None:
    once = [Fold(np.array([1, 3]), np.array([0, 2])), Fold(np.array([0, 2]), np.array([3, 1]))]
    pieces = [np.array([[10.0, 12.0]]), np.array([[13.0, 11.0]])]
    assert held_rows(once).tolist() == [0, 1, 2, 3]
    assert held_values(once, pieces).tolist() == [[10, 11, 12, 13]]
    twice = [Fold(np.array([0]), np.array([1, 2]))] * 2
    found = held_values(twice, [np.array([1.0, np.nan]), np.array([3.0, np.nan])])
    assert held_rows(twice).tolist() == [1, 2]
    assert found[0] == 2 and np.isnan(found[1])
    assert held_values(twice, [np.array([1.0, 5.0]), np.array([np.nan, 7.0])]).tolist() == [1, 6]


def test_intervals_widen_by_the_share_that_folds_choose_on() -> None:
    five = folds(range(100), 5, RNG(0))
    # Nadeau and Bengio: 1 + K n_test / n_train, here 1 + 5 * 20 / 80.
    assert widening(five) == pytest.approx(np.sqrt(2.25))
    assert widening(five[:1]) == 1.0
    assert widening(folds(range(100), 2, RNG(0))) == pytest.approx(np.sqrt(3))


def test_cases_are_chosen_on_in_rounds_of_folds_or_outside_the_test_set() -> None:
    cluster = np.array([0, 0, 1, 2, 3, 4])
    rounds = selection_folds(CASES, cluster, None, number=3, rounds=2, rng=RNG(0))
    assert len(rounds) == 6
    assert sorted(row for part in rounds[3:] for row in part.held_out) == list(range(6))
    (only,) = selection_folds(CASES, cluster, ["c", "f", "unknown"], number=3, rounds=2, rng=RNG(0))
    assert (only.chosen_on.tolist(), only.held_out.tolist()) == ([0, 1, 3, 4], [2, 5])


@pytest.mark.parametrize(
    ("cluster", "test", "said"),
    [
        ([0, 0, 0, 1, 1, 2], None, r"too few cases \(or groups of cases\), 3:"),
        ([0, 1, 2, 3, 4, 5], [], "0 of 6 judged questions belong to test cases, so nothing can be scored"),
        ([0, 1, 2, 3, 4, 5], list("abcdef"), "6 of 6 judged questions belong to test cases, so nothing can be chosen"),
        ([0, 0, 1, 2, 3, 4], ["a"], "cases of one group into both parts"),
    ],
)  # fmt: skip
def test_a_split_that_cannot_be_held_out_is_refused(
    cluster: list[int], test: list[str] | None, said: str
) -> None:
    with pytest.raises(VenireError, match=said):
        selection_folds(CASES, np.array(cluster), test, number=3, rounds=1, rng=RNG(0))


def test_four_groups_are_enough() -> None:
    assert (
        len(selection_folds(CASES, np.array([0, 0, 0, 1, 2, 3]), None, number=9, rounds=1, rng=RNG(0))) == 4
    )
