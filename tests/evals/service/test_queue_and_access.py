"""The service without a socket: the queue before the jury, who may ask, which connection gives way."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request

from venire import Rubric, VenireError
from venire.evals.service import connections as connecting
from venire.evals.service import server as serving
from venire.evals.service.connections import (
    AccessCheck,
    AllowedHosts,
    Connections,
    ThrottledLog,
    service_token,
)
from venire.evals.service.judging import AnswerCache, JudgeQueue, RequestError, read_case
from venire.rubrics.case import Case

NOTE = Rubric.model_validate(
    {
        "name": "note",
        "version": 1,
        "scales": {"agree": {"level": "ordinal", "anchors": {1: "no", 2: "yes"}}},
        "attributes": [{"name": "accurate", "question": "Is it?", "scale": "agree"}],
    }
)


class Jury:
    """A sitting that answers when its gate is open, and fails on the text `bad`."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.heard: list[str] = []
        self.rubric, self.jury = NOTE, SimpleNamespace(name="panel")

    async def hear(self, case: Case) -> Any:
        self.heard.append(case.output)
        await self.gate.wait()
        if case.output == "bad":
            raise VenireError("down", remedy="wait")
        return SimpleNamespace(document={"case": case.id, "output": case.output})


def record(**more: Any) -> Any:
    return SimpleNamespace(case_ids=lambda: ["x", "y"], **more)


def test_so_many_are_heard_so_many_wait_and_the_next_is_told_to_come_back() -> None:
    async def scene() -> None:
        jury = Jury()
        queue = JudgeQueue(jury, record(), at_once=2, most_waiting=1)  # type: ignore[arg-type]
        cases = [Case(id=name, output=name) for name in ("a", "b", "bad")]
        tasks = [asyncio.create_task(queue.judge(case)) for case in cases]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert {key: queue.state()[key] for key in ("hearing", "waiting", "heard")} == {"hearing": 2, "waiting": 1, "heard": 2}  # fmt: skip
        assert (queue.state()["rubric"], queue.state()["jury"], jury.heard) == ("note", "panel", ["a", "b"])
        with pytest.raises(RequestError) as refused:
            await queue.judge(Case(id="d", output="d"))
        assert (refused.value.status, refused.value.headers) == (503, {"Retry-After": "5"})

        jury.gate.set()
        first, _, failed = await asyncio.gather(*tasks, return_exceptions=True)
        assert json.loads(first) == {"case": "a", "output": "a"} and isinstance(failed, VenireError)  # type: ignore[arg-type]
        assert (queue.state()["hearing"], queue.state()["waiting"]) == (0, 0)
        # In memory by id and words: the same costs nothing, other words under the id are heard, what failed is heard again.
        again = await queue.judge(Case(id="a", output="a"))
        other = await queue.judge(Case(id="a", output="other words"))
        with pytest.raises(VenireError):
            await queue.judge(Case(id="bad", output="bad"))
        assert again == first and json.loads(other)["output"] == "other words"
        assert jury.heard == ["a", "b", "bad", "other words", "bad"]

    asyncio.run(scene())


def test_an_error_of_a_redacted_record_is_logged_by_its_type_alone(caplog: pytest.LogCaptureFixture) -> None:
    for redacted in (True, False):
        queue = JudgeQueue(SimpleNamespace(), record(redacted=redacted), at_once=1, most_waiting=0)  # type: ignore[arg-type]
        with caplog.at_level(logging.ERROR):
            queue.log_bug(logging.getLogger("test"), KeyError("a patient's words"))
        assert ("a patient's words" in caplog.text) is not redacted and "KeyError" in caplog.text


def test_the_cache_counts_what_it_replaces_and_what_it_drops() -> None:
    answers = AnswerCache(most=8)
    for body in (b"1234", b"12", b"123"):
        answers.put(("a", ""), body)
    answers.put(("b", ""), b"12345")
    assert (answers.get(("a", "")), answers.get(("b", ""))) == (b"123", b"12345")
    answers.put(("c", ""), b"1")
    assert (answers.get(("a", "")), answers.get(("b", ""))) == (None, b"12345")
    answers.put(("d", ""), b"123456789")
    assert all(answers.get((name, "")) is None for name in "abcd")


def case_of(**fields: Any) -> Case:
    return read_case(json.dumps(fields).encode(), NOTE)


def test_a_case_is_known_by_its_words_unless_it_has_an_id() -> None:
    plain = case_of(output="Text.", source="Note.")
    assert case_of(source="Note.", output="Text.", metadata={"n": 1}).id == plain.id
    assert len({plain.id, case_of(output="Text.").id, case_of(output="Text.", source="Other.").id, case_of(output="Text.", source="Note.", question="Why?").id}) == 4  # fmt: skip
    assert case_of(id="mine", output="Text.").id == "mine"
    assert case_of(output="Text.", source=["a", "b"], system="s", group="g").source == ("a", "b")
    spoken = case_of(output="Text.", messages=[{"role": "user", "content": "Hi"}])
    assert spoken.id not in (plain.id, case_of(output="Text.").id)
    for refused in ({"output": " "}, {"source": "x"}, {"output": "x", "id": ""}, {"output": "x", "colour": 1}, {"output": 4}):  # fmt: skip
        with pytest.raises(RequestError) as error:
            case_of(**refused)
        assert error.value.status == 422
    for broken in (b"{", b"output", b""):
        with pytest.raises(RequestError) as error:
            read_case(broken, NOTE)
        assert error.value.status == 400


@pytest.mark.parametrize(
    ("header", "served"),
    [
        ("Bearer a-token", True), ("bearer a-token", True), ("Bearer  a-token ", True), ("Basic a-token", False),
        ("Bearer a-toke", False), ("Bearer a-tokens", False), ("a-token", False), ("", False), ("Bearer ä-token", False),
    ],
)  # fmt: skip
def test_who_has_the_token(header: str, served: bool) -> None:
    access = AccessCheck(AllowedHosts("127.0.0.1"), "a-token", ThrottledLog(logging.getLogger("test")))
    if served:
        access.check_token(header)
        return
    with pytest.raises(RequestError) as refused:
        access.check_token(header)
    assert (refused.value.status, refused.value.headers) == (401, {"WWW-Authenticate": "Bearer"})


def test_pages_from_elsewhere_and_other_names_are_refused() -> None:
    access = AccessCheck(AllowedHosts("127.0.0.1", ["jury.example"]), "t", ThrottledLog(logging.getLogger("test")))  # fmt: skip
    for fine in (None, "http://localhost:3000", "https://jury.example", "http://[::1]:1"):
        access.check_origin(fine)
    for origin in ("https://evil.example", "null", "http://jury.example.evil", "http://jury.example@evil"):
        with pytest.raises(RequestError) as refused:
            access.check_origin(origin)
        assert refused.value.status == 403
    with pytest.raises(RequestError) as misdirected:
        access.check_host(["evil.example"])
    assert misdirected.value.status == 421


def test_a_token_is_the_environments_or_made_for_loopback_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", " given ")
    assert service_token("MY_TOKEN", "0.0.0.0") == (True, "given")
    monkeypatch.setenv("MY_TOKEN", " ")
    made = [service_token("MY_TOKEN", host) for host in ("127.0.0.1", "localhost", "::1", "127.8.9.1")]
    assert not any(given for given, _ in made) and len({token for _, token in made}) == 4
    assert all(len(token) >= 32 for _, token in made)
    for host in ("0.0.0.0", "::", "10.0.0.1", "jury.example"):
        with pytest.raises(VenireError, match="MY_TOKEN is not set"):
            service_token("MY_TOKEN", host)


def test_a_warning_of_each_kind_comes_once_a_second_and_says_how_many_were_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = 100.0
    monkeypatch.setattr(connecting, "time", SimpleNamespace(monotonic=lambda: now))
    log = ThrottledLog(logging.getLogger("test"))
    for seconds, kind in ((0.0, "a"), (0.2, "a"), (0.3, "b"), (0.9, "a"), (1.0, "a"), (1.1, "b"), (2.5, "a")):
        now = 100.0 + seconds
        log.warning(kind)
    assert [line.getMessage() for line in caplog.records] == ["a", "b", "a (and 2 more before)", "a"]


class Link:
    """A transport that remembers whether it was closed."""

    def __init__(self) -> None:
        self.closed = False

    def abort(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed


def test_the_one_that_waited_longest_gives_way_and_one_that_is_answered_never(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun = now = time.monotonic()
    monkeypatch.setattr(connecting, "time", SimpleNamespace(monotonic=lambda: now))
    open_links = Connections(2, tls=None, log=ThrottledLog(logging.getLogger("test")))
    accepted: Any = SimpleNamespace(hand_over=lambda link: None)
    links: dict[str, Any] = {name: Link() for name in "abcdefg"}

    def admit(name: str) -> set[str]:
        open_links.admit(name, accepted, links[name])  # type: ignore[arg-type]
        return {name for name, link in links.items() if link.closed}

    assert admit("a") == admit("b") == set()
    open_links.request_came("a")  # type: ignore[arg-type]
    assert admit("c") == {"b"}, "a has been heard from since"
    with open_links.keep_open("a"):  # type: ignore[arg-type]
        assert admit("d") == {"b", "c"}
        with open_links.keep_open("d"):  # type: ignore[arg-type]
            assert admit("e") == {"b", "c", "e"}, "both are being answered: the new one is closed"
        links["a"].abort()
        assert admit("f") == {"a", "b", "c", "e"}, "a is gone, and its place is free"

    def after(seconds: float) -> set[str]:
        nonlocal now
        now = begun + seconds

        looks: list[float] = []

        async def one_look(pause: float) -> None:
            looks.append(pause)
            if len(looks) > 1:
                raise asyncio.CancelledError

        monkeypatch.setattr(connecting.asyncio, "sleep", one_look)
        with suppress(asyncio.CancelledError):
            open_links.close_idle().send(None)
        return {name for name in "df" if links[name].closed}

    assert after(connecting.IDLE_SECONDS - 1) == set()
    with open_links.keep_open("d"):  # type: ignore[arg-type]
        assert after(connecting.IDLE_SECONDS + 40) == {"f"}
    assert after(2 * connecting.IDLE_SECONDS + 39) == {"f"}, "since it was answered, d waits anew"
    assert after(2 * connecting.IDLE_SECONDS + 41) == {"d", "f"}


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("", (0, 100)), ("?after=0&most=1", (0, 1)), ("?after=7&most=1000", (7, 1000)), ("?most=0", None), ("?after=-1", None),
        ("?most=1.5", None), ("?after=1&after=2", None), ("?most=", None), ("?after=9" + 20 * "9", None), ("?most=1001", None),
    ],
)  # fmt: skip
def test_which_pages_may_be_asked_for(query: str, page: tuple[int, int] | None) -> None:
    ids = [f"c{n}" for n in range(2000)]
    queue = SimpleNamespace(case_ids=lambda: ids, sitting=SimpleNamespace(rubric=NOTE, jury=SimpleNamespace(name="panel")))  # fmt: skip
    service: Any = serving.Service(queue, None, None, None, max_body=9)  # type: ignore[arg-type]
    request = make_mocked_request("GET", f"/v1/deliberations{query}")
    try:
        told = json.loads(asyncio.run(service._list(request)).body)
    except RequestError as refused:
        assert page is None and refused.status == 422
        return
    assert page is not None and told == {"cases": ids[page[0] : page[0] + page[1]], "total": 2000}


@pytest.mark.parametrize(
    ("soft", "hard", "most", "raised", "allowed"),
    [(5000, 9000, 1000, None, 1000), (1000, 9000, 1000, 1256, 1000), (300, 600, 1000, 600, 344), (100, 200, 1000, 200, 1)],
)  # fmt: skip
def test_connections_are_as_many_as_files_may_be_open(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, most: int, raised: int | None, allowed: int
) -> None:
    set_to: list[Any] = []
    limits = SimpleNamespace(
        RLIMIT_NOFILE=7,
        RLIM_INFINITY=-1,
        getrlimit=lambda kind: (soft, hard),
        setrlimit=lambda kind, to: set_to.append(to),
    )
    monkeypatch.setattr(serving, "resource", limits)

    assert serving.allowed_connections(most) == allowed
    assert set_to == ([] if raised is None else [(raised, hard)])
