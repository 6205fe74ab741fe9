"""A large run's index comes in two parts, scores and then flags: what the pages say and find in between."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from inspector_server import InspectorServer
from planted_run import SCRIPTS, planted_case, planted_run

from venire.orchestration.reading.analysis import Flag
from venire.orchestration.record import Store
from venire.web.index import FILE, Index, open_index
from venire.web.index_writer import write_flag_batch, write_score_batch
from venire.web.pages.frame import Reach
from venire.web.summaries import FlagGroup, Summariser, flag_groups, merge_groups


def read_part(run: Path, index: Index, *, flagged: int) -> None:
    """Every score into the index, and the flags of the deliberations up to number `flagged`."""
    store, connection = Store.read(run), open_index(index.path)
    summariser, last = Summariser(store), store.last_finished()
    assert write_score_batch(connection, summariser.scores(0, last, 1000))
    if flagged:
        arms = {arm.id: arm for arm in store.arms()}
        assert write_flag_batch(connection, arms, summariser.flags(0, flagged, 1000))
    connection.close()
    store.release()


@pytest.fixture
def half_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InspectorServer]:
    """A run whose scores are all read, and the flags of four of its deliberations."""
    monkeypatch.setattr(Index, "start", lambda self: None)
    run = planted_run(tmp_path)
    server = InspectorServer(run, caught_up=False)
    read_part(run, server.inspector.index, flagged=4)
    with server:
        yield server


def cases(server: InspectorServer, query: str) -> list[str]:
    return re.findall(r'class="open">([^<]+)</a>', server.ask(f"cases?{query}").text)


def test_scores_sort_and_filter_before_the_flags_are_known(half_read: InspectorServer) -> None:
    text = half_read.ask("cases?sort=score.accurate").text
    last = 2 * len(SCRIPTS)

    assert len(cases(half_read, "sort=score.accurate")) == last
    assert set(cases(half_read, "stop=rounds")) == {"overruled"}
    assert f"flags and reasons of 4 of {last} deliberations have been read" in text
    assert text.count("flags not read yet") == last - 4
    assert f"looking for flags: 4 of {last}" in text


def test_a_filter_by_flag_covers_what_was_read_and_says_so(half_read: InspectorServer) -> None:
    known = cases(half_read, "flag=any") + cases(half_read, "flag=none")

    assert len(known) == 4
    assert "have been read. Until the others are read" in half_read.ask("cases?flag=none").text
    assert "scores and cost cover" in half_read.ask().text


def test_what_is_not_read_stands_last_by_what_is_worth_a_look(half_read: InspectorServer) -> None:
    for order in ("", "&up=1"):
        text = half_read.ask(f"cases?sort=look{order}").text
        unread = [match.start() for match in re.finditer("flags not read yet", text)]
        assert max(match.start() for match in re.finditer('class="badge', text)) < unread[0]


def test_the_rest_is_read_on_from_there(half_read: InspectorServer, tmp_path: Path) -> None:
    index = half_read.inspector.index
    index.catch_up()
    copy = shutil.copytree(index.path.parent, tmp_path / "copy", ignore=shutil.ignore_patterns(f"{FILE}*"))
    whole = Index(copy)
    whole.catch_up()

    for table in ("deliberations", "flags", "outcomes", "agreements"):
        both = [each.reading.execute(f"SELECT * FROM {table}").fetchall() for each in (index, whole)]
        assert both[0] == both[1]
    sums = [
        each.reading.execute("SELECT arm, topic, one, two, times, round(total, 9) FROM sums").fetchall()
        for each in (index, whole)
    ]
    assert sums[0] == sums[1]
    assert "so far" not in half_read.ask("cases").text
    whole.close()


def test_a_case_judged_again_between_the_parts_is_counted_once(tmp_path: Path) -> None:
    run = planted_run(tmp_path, {"x": SCRIPTS["calm"]}, {"x": planted_case("x")})
    index = Index(run)
    read_part(run, index, flagged=0)
    planted_run(tmp_path, {"x": SCRIPTS["premature"]}, {"x": planted_case("x", output="Another text.")})
    index.catch_up()
    store = Store.read(run)
    census = index.censuses(store.arms())["stances"]

    assert (census.number("cases"), census.number("flagged", "premature-consensus")) == (1, 1)
    index.close()
    store.release()


def test_a_batch_that_another_inspector_wrote_is_left_alone(tmp_path: Path) -> None:
    run = planted_run(tmp_path)
    index = Index(run)
    store, connection = Store.read(run), open_index(index.path)
    summariser = Summariser(store)
    scores, flags = summariser.scores(0, 3, 10), summariser.flags(0, 3, 10)
    arms = {arm.id: arm for arm in store.arms()}

    assert [write_score_batch(connection, scores), write_score_batch(connection, scores)] == [True, False]
    assert [write_flag_batch(connection, arms, flags), write_flag_batch(connection, arms, flags)] == [
        True,
        False,
    ]
    assert index.read_to == (3, 3)
    connection.close()
    store.release()
    index.close()


@pytest.mark.parametrize(
    ("reach", "told"),
    [
        (Reach(10, 0, 12_000, ""), "reading the record: 10 of 12,000"),
        (Reach(12_000, 1_500, 12_000, ""), "looking for flags: 1,500 of 12,000"),
        (Reach(6, 5, 7, "7 of 9 finished"), "still running: 7 of 9 finished; reading the record: 6 of 7"),
        (Reach(7, 5, 7, "7 of 9 finished"), "still running: 7 of 9 finished; looking for flags: 5 of 7"),
        (Reach(7, 7, 7, "7 of 9 finished"), "still running: 7 of 9 finished"),
        (Reach(7, 7, 7, ""), ""),
    ],
)
def test_the_banner_says_what_is_being_read(reach: Reach, told: str) -> None:
    assert reach.told == told


def flag(kind: str, weight: int, attribute: str) -> Flag:
    return Flag(kind, weight, attribute, (), (), 1, f"{kind} {attribute}")  # type: ignore[arg-type]


def test_flags_of_a_kind_are_kept_as_one_with_the_words_of_the_weightiest() -> None:
    found = flag_groups(
        [flag("overruled", 3, "b"), flag("hung", 2, ""), flag("overruled", 1, "a"), flag("overruled", 1, "b")]
    )

    assert found == (
        FlagGroup("overruled", 3, "b", "overruled b", " b a ", "311"),
        FlagGroup("hung", 2, "", "hung ", " ", "2"),
    )
    assert merge_groups([*found, *flag_groups([flag("overruled", 4, "c")])])[0] == FlagGroup(
        "overruled", 4, "c", "overruled c", " b a c ", "3114"
    )
