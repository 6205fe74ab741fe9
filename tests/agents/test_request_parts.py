"""A request and the way to its provider: what makes it another question, through which proxy it goes, how it is cut into batches."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
import zlib
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from yarl import URL

from venire import Case, Rubric, VenireError
from venire.agents.budget import BudgetSpent
from venire.agents.clients import batch
from venire.agents.clients.batch import (
    AnthropicBatches,
    BatchClient,
    BatchProvider,
    BatchSettings,
    OpenAIBatches,
    _message_body,
    _parts,
    batch_client,
)
from venire.agents.clients.endpoint import Answer, AnswerTooLong, _in_network, environment_proxy, inflate
from venire.agents.model import (
    AccessRefused,
    Message,
    ModelFailure,
    Reply,
    Request,
    Sampling,
    TransientFailure,
    Usage,
)
from venire.agents.prompting import brief
from venire.agents.tokens import impossible_usage
from venire.personas.jury import ModelSettings
from venire.rubrics.ballot import Schema, ballot_shape, inline

ASKED = Request("server/m", (Message("user", "body", "opening "),), None, Sampling(temperature=0.5), 0, 60.0)


def test_a_question_is_known_by_everything_that_can_change_its_answer(case: Case, rubric: Rubric) -> None:
    schema = inline(ballot_shape(rubric))
    others = [
        replace(ASKED, model="server/n"), replace(ASKED, repeat=1), replace(ASKED, settings=Sampling(temperature=1)), replace(ASKED, schema=schema),
        *(replace(ASKED, messages=(message,)) for message in (Message("user", "other", "opening "), Message("user", "body", "other "), Message("system", "body", "opening "))),
        replace(ASKED, messages=()),
    ]  # fmt: skip
    assert len({each.key for each in (ASKED, *others)}) == len(others) + 1
    assert replace(ASKED, timeout=1.0, max_reply=5).key == ASKED.key

    told = brief(case, rubric)
    one, other = (told.subject(seat, rubric.names, round=1) for seat in ("a", "b"))
    elsewhere = replace(one, case="z")
    for model, apart in (("server/m", 1), ("recorded/t#a", 3), ("person/ann", 3)):
        asked = [replace(ASKED, model=model, subject=subject) for subject in (one, other, elsewhere)]
        assert len({each.key for each in asked}) == apart, "who reads no words is asked by case and seat"


def test_the_form_of_an_answer_may_be_counted_in_its_prompt(rubric: Rubric) -> None:
    schema = inline(ballot_shape(rubric))
    most = 4 * (len("body") + len("opening ") + len(schema.text)) + 20_000
    with_form = replace(ASKED, schema=schema)

    assert impossible_usage(with_form, Reply("x", Usage(most, 1))) is None
    assert impossible_usage(with_form, Reply("x", Usage(most + 1, 1))) is not None
    assert impossible_usage(ASKED, Reply("x", Usage(most, 1))) is not None


@pytest.mark.parametrize(
    ("url", "variables", "proxy"),
    [
        ("https://h/v1", {}, None),
        ("https://h/v1", {"https_proxy": "http://p:1"}, "http://p:1"),
        ("http://h/v1", {"https_proxy": "http://p:1"}, None),
        ("http://h/v1", {"all_proxy": "p:1"}, "http://p:1"),
        ("http://h:8000/v1", {"all_proxy": "http://p:1", "no_proxy": "h"}, None),
        ("http://h:8000/v1", {"all_proxy": "http://p:1", "no_proxy": "h:8000"}, None),
        ("http://h:8001/v1", {"all_proxy": "http://p:1", "no_proxy": "h:8000"}, "http://p:1"),
        ("http://10.1.2.3/v1", {"all_proxy": "http://p:1", "no_proxy": "10.9.9.9/8"}, None),
        ("http://11.1.2.3/v1", {"all_proxy": "http://p:1", "no_proxy": "10.0.0.0/8"}, "http://p:1"),
    ],
)
def test_a_request_goes_through_the_proxy_of_its_scheme_unless_its_host_is_excepted(
    monkeypatch: pytest.MonkeyPatch, url: str, variables: dict[str, str], proxy: str | None
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert environment_proxy(URL(url)) == (None if proxy is None else URL(proxy))
    assert _in_network("h", "10.0.0.0/8") is False and _in_network("10.1.1.1", "x/y, 10.0.0.7/8") is True


@pytest.mark.parametrize(("encoding", "pack"), [("gzip", gzip.compress), (" X-GZIP", gzip.compress), ("deflate", zlib.compress)])  # fmt: skip
def test_an_answer_is_inflated_to_no_more_than_it_may_have(encoding: str, pack: Any) -> None:
    assert inflate(pack(b"a" * 100), encoding, 100) == b"a" * 100
    with pytest.raises(AnswerTooLong):
        inflate(pack(b"a" * 101), encoding, 100)
    with pytest.raises(ConnectionError, match="cut short"):
        inflate(pack(b"a" * 50)[:-4], encoding, 100)
    with pytest.raises(ConnectionError, match="not compressed"):
        inflate(b"plain", encoding, 100)
    with pytest.raises(ConnectionError, match="not requested"):
        inflate(b"x", "br", 100)
    assert inflate(b"x", "identity", 1) == b"x"


@pytest.mark.parametrize(
    ("one_model", "sizes", "parts"),
    [
        (False, [("m", 4), ("n", 4)], [2]), (True, [("m", 4), ("n", 4), ("m", 4)], [2, 1]), (False, [("m", 4)] * 7, [3, 3, 1]),
        (False, [("m", 60), ("m", 60), ("m", 30), ("m", 60)], [1, 2, 1]), (False, [("m", 500)], [1]), (False, [], []),
    ],
)  # fmt: skip
def test_a_batch_is_cut_by_number_by_size_and_by_model(
    monkeypatch: pytest.MonkeyPatch, one_model: bool, sizes: list[tuple[str, int]], parts: list[int]
) -> None:
    monkeypatch.setattr(batch, "MOST_REQUESTS", 3)
    monkeypatch.setattr(batch, "MOST_BYTES", 100)
    waiting: Any = {
        f"r{n}": (replace(ASKED, model=model, messages=(Message("user", "x" * size),)), None)
        for n, (model, size) in enumerate(sizes)
    }
    provider: Any = SimpleNamespace(one_model=one_model)
    made = _parts(waiting, provider)

    assert [len(part) for part in made] == parts
    assert sorted(name for part in made for name in part) == sorted(waiting)
    assert not one_model or all(len({request.model for request, _ in part.values()}) == 1 for part in made)


def test_of_batches_noted_before_the_latest_holds_a_request() -> None:
    facts = {"batch b": '{"at": 2, "requests": ["x", "y"]}', "batch a": '{"at": 3, "requests": ["x"]}', "batch c": '{"at": 1, "requests": ["x", "z"]}'}  # fmt: skip
    settings = BatchSettings(say=lambda line: None)
    settings.notes = SimpleNamespace(facts=lambda prefix: facts)  # type: ignore[assignment]
    client: Any = SimpleNamespace(context_window=1, secrets=())

    async def noted() -> dict[str, str]:
        return BatchClient(client, None, settings)._noted_requests()  # type: ignore[arg-type]

    assert asyncio.run(noted()) == {"x": "batch a", "y": "batch b", "z": "batch c"}


def test_an_answer_out_of_a_batch_is_read_as_one_outside_it() -> None:
    provider = AnthropicBatches("http://h", {}, 0.0)
    message: dict[str, Any] = {
        "content": [{"type": "text", "text": "a"}, {"type": "tool_use", "input": {"x": 1}}],
        "usage": {"input_tokens": 3, "cache_creation_input_tokens": 4, "cache_read_input_tokens": 5, "output_tokens": 6},
        "stop_reason": "end_turn",
    }  # fmt: skip

    def read(**changes: Any) -> Reply:
        return provider.reply({"type": "succeeded", "message": {**message, **changes}}, 2.0)

    assert (read().text, read().usage, read().usd, read().seconds) == (
        'a{"x": 1}',
        Usage(12, 6, 5),
        None,
        2.0,
    )
    assert [read(stop_reason=why).finish for why in ("end_turn", "max_tokens", "refusal")] == ["stop", "length", "refusal"]  # fmt: skip
    for kind, failure in (("overloaded_error", TransientFailure), ("invalid_request_error", ModelFailure)):
        with pytest.raises(failure):
            provider.reply({"type": "errored", "error": {"error": {"type": kind, "message": "m"}}}, 0.0)


class Notes:
    """What is written down of batches, and when: before or after a batch is made."""

    def __init__(self, did: list[str]) -> None:
        self.kept: dict[str, str] = {}
        self._did = did

    async def note(self, name: str, value: str) -> None:
        self._did.append("note")
        self.kept[name] = value

    def facts(self, prefix: str) -> dict[str, str]:
        return {name: value for name, value in self.kept.items() if name.startswith(prefix)}


class MemoryBatches(BatchProvider):
    """A provider of batches that answers by `answer`, which may leave a request out."""

    def __init__(self, answer: Any) -> None:
        super().__init__("http://h", {}, 0.0)
        self.answer, self.did = answer, list[str]()
        self.made: dict[str, list[str]] = {}
        self._uploads: dict[str, list[Request]] = {}

    async def upload(self, requests: Any) -> str:
        self.did.append("upload")
        upload = f"u{len(self._uploads)}"
        self._uploads[upload] = dict(requests)
        return upload

    async def create(self, upload: str) -> str:
        self.did.append("create")
        self.made[upload] = list(self._uploads[upload])
        return upload

    async def find(self, upload: str, at: float, requests: Any) -> str | None:
        self.did.append("find")
        return upload if upload in self.made else None

    async def ended(self, batch: str) -> bool:
        self.did.append("ended")
        await asyncio.sleep(0.02)
        return self.did.count("ended") % 2 == 0

    async def results(self, batch: str) -> dict[str, Any]:
        asked = self._uploads[batch]
        told = {name: self.answer(request) for name, request in asked.items()}
        return {name: answer for name, answer in told.items() if answer is not None} | {"stranger": "x"}

    def reply(self, result: Any, seconds: float) -> Reply:
        if isinstance(result, Exception):
            raise result
        return Reply(result, seconds=seconds)


def in_batches(provider: MemoryBatches, notes: Notes | None, *numbers: int, client: Any = None) -> list[Any]:
    """The replies or errors to requests that come together, by number, of one client after another."""
    settings = BatchSettings(gather=0.005, poll=0.001, say=lambda line: provider.did.append("say"))
    settings.notes = notes

    async def main() -> list[Any]:
        behind: Any = SimpleNamespace(
            context_window=7, secrets=("s",), close=lambda: asyncio.sleep(0), list_price=lambda model: model
        )
        batches = BatchClient(behind, provider, settings)
        assert (batches.context_window, batches.secrets, batches.list_price("m")) == (7, ("s",), "m")
        waiting = [asyncio.create_task(batches.complete(replace(ASKED, repeat=number))) for number in numbers]
        try:
            return await asyncio.gather(*waiting, return_exceptions=True)
        finally:
            await batches.close()

    return asyncio.run(main())


def test_what_waits_together_goes_out_as_one_batch_that_is_noted_before_it_is_made() -> None:
    odd = {1: None, 2: ModelFailure("refused", "no"), 3: KeyError("x")}
    provider = MemoryBatches(lambda request: odd.get(request.repeat, f"answer {request.repeat}"))
    notes, began = Notes(provider.did), time.monotonic()
    answered, without, failed, unread, last = in_batches(provider, notes, 0, 1, 2, 3, 4)
    # Of the batch's time, each request has its part.
    assert 0.03 < 5 * answered.seconds <= time.monotonic() - began

    assert provider.did[:3] == ["upload", "note", "create"] and provider.did.count("create") == 1
    assert (answered.text, last.text) == ("answer 0", "answer 4")
    assert isinstance(without, TransientFailure) and failed is odd[2] and isinstance(unread, TransientFailure)
    ((_, noted),) = notes.kept.items()
    assert len(json.loads(noted)["requests"]) == 5 and json.loads(noted)["at"] > 1e9


def test_the_next_session_picks_up_what_is_out_and_sends_the_rest() -> None:
    provider = MemoryBatches(lambda request: f"answer {request.repeat}")
    notes = Notes(provider.did)
    in_batches(provider, notes, 0, 1)
    again = in_batches(provider, notes, 0, 1, 2)
    assert [reply.text for reply in again] == ["answer 0", "answer 1", "answer 2"]
    assert sorted(map(len, provider.made.values())) == [1, 2] and provider.did.count("find") == 1
    # Noted and never made: it is made now, once.
    del provider.made["u0"]
    assert [reply.text for reply in in_batches(provider, notes, 0, 1)] == ["answer 0", "answer 1"]
    assert sorted(map(len, provider.made.values())) == [1, 2] and "u0" not in provider.made


def test_a_request_that_came_back_without_an_answer_goes_out_anew() -> None:
    tries: list[int] = []
    provider = MemoryBatches(lambda request: tries.append(1) or (None if len(tries) == 1 else "late"))
    notes = Notes(provider.did)
    settings = BatchSettings(gather=0.001, poll=0.001, say=lambda line: None)
    settings.notes = notes

    async def main() -> Reply:
        behind: Any = SimpleNamespace(context_window=7, secrets=(), close=lambda: asyncio.sleep(0))
        batches = BatchClient(behind, provider, settings)
        with pytest.raises(TransientFailure):
            await batches.complete(ASKED)
        reply = await batches.complete(ASKED)
        waiting = asyncio.create_task(batches.complete(replace(ASKED, repeat=1)))
        await asyncio.sleep(0)
        batches.stop_waiting()
        with pytest.raises(BudgetSpent):
            await waiting
        await batches.close()
        return reply

    assert asyncio.run(main()).text == "late"
    assert len(provider.made) == 2


class Told(OpenAIBatches):
    """OpenAI's protocol over answers in memory, by path."""

    def __init__(self, **pages: Any) -> None:
        super().__init__("http://h/", {}, 0.0)
        self.pages, self.asked = pages, list[str]()

    async def ask(self, path: str, body: bytes | None = None, **headers: str) -> bytes:
        self.asked.append(path)
        answer = self.pages[path.strip("/").replace("/", "_").partition("?")[0]]
        answer = answer.pop(0) if isinstance(answer, list) else answer
        return answer if isinstance(answer, bytes) else json.dumps(answer).encode()


def test_openais_batches_are_found_on_any_page_and_read_from_both_files() -> None:
    def page(more: bool, *files: str) -> dict[str, Any]:
        return {"data": [{"id": f"b-{file}", "input_file_id": file} for file in files], "has_more": more}

    def found(upload: str, *pages: Any) -> tuple[str | None, list[str]]:
        provider = Told(batches=list(pages))
        return asyncio.run(provider.find(upload, 0.0, ())), provider.asked

    assert found("f2", page(True, "f0", "f1"), page(False, "f2"))[0] == "b-f2"
    assert found("f2", page(True, "f0", "f1"), page(False, "f2"))[1][1].endswith("&after=b-f1")
    assert found("f9", page(True, "f0"), page(False, "f1"))[0] is None
    assert found("f9", page(True))[0] is None
    for status, over in {"completed": True, "failed": True, "expired": True, "cancelled": True, "in_progress": False, "cancelling": False}.items():  # fmt: skip
        assert asyncio.run(Told(batches_b={"status": status}).ended("b")) is over

    lines = b'{"custom_id": "x", "response": {"status_code": 200, "body": {}}}\nnot json\n{"id": 1}\n[]'
    told = {"output_file_id": "o", "error_file_id": "e"}
    provider = Told(
        batches_b=told,
        files_o_content=lines,
        files_e_content=b'{"custom_id": "y", "error": {"message": "m"}}',
    )
    results = asyncio.run(provider.results("b"))
    assert results == {
        "x": {"status_code": 200, "body": {}},
        "y": {"custom_id": "y", "error": {"message": "m"}},
    }
    assert asyncio.run(Told(batches_b={"output_file_id": None}).results("b")) == {}

    body = {
        "choices": [{"message": {"content": "4"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    }
    reply = provider.reply({"status_code": 200, "body": body}, 2.0)
    assert (reply.text, reply.usage, reply.seconds) == ("4", Usage(3, 1, 0), 2.0)
    for result, kind in (
        (results["y"], TransientFailure), ({"status_code": 400, "body": {}}, ModelFailure),
        ({"status_code": 401, "body": {}}, AccessRefused), ({"status_code": 200, "body": {"x": 1}}, TransientFailure),
    ):  # fmt: skip
        with pytest.raises(ModelFailure) as failed:
            provider.reply(result, 0.0)
        assert type(failed.value) is kind


def test_anthropics_request_keeps_the_system_apart_and_asks_for_a_form_by_a_tool() -> None:
    settings = Sampling(temperature=0.5, seed=4, base_url="http://h")
    messages = (Message("system", "Be fair."), Message("user", "Score.", "Case. "), Message("assistant", "4"))
    asked = Request("anthropic/c", messages, None, settings, 0, 60.0)

    plain = {
        "model": "c", "max_tokens": 4096, "system": "Be fair.", "temperature": 0.5,
        "messages": [{"role": "user", "content": "Case. Score."}, {"role": "assistant", "content": "4"}],
    }  # fmt: skip
    assert _message_body(asked) == plain
    shaped = _message_body(replace(asked, schema=Schema({"type": "object"}), settings=Sampling(max_tokens=9)))
    assert shaped["max_tokens"] == 9 and shaped["tool_choice"] == {"type": "tool", "name": "answer"}
    assert shaped["tools"] == [{"name": "answer", "input_schema": {"type": "object"}}]


def attempts(monkeypatch: pytest.MonkeyPatch, *answers: Any) -> list[bytes | None]:
    """What is sent from here on, answered by these in turn: a body, or a failure."""
    left, sent = list(answers), list[bytes | None]()

    async def attempt(endpoint: Any, body: bytes | None) -> Any:
        sent.append(body)
        answer = left.pop(0)
        return answer if isinstance(answer, ModelFailure) else Answer(200, {}, json.dumps(answer).encode())

    monkeypatch.setattr(BatchProvider, "_attempt", staticmethod(attempt))
    return sent


BUSY, NEVER = TransientFailure("HTTP 503"), AccessRefused("HTTP 401")


def test_a_question_about_a_batch_is_asked_again_while_that_may_help(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = OpenAIBatches("http://h", {}, 0.0)
    for answers, failure in (([BUSY] * 7 + [{"x": 1}], None), ([BUSY] * 8, BUSY), ([BUSY, NEVER], NEVER)):
        sent = attempts(monkeypatch, *answers)
        if failure is None:
            assert json.loads(asyncio.run(provider.ask("/x"))) == {"x": 1}
        else:
            with pytest.raises(ModelFailure) as failed:
                asyncio.run(provider.ask("/x"))
            assert failed.value is failure
        assert len(sent) == len(answers)


def test_an_order_that_failed_is_looked_for_before_it_is_given_again(monkeypatch: pytest.MonkeyPatch) -> None:
    none, there = {"data": []}, {"data": [{"id": "b", "input_file_id": "u"}]}
    openai = OpenAIBatches("http://h", {}, 0.0)
    for answers, made in (
        ([{"id": "b"}], "b"),
        ([BUSY, there], "b"),
        ([BUSY, none, {"id": "c"}], "c"),
        ([BUSY, none] * 8, BUSY),
        ([NEVER], NEVER),
    ):
        sent = attempts(monkeypatch, *answers)
        if isinstance(made, str):
            assert asyncio.run(openai.create("u")) == made
        else:
            with pytest.raises(ModelFailure) as failed:
                asyncio.run(openai.create("u"))
            assert failed.value is made
        assert len(sent) == len(answers) and b'"input_file_id": "u"' in (sent[0] or b"")

    def created(at: float, *names: str, counts: int = 1) -> dict[str, Any]:
        when = datetime.fromtimestamp(at, UTC).isoformat()
        return {"data": [{"id": "b", "created_at": when, "request_counts": {"processing": counts}}]}

    ended, now = {"processing_status": "ended"}, time.time()
    for answers, made in (
        ([{"id": "b"}], "b"),
        ([BUSY, created(now), ended, {"custom_id": "r"}], "b"),
        ([BUSY, created(now), ended, {"custom_id": "else"}, {"id": "c"}], "c"),
        ([BUSY, created(now, counts=2), {"id": "c"}], "c"),
        ([BUSY, created(now - 300), {"id": "c"}], "c"),
        ([BUSY, none] * 7 + [BUSY], BUSY),
        ([NEVER], NEVER),
    ):
        anthropic = AnthropicBatches("http://h", {}, 0.0)
        upload = asyncio.run(anthropic.upload({"r": replace(ASKED, model="anthropic/c")}))
        sent = attempts(monkeypatch, *answers)
        if isinstance(made, str):
            assert asyncio.run(anthropic.create(upload)) == made
        else:
            with pytest.raises(ModelFailure) as failed:
                asyncio.run(anthropic.create(upload))
            assert failed.value is made
        assert len(sent) == len(answers)
        assert json.loads(sent[0] or b"")["requests"][0]["custom_id"] == "r"


def test_who_waits_for_a_batch_that_is_out_is_told_that_the_run_stops() -> None:
    provider, said = MemoryBatches(lambda request: "late"), list[str]()
    settings = BatchSettings(gather=0.0, poll=0.05, say=said.append)

    async def main() -> list[Any]:
        behind: Any = SimpleNamespace(context_window=7, secrets=(), close=lambda: asyncio.sleep(0))
        batches = BatchClient(behind, provider, settings)
        waiting = [asyncio.create_task(batches.complete(replace(ASKED, repeat=n))) for n in range(2)]
        await asyncio.sleep(0.02)
        batches.stop_waiting()
        told = await asyncio.gather(*waiting, return_exceptions=True)
        await batches.close()
        return told

    assert [type(each) for each in asyncio.run(main())] == [BudgetSpent, BudgetSpent]
    assert any(line.startswith("2 requests are still in batches") for line in said)


@pytest.mark.parametrize(
    ("declared", "model", "kind"),
    [
        ({"in_process": True}, "server/m", None), ({"votes_only": True}, "server/m", None), ({"context_window": None}, "server/m", None),
        ({}, "server/m", OpenAIBatches), ({}, "mistral/m", VenireError),
    ],
)  # fmt: skip
def test_only_models_elsewhere_are_asked_in_batches(declared: dict[str, Any], model: str, kind: Any) -> None:
    client: Any = SimpleNamespace(
        **{"in_process": False, "votes_only": False, "context_window": 9, "secrets": (), **declared}
    )
    seat = ModelSettings(model=model, base_url="http://127.0.0.1:9/v1")
    settings = BatchSettings(say=lambda line: None)
    if kind is VenireError:
        with pytest.raises(VenireError, match="in batches"):
            batch_client(seat, client, settings)
        return
    made: Any = batch_client(seat, client, settings)
    assert (made is client) is (kind is None)
    assert kind is None or (type(made._provider) is kind and made.batched and not made.reports_cost)
