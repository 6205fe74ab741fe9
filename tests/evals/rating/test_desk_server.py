"""The desk's server in one process: what a click may hold, when a case is done, what the coordinator is told."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from venire.agents.desk import Answers, TaskSheet
from venire.evals.rating import server as desk_server
from venire.evals.rating.ratings_desk import Rated, open_ratings
from venire.evals.rating.server import DeskAddress, DeskServer, is_legal, missing_answers
from venire.rubrics import Case, Rubric
from venire.rubrics.ballot import QUOTES_LIMIT, TEXT_LIMIT, Vote

RUBRIC = Rubric.model_validate(
    {
        "name": "notes",
        "version": 1,
        "scales": {
            "five": {"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}},
            "kind": {"level": "nominal", "anchors": {"dose": "A wrong dose", "other": "Another"}},
        },
        "attributes": [
            {"name": "accurate", "question": "Is it?", "scale": "five", "may_not_apply": True},
            {"name": "fault", "question": "Which?", "scale": "kind", "asked_if": {"accurate": 1}},
        ],
    }
)
TEXT, SOME = {"type": "string", "minLength": 1}, {"type": "array", "items": {"type": "string"}, "minItems": 1}
FIVE = {"enum": [1, 2, 3, 4, 5]}


@pytest.mark.parametrize(
    ("schema", "legal", "illegal"),
    [
        (FIVE, [1, 5, 3.0], [0, 6, True, "1", None, [1], {}]),
        ({"const": "yes"}, ["yes"], ["no", None]),
        ({"type": "number", "minimum": 0, "maximum": 1}, [0, 1, 0.5], [-0.01, 1.01, True, "1", float("nan"), None]),
        ({"type": "integer"}, [-9, 10**9], [False, "1"]),
        ({"anyOf": [FIVE, {"const": "not_applicable"}]}, [5, "not_applicable"], [6, "na"]),
        (TEXT, ["a", "x" * TEXT_LIMIT], ["", " \n", "x" * (TEXT_LIMIT + 1), 1, None]),
        ({"type": "string"}, ["", " "], [1]),
        (SOME, [["a"], ["a"] * QUOTES_LIMIT], [[], ["a"] * (QUOTES_LIMIT + 1), [1], "a", None]),
        ({"type": "array", "items": {"enum": [*range(12)]}}, [[], [*range(12)]], [[12], [*range(12), 1]]),
        ({}, [], ["a", 1, None]),
    ],
)  # fmt: skip
def test_what_a_part_may_hold(schema: dict[str, Any], legal: list[Any], illegal: list[Any]) -> None:
    assert [value for value in legal if not is_legal(value, schema)] == []
    assert [value for value in illegal if is_legal(value, schema)] == []
    # What is being written may be empty still, and no longer than what is written.
    written = [value for value in illegal if is_legal(value, schema, unfinished=True)]
    assert written == ({1: ["", " \n"], 0: [[]]}[schema is TEXT] if schema in (TEXT, SOME) else [])


def sheet(*, seat: str = "", own: int | None = None, **parts: Any) -> TaskSheet:
    votes = (Vote.model_validate({"attribute": "accurate", "value": own, "rationale": "x"}),) if own else ()
    return TaskSheet(case="c", rubric="h", exhibits=(), asked=RUBRIC.names, parts={"accurate": {"score": FIVE, **parts}, "fault": {"score": {"enum": ["dose", "other"]}}}, seat=seat, own=votes)  # fmt: skip


@pytest.mark.parametrize(
    ("given", "answers", "missing"),
    [
        (sheet(), {}, ["accurate"]),
        (sheet(), {"accurate": {"score": 2}}, []),
        (sheet(), {"accurate": {"score": "not_applicable"}}, []),
        (sheet(), {"accurate": {"score": 1}}, ["fault"]),
        (sheet(), {"accurate": {"score": 1}, "fault": {"score": "dose"}}, []),
        (sheet(), {"accurate": {"rationale": "x"}, "fault": {"score": "dose"}}, ["accurate"]),
        (sheet(rationale=TEXT), {"accurate": {"score": 2}}, []),
        # A juror owes all that a ballot has, and what moved her where she changed her vote.
        (sheet(seat="ann", rationale=TEXT), {"accurate": {"score": 2}}, ["accurate"]),
        (sheet(seat="ann", rationale=TEXT), {"accurate": {"score": 2, "rationale": " "}}, ["accurate"]),
        (sheet(seat="ann", rationale=TEXT), {"accurate": {"score": 2, "rationale": "x"}}, []),
        (sheet(seat="ann", rationale=TEXT), {"accurate": {"score": 9, "rationale": "x"}}, ["accurate"]),
        (sheet(seat="ann", moved_by={"type": "string"}, own=3), {"accurate": {"score": 3}}, []),
        (sheet(seat="ann", moved_by={"type": "string"}, own=3), {"accurate": {"score": 2}}, ["accurate"]),
        (sheet(seat="ann", moved_by={"type": "string"}, own=3), {"accurate": {"score": 2, "moved_by": " "}}, ["accurate"]),
        (sheet(seat="ann", moved_by={"type": "string"}, own=3), {"accurate": {"score": 2, "moved_by": "x"}}, []),
        (sheet(seat="ann", moved_by={"type": "string"}), {"accurate": {"score": 2}}, []),
        (sheet(seat="ann", own=3), {"accurate": {"score": 2}}, []),
    ],
)  # fmt: skip
def test_what_is_still_open(given: TaskSheet, answers: Answers, missing: list[str]) -> None:
    assert missing_answers(RUBRIC, given, answers) == missing


@pytest.mark.filterwarnings("ignore::aiohttp.web.NotAppKeyWarning")
def test_a_click_is_kept_where_it_is_legal_and_a_case_is_done_as_long_as_nothing_is_open(
    tmp_path: Path,
) -> None:
    cases = [Case(id=name, output="Text.") for name in ("c0", "c1")]
    desk = open_ratings(tmp_path, cases, RUBRIC, ["ann", "ben"], overlap=None, seed=1, notes={})
    secrets = desk.links([desk_server.COORDINATOR, "ann", "ben"])
    secrets = {name: link.strip("/").rpartition("/")[2] for name, link in secrets.items()}
    told: Any = SimpleNamespace(request_came=lambda protocol: None)
    address = DeskAddress("127.0.0.1", 0, (), None, None, 9)

    async def clicks() -> None:
        app = DeskServer(desk, address, told, logging.getLogger("x")).app()  # type: ignore[arg-type]
        async with TestClient(TestServer(app)) as client:
            origin = f"http://{client.host}:{client.port}"
            number = 0

            async def post(person: str, what: str, **message: Any) -> tuple[int, Any]:
                nonlocal number
                number += 1
                if what == "save":
                    message = {"click": f"click {number:04}", "seconds": 2, "part": "score", **message}
                headers = {"Origin": origin, "X-Desk-Token": desk_server._token(secrets[person])}
                answer = await client.post(f"/{secrets[person]}/{what}", json=message, headers=headers)
                return answer.status, await answer.json()

            task = desk.task("ann", 0)
            assert task is not None
            own = {"task": task.id, "attribute": "accurate"}
            assert await post("ann", "save", **own, value=1) == (200, {"open": 1, "done": 0})
            assert await post("ann", "save", **{**own, "attribute": "fault"}, value="dose") == (200, {"open": 0, "done": 1})  # fmt: skip
            # A changed answer opens what follows from it, and closes it again.
            assert (await post("ann", "save", **own, value=4))[1] == {"open": 0, "done": 1}
            for wrong, status in (({"value": 6}, 422), ({"value": 4, "attribute": "nothing"}, 422), ({"value": "x", "part": "moved_by"}, 422), ({"value": 4, "task": 99}, 404), ({"value": 4, "seconds": -1}, 422), ({"value": 4, "click": "short"}, 422)):  # fmt: skip
                assert (await post("ann", "save", **{**own, **wrong}))[0] == status
            assert (await post("ben", "save", **own, value=1))[0] == 404, "another rater's task"
            assert (await post("ann", "send", task=task.id))[0] == 422, "a rater sends nothing"
            assert desk.answers(task)["accurate"] == {"score": 4} and len([*desk.clicks()]) == 3

            for path, shown in (("", "Case 2 of 2"), ("?at=1", "Case 1 of 2"), ("?after=2", "Case 2 of 2"), ("?after=x", "Case 2 of 2")):  # fmt: skip
                page = await (await client.get(f"/{secrets['ann']}/{path}")).text()
                assert shown in page, path
            assert (await client.get(f"/{secrets['ann']}/?at=3")).status == 404
            later = desk.task("ann", 1)
            assert later is not None
            desk.withdraw(later)
            assert (await post("ann", "save", **{**own, "task": later.id}, value=2))[0] == 409
            overview = await (await client.get(f"/{secrets['']}/")).text()
            assert "ballots are complete" in overview and "ann" in overview

    asyncio.run(clicks())
    desk.close()


def test_a_pace_is_the_median_of_done_cases_and_last_seen_is_of_every_click(monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    rows = [("ann", 1.0, 30.0, 1000.0), ("ann", 1.0, 50.0, 940.0), ("ann", None, 900.0, 1060.0), ("ann", 1.0, 41.0, 10.0), ("ben", None, 5.0, 100.0)]  # fmt: skip
    desk: Any = SimpleNamespace(last_click=lambda: 7, rows=lambda sql: rows)
    monkeypatch.setattr(desk_server.time, "time", lambda: 1120.0)
    paces = DeskServer(desk, DeskAddress("127.0.0.1", 0, (), None, None, 9), None, None)._paces()  # type: ignore[arg-type]
    assert paces == {"ann": ("41 s", "1 minute ago"), "ben": ("", "17 minutes ago")}
    told = {59: "now", 60: "1 minute ago", 3599: "59 minutes ago", 3600: "1 hour ago", 86399: "23 hours ago", 172800: "2 days ago"}  # fmt: skip
    assert {seconds: desk_server._ago(seconds) for seconds in told} == told
    assert [desk_server._whole(text) for text in (None, "", "7", "-7", "٣", "1" * 10)] == [None, None, 7, None, None, None]  # fmt: skip


def test_the_cases_farthest_apart_come_first_and_words_count_where_they_differ_at_all() -> None:
    given = [("c1", "ann", "accurate", 1), ("c2", "ann", "accurate", 5), ("c1", "ben", "accurate", 3), ("c2", "ben", "accurate", 5), ("c3", "ann", "accurate", 1), ("c3", "ben", "accurate", 5), ("c1", "ann", "fault", "dose"), ("c1", "ben", "fault", "other"), ("c2", "ann", "fault", "dose"), ("c2", "ben", "fault", "dose"), ("c4", "ann", "accurate", 2)]  # fmt: skip
    rated = [Rated(*row, "", (), 0, 1.0, 1.0) for row in given]  # type: ignore[arg-type]
    assert [tuple(each) for each in desk_server._most_apart(rated, RUBRIC)] == [
        ("c1", "fault", "ann dose, ben other"), ("c3", "accurate", "ann 1, ben 5"), ("c1", "accurate", "ann 1, ben 3"),
    ]  # fmt: skip


def test_agreement_so_far_leaves_out_what_does_not_apply(tmp_path: Path) -> None:
    cases = [Case(id=f"c{n}", output="Text.") for n in range(12)]
    desk = open_ratings(tmp_path, cases, RUBRIC, ["ann", "ben"], overlap=None, seed=1, notes={})
    assert desk_server._agreement_so_far(tmp_path) == ([], [])
    for person in ("ann", "ben"):
        for place in range(12):
            task = desk.task(person, place)
            assert task is not None
            value = "not_applicable" if task.case == "c0" else 1 + int(task.case[1:]) % 5
            desk.save(task, f"{person} {place:04}", "accurate", "score", value, seconds=1)
    desk.close()
    (line,), apart = desk_server._agreement_so_far(tmp_path)
    assert line[0] == "accurate" and line[1].startswith("1.00") and apart == []
