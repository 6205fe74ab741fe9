"""The index: what a search finds in it, which case stands before and after, and what of it is a score."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from venire import Rubric
from venire.web.index_writer import SCHEMA, _values_of, prepare_index
from venire.web.scales import ScalePositions, difference_words, score_words
from venire.web.search import SORTS, CaseSearch, Finder
from venire.web.summaries import DERIVED

ROWS = 44
"""Fewer than the list shows on one page."""


@pytest.fixture(scope="module")
def finder() -> Iterator[Finder]:
    """An index of made-up deliberations in two arms, with many ties and missing values."""
    rng = random.Random(3)
    connection = sqlite3.connect(":memory:")
    connection.executescript(SCHEMA)
    for number in range(ROWS):
        arm = number % 2
        row = (
            *(number, arm, f"arm{arm}", f"case{number // 2:02}", "", "", rng.choice(["rounds", "consensus"])),
            *(rng.randint(1, 3), rng.randint(1, 4), rng.randint(1, 9), rng.choice([None, 0.1, 0.2]), 1.0),
            *(rng.choice([None, 1.0, 2.0]), rng.randint(0, 1), "g", "s", "", 1, rng.choice([None, 0.0, 1.5])),
        )
        connection.execute(f"INSERT INTO deliberations VALUES ({', '.join('?' * len(row))})", row)
        if rng.random() < 0.8:
            scored = (number, "accurate", "reached", "4", "", rng.choice([None, 1.0, 2.0, 3.0]))
            connection.execute("INSERT INTO outcomes VALUES (?, ?, ?, ?, ?, ?)", scored)
    yield Finder(connection, [0, 1])
    connection.close()


@pytest.mark.parametrize("up", ["", "1"])
@pytest.mark.parametrize("sort", [*SORTS, "score.accurate"])
def test_neighbours_are_those_of_the_list(finder: Finder, sort: str, up: str) -> None:
    search = CaseSearch.of({"sort": sort, "up": up})
    rows, total = finder.find(search)
    listed = [None, *((row.case, row.arm) for row in rows), None]

    assert total == ROWS == len(rows)
    for before, here, after in zip(listed, listed[1:], listed[2:], strict=False):
        assert here is not None and finder.neighbours(search, *here) == (before, after)


def test_what_the_search_does_not_find_has_no_neighbours(finder: Finder) -> None:
    assert finder.neighbours(CaseSearch.of({"arm": "arm0"}), "case00", "arm1") == (None, None)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("note_1", {"note_1"}),
        ("note-1", {"note-1"}),
        ("100%", {"100% sure"}),
        ("a\\b", {"a\\b"}),
        ("NOTE", {"note_1", "note-1"}),
        ("%", {"100% sure"}),
        ("_", {"note_1"}),
    ],
)
def test_a_search_is_for_the_letters_as_they_are_typed(words: str, found: set[str]) -> None:
    connection = sqlite3.connect(":memory:")
    connection.executescript(SCHEMA)
    for number, name in enumerate(("note_1", "note-1", "100% sure", "a\\b")):
        row = (number, 0, "arm", name, "", "", "rounds", 1, 1, 1, None, 1.0, None, 0, "", "", "", 1, None)
        connection.execute(f"INSERT INTO deliberations VALUES ({', '.join('?' * len(row))})", row)
    rows, total = Finder(connection, [0]).find(CaseSearch.of({"q": words}))
    others, none = Finder(connection, [1]).find(CaseSearch.of({"q": words}))
    connection.close()

    assert {row.case for row in rows} == found and total == len(found)
    assert others == [] and none == 0, "an arm that was replaced is not searched"


def test_what_is_derived_is_neither_a_score_to_compare_nor_one_that_two_arms_agree_on() -> None:
    connection = sqlite3.connect(":memory:")
    connection.executescript(SCHEMA)
    row = (7, 0, "arm", "c", "", "", "rounds", 1, 1, 1, None, 1.0, None, 0, "", "", "", 1, None)
    connection.execute(f"INSERT INTO deliberations VALUES ({', '.join('?' * len(row))})", row)
    for outcome in (
        ("accurate", "reached", "4", "median", 4.0),
        ("overall", "reached", "3.5", DERIVED, 3.5),
        ("risk", "hung", None, "median", None),
        ("colour", "reached", '"red"', "majority", None),
    ):
        connection.execute("INSERT INTO outcomes VALUES (7, ?, ?, ?, ?, ?)", outcome)
    scores = list(Finder(connection, [0]).scores(["c"]))
    found = _values_of(connection, 7)
    connection.close()

    assert scores == [("c", "arm", "accurate", 4.0)]
    assert found == {"accurate": 4, "colour": "red"}


def test_the_index_holds_reasons_and_is_its_owners_alone(tmp_path: Path) -> None:
    for _ in range(2):  # made, and made anew where its form is another's
        prepare_index(tmp_path / "index")
        assert (tmp_path / "index").stat().st_mode & 0o777 == 0o600
        (tmp_path / "index").unlink()
        (tmp_path / "index").write_bytes(b"")
        (tmp_path / "index").chmod(0o644)


def test_a_score_lies_between_the_ends_of_its_own_scale(rubric: Rubric) -> None:
    axis = ScalePositions.of(rubric, "accurate")

    assert [place for _, place in axis.ticks] == [0, 0.25, 0.5, 0.75, 1]
    assert [axis.at(value) for value in (1, 3, 5, 1.5, 4.6, 0, 9)] == pytest.approx(
        [0, 0.5, 1, 0.125, 0.9, 0, 1]
    )
    assert axis.at("not_applicable") < 0
    assert [score_words(value) for value in (None, "not_applicable", 3, 10 / 3)] == ["–", "n/a", "3", "3.33"]


@pytest.mark.parametrize(("value", "words"), [(-0.0019, "+0.00"), (-0.006, "-0.01"), (0.25, "+0.25")])
def test_a_difference_that_rounds_to_zero_is_not_below_it(value: float, words: str) -> None:
    assert difference_words(value) == words
