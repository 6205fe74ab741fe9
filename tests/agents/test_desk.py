"""The desk of people who hold a seat: what is asked once, what was clicked last, who is waited for and for how long, what it cost."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from venire import Rubric
from venire.agents.desk import (
    FILE,
    Desk,
    DeskTask,
    TaskSheet,
    answers_given,
    asked_now,
    await_answers,
    cases_asked,
    seated_people,
)
from venire.rubrics.case import Exhibit
from venire.rubrics.errors import VenireError


@pytest.fixture
def desk(tmp_path: Path) -> Any:
    opened = Desk(tmp_path)
    yield opened
    opened.close()


def task(desk: Desk, name: str, place: int = 0) -> DeskTask:
    found = desk.task(name, place)
    assert found is not None
    return found


def test_tasks_keep_their_order_and_are_asked_once(desk: Desk) -> None:
    desk.add_tasks("ann", [("a1", "c1", "s"), ("a2", "c2", "s")])
    desk.add_tasks("ann", [("a1", "c9", "s"), ("a3", "c3", "s")])
    desk.add_tasks("ben", [("a1", "c1", "s")])
    places = desk.rows("SELECT person, address, case_id, place FROM tasks ORDER BY person, place")

    assert [(who, address, case) for who, address, case, _ in places] == [
        ("ann", "a1", "c1"), ("ann", "a2", "c2"), ("ann", "a3", "c3"), ("ben", "a1", "c1"),
    ]  # fmt: skip
    assert len({place for who, _, _, place in places if who == "ann"}) == 3
    assert desk.counts() == {"ann": (0, 3), "ben": (0, 1)}


def test_the_next_task_is_the_first_open_one_from_here_on_and_then_from_the_beginning(desk: Desk) -> None:
    desk.add_tasks("ann", [(f"a{n}", f"c{n}", "s") for n in range(4)])
    desk.mark_done(task(desk, "ann", 1), True)
    desk.withdraw(task(desk, "ann", 2))

    assert [desk.open_place("ann", after) for after in (-1, 0, 1, 2, 3)] == [0, 3, 3, 3, 0]
    assert desk.count("ann") == (1, 3) and desk.open_place("ben") is None
    desk.withdraw(task(desk, "ann", 1))
    assert task(desk, "ann", 1).withdrawn_at is None, "what was sent stays"
    desk.mark_done(task(desk, "ann", 1), False)
    assert desk.count("ann") == (0, 3)
    (seat,) = desk.seats()
    assert (seat.waiting, seat.given) == (3, 0)


def test_of_each_part_the_last_click_stands_and_one_sent_twice_is_one(desk: Desk) -> None:
    desk.add_tasks("ann", [("a", "c", "s"), ("b", "d", "s")])
    one, other = task(desk, "ann"), task(desk, "ann", 1)
    desk.save(one, "k1", "x", "score", 3, seconds=2)
    desk.save(one, "k2", "x", "score", 4, seconds=3)
    desk.save(one, "k2", "x", "score", 5, seconds=9)
    desk.save(other, "k3", "x", "score", 1, seconds=10)

    assert desk.save(one, "k4", "x", "rationale", "why", seconds=1) == {"x": {"score": 4, "rationale": "why"}}
    assert desk.seconds(one) == 6 and desk.seconds(other) == 10
    assert [(click.case, click.part, click.value) for click in desk.clicks()] == [
        ("c", "score", 3), ("c", "score", 4), ("d", "score", 1), ("c", "rationale", "why"),
    ]  # fmt: skip
    desk.mark_done(one, True)
    assert str(desk.seats()[0]) == "1 ballot waits for ann; 1 given in 0 min"
    assert desk.seats()[0].seconds == 16


def test_links_are_kept_until_they_are_revoked(desk: Desk) -> None:
    first = desk.links(["ann", "ben"])

    assert desk.links(["ann"]) == first and len(set(first.values())) == 2
    desk.revoke_links()
    assert desk.links(["ann"]).keys() == {"ann"} and desk.links(["ann"])["ann"] != first["ann"]


def test_what_a_run_knows_of_its_people(tmp_path: Path, desk: Desk) -> None:
    desk.add_tasks("ann", [("a", "c1", "s"), ("b", "c2", "s"), ("c", "c3", "s"), ("d", "c3", "s")])
    desk.mark_done(task(desk, "ann", 0), True)
    desk.withdraw(task(desk, "ann", 1))
    desk.mark_done(task(desk, "ann", 3), True)

    assert cases_asked(tmp_path) == {"ann": {"c1": True, "c2": True, "c3": True}}
    assert answers_given(tmp_path) == 2 and seated_people(tmp_path)[0].waiting == 1
    assert cases_asked(tmp_path / "none") == {} and answers_given("postgresql://x") == 0


def test_a_conditional_attribute_is_asked_where_its_condition_is_met(rubric: Rubric) -> None:
    fields = rubric.model_dump()
    fields["attributes"] = [
        {"name": "a", "question": "?", "scale": "agree5"},
        {"name": "b", "question": "?", "scale": "agree5", "asked_if": {"a": 1}},
        {"name": "c", "question": "?", "scale": "agree5", "asked_if": {"b": 2}},
    ]
    asking = Rubric.model_validate(fields)

    def asked(
        a: int | None = None, b: int | None = None, names: tuple[str, ...] = ("a", "b", "c")
    ) -> list[str]:
        return asked_now(asking, names, {"a": {"score": a}, "b": {"score": b}})

    assert asked() == ["a"] and asked(1) == ["a", "b"] and asked(1, 2) == ["a", "b", "c"]
    assert asked(2, 2) == ["a"], "an answer to what is not asked any more counts for nothing"
    assert asked(names=("b", "c")) == ["b"], "a condition that is not on the sheet was met before"


def test_what_people_gave_and_how_long_they_looked_is_each_persons_own(tmp_path: Path, desk: Desk) -> None:
    for name in ("ann", "ben"):
        desk.add_tasks(name, [("a", "c1", "s"), ("b", "c2", "s")])
    desk.save(task(desk, "ann"), "k1", "x", "score", 3, seconds=100)
    desk.save(task(desk, "ben"), "k2", "x", "score", 3, seconds=20)
    desk.save(task(desk, "ann", 1), "k3", "x", "score", 2, seconds=50)
    desk.mark_done(task(desk, "ann"), True)
    desk.withdraw(task(desk, "ben"))

    assert desk.counts() == {"ann": (1, 2), "ben": (0, 1)}
    assert [tuple(seat) for seat in desk.seats()] == [("ann", 1, 1, 150.0), ("ben", 1, 0, 20.0)]
    assert [str(seat) for seat in desk.seats()] == [
        "1 ballot waits for ann; 1 given in 2 min",
        "1 ballot waits for ben",
    ]
    assert cases_asked(tmp_path) == {"ann": {"c1": True, "c2": False}, "ben": {"c1": True, "c2": False}}
    assert [(click.person, click.seconds) for click in desk.clicks()] == [
        ("ann", 100),
        ("ben", 20),
        ("ann", 50),
    ]
    assert desk.last_click() == 3


def test_a_time_that_is_up_is_up_for_one_person_and_the_same_texts(desk: Desk) -> None:
    def sheet(*texts: str, case: str = "c") -> TaskSheet:
        exhibits = tuple(Exhibit(name=f"source {text}", text=text) for text in texts)
        return TaskSheet(case=case, rubric="r", exhibits=exhibits, asked=("x",), parts={})

    desk.add_tasks("ann", [("a", "c", desk.keep(sheet("one", "two").model_dump_json()))])
    assert not desk.has_lapsed("ann", sheet("one", "two"))
    desk.withdraw(task(desk, "ann"))

    assert desk.has_lapsed("ann", sheet("two", "one"))
    assert not desk.has_lapsed("ben", sheet("one", "two"))
    assert not desk.has_lapsed("ann", sheet("one"))
    assert not desk.has_lapsed("ann", sheet("one", "two", "three"))
    assert not desk.has_lapsed("ann", sheet("one", "two", case="d"))


def test_what_is_done_keeps_its_moment(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [50.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    desk.add_tasks("ann", [("a", "c", "s")])
    for moment in (60.0, 70.0):
        now[0] = moment
        desk.mark_done(task(desk, "ann"), True)

    assert task(desk, "ann").done_at == 60.0 and desk.asked_at(task(desk, "ann")) == 50.0


def test_tasks_are_put_on_a_desk_all_together_or_not_at_all(desk: Desk) -> None:
    def broken() -> Iterator[tuple[str, str, str]]:
        yield ("a", "c", "s")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        desk.add_tasks("ann", broken())
    assert desk.task("ann", 0) is None
    desk.add_tasks("ann", [("b", "c", "s")])
    assert task(desk, "ann").place == 0


def test_what_people_answer_is_for_the_runs_owner_alone(tmp_path: Path, desk: Desk) -> None:
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


def test_a_desk_is_read_where_it_cannot_be_written_whatever_its_folder_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run #1? 50%20"
    desk = Desk(folder)
    desk.add_tasks("ann", [("a", "c", "s")])
    desk.close()
    monkeypatch.setattr("os.access", lambda path, mode: False)

    desk = Desk(folder)
    assert task(desk, "ann").case == "c"
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        desk.links(["ann"])
    desk.close()


def test_a_folder_that_cannot_hold_a_desk_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(VenireError, match="cannot be opened: ") as error:
        Desk(tmp_path / "file")
    assert error.value.remedy == "choose a folder that can be written to"


def test_answers_are_awaited_until_there_are_more_or_a_minute_has_passed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, given = [0.0], [2, 2, 2, 3]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("time.sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    monkeypatch.setattr(
        "venire.agents.desk.answers_given", lambda run: given.pop(0) if len(given) > 1 else given[0]
    )

    await_answers("run", 2)
    assert now[0] == 3
    await_answers("run", 3)
    assert now[0] == 63
