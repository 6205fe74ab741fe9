"""What a search finds, and the case before and after in whatever order the list is sorted."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator

import pytest

from venire.web.index_writer import SCHEMA
from venire.web.search import SORTS, CaseSearch, Finder

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
