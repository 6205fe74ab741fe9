"""What is cut into batches, looked for among them and read from their results, by each provider's protocol and without a server."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from venire.agents.clients import batch
from venire.agents.clients.batch import AnthropicBatches, BatchClient, BatchSettings, OpenAIBatches
from venire.agents.clients.server import ServerClient
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
from venire.rubrics.ballot import Schema

OPENAI, ANTHROPIC = OpenAIBatches("http://h/v1/", {}, 0.0), AnthropicBatches("http://h", {}, 0.0)


def request_of(model: str, text: str, **settings: Any) -> Request:
    messages = (Message("system", "Be brief."), Message("user", text, "Case. "), Message("assistant", "No."))
    return Request(model, messages, None, Sampling(settings), 0, 60.0)


def test_batches_hold_so_many_requests_and_so_much_text_and_where_it_is_asked_one_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batch, "MOST_REQUESTS", 3)
    monkeypatch.setattr(batch, "MOST_BYTES", 60)
    # "Be brief.", "Case. " and "No." have 18 characters.
    sizes = {"a": ("m", 20), "b": ("n", 42), "c": ("m", 20), "d": ("m", 22), "e": ("m", 24), "f": ("m", 60), "g": ("m", 19)}  # fmt: skip
    waiting: Any = {
        name: (request_of(f"openai/{model}", "x" * (size - 18)), None)
        for name, (model, size) in sizes.items()
    }

    def parts(provider: Any) -> list[str]:
        return ["".join(part) for part in batch._parts(waiting, provider)]

    # m: 20 + 20, where 22 more are too much; 22 + 24; 60 alone.
    assert parts(OPENAI) == ["ac", "de", "f", "g", "b"]
    assert parts(ANTHROPIC) == ["a", "b", "cd", "e", "f", "g"]
    monkeypatch.setattr(batch, "MOST_BYTES", 1000)
    assert parts(OPENAI) == ["acd", "efg", "b"]
    # Bytes and not characters are limited.
    waiting = {name: (request_of("openai/m", "語" * 12), None) for name in "hi"}
    for most, expected in ((108, ["hi"]), (107, ["h", "i"])):
        monkeypatch.setattr(batch, "MOST_BYTES", most)
        assert parts(OPENAI) == expected


def told_by(provider: Any, pages: dict[str, Any]) -> Any:
    """The provider, whose questions are answered from `pages`."""

    async def ask(path: str, body: bytes | None = None, **headers: str) -> bytes:
        page = pages[path]
        return page if isinstance(page, bytes) else json.dumps(page).encode()

    provider.ask = ask
    return provider


def test_openais_batch_is_found_by_its_file_on_whatever_page_it_stands() -> None:
    batches = [{"id": f"b{n}", "input_file_id": f"f{n}"} for n in range(3)]
    pages = {
        "/batches?limit=100": {"data": batches[:2], "has_more": True},
        "/batches?limit=100&after=b1": {"data": batches[2:], "has_more": False},
    }
    provider = told_by(OpenAIBatches("http://h", {}, 0.0), pages)
    found = [asyncio.run(provider.find(upload, 0.0, ())) for upload in ("f0", "f1", "f2", "f3")]

    assert found == ["b0", "b1", "b2", None]
    empty = told_by(OpenAIBatches("http://h", {}, 0.0), {"/batches?limit=100": {"data": [], "has_more": True}})  # fmt: skip
    assert asyncio.run(empty.find("f0", 0.0, ())) is None


def test_anthropics_batch_is_found_by_its_size_its_time_and_its_requests() -> None:
    def made(name: str, at: str, *counts: int) -> dict[str, Any]:
        return {"id": name, "created_at": f"2026-01-01T{at}Z", "request_counts": dict(enumerate(counts))}

    ten = 1_767_261_600.0  # 10:00 on that day
    first = [made("old", "09:58:59", 2), made("larger", "10:00:00", 2, 1), made("other", "10:00:01", 1, 1)]
    pages: dict[str, Any] = {
        "/v1/messages/batches?limit=100": {"data": first, "has_more": True},
        "/v1/messages/batches?limit=100&after_id=other": {"data": [made("own", "09:59:01", 0, 2)]},
    }
    for name, requests in {"old": "pq", "other": "xy", "own": "pq"}.items():
        pages[f"/v1/messages/batches/{name}"] = {"processing_status": "ended"}
        lines = [json.dumps({"custom_id": each, "result": {"type": "expired"}}) for each in requests]
        pages[f"/v1/messages/batches/{name}/results"] = "\n".join(lines).encode()
    provider = told_by(AnthropicBatches("http://h", {}, 0.0), pages)

    assert asyncio.run(provider.find("u", ten, ("p", "q"))) == "own"
    assert asyncio.run(provider.find("u", ten + 120, ("p", "q"))) is None


def test_openais_results_are_those_of_both_files_without_lines_that_are_none() -> None:
    answered = {"custom_id": "p", "response": {"status_code": 200, "body": {}}}
    failed = {"custom_id": "q", "response": None, "error": {"message": "expired"}}
    pages: dict[str, Any] = {
        "/batches/b": {"output_file_id": "o", "error_file_id": "e"},
        "/batches/c": {"output_file_id": None, "error_file_id": "e"},
        "/files/o/content": b'{"custom_id": 7}\n[1]\n{"cut\n' + json.dumps(answered).encode(),
        "/files/e/content": json.dumps(failed).encode(),
    }
    provider = told_by(OpenAIBatches("http://h", {}, 0.0), pages)

    assert asyncio.run(provider.results("b")) == {"p": answered["response"], "q": failed}
    assert asyncio.run(provider.results("c")) == {"q": failed}


def test_openais_replies_and_failures() -> None:
    body = {"choices": [{"message": {"content": "yes"}}], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}  # fmt: skip
    reply = OPENAI.reply({"status_code": 200, "body": body}, 1.5)
    assert (reply.text, reply.usage, reply.seconds) == ("yes", Usage(3, 1), 1.5)
    for result, kind, words in (
        ({"error": {"message": "expired"}}, TransientFailure, "HTTP 500.*expired"),
        ({"status_code": 429, "body": {"error": "slow"}}, TransientFailure, "HTTP 429.*slow"),
        ({"status_code": 401, "body": {}}, AccessRefused, "HTTP 401"),
        ({"status_code": 200, "body": {"odd": 1}}, TransientFailure, "not a chat completion.*odd"),
    ):
        with pytest.raises(kind, match=words):
            OPENAI.reply(result, 1.0)


def test_anthropics_replies_count_what_was_cached_and_what_was_put_there_as_prompt() -> None:
    content: list[Any] = [{"type": "text", "text": "So: "}, {"type": "tool_use", "input": {"x": 1}}, {"type": "thinking"}]  # fmt: skip
    usage = {"input_tokens": 100, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 3, "output_tokens": 7}  # fmt: skip

    def reply(**parts: Any) -> Reply:
        return ANTHROPIC.reply({"type": "succeeded", "message": {"content": content, **parts}}, 2.5)

    whole = reply(usage=usage, stop_reason="tool_use", model="claude-x")
    assert (whole.text, whole.usage, whole.usd) == ('So: {"x": 1}', Usage(123, 7, 20), None)
    assert (whole.seconds, whole.finish, whole.version) == (2.5, "stop", "claude-x")
    assert [reply(stop_reason=stop).finish for stop in ("refusal", "max_tokens", None)] == ["refusal", "length", "stop"]  # fmt: skip
    assert reply().usage == Usage()


@pytest.mark.parametrize(
    ("kind", "error", "failure"),
    [
        ("errored", "authentication_error", AccessRefused),
        ("errored", "not_found_error", AccessRefused),
        ("errored", "invalid_request_error", ModelFailure),
        ("errored", "request_too_large", ModelFailure),
        ("errored", "overloaded_error", TransientFailure),
        ("expired", None, TransientFailure),
    ],
)
def test_anthropics_failures(kind: str, error: str | None, failure: type[Exception]) -> None:
    told = {"error": {"error": {"type": error, "message": "why"}}} if error else {}
    with pytest.raises(ModelFailure) as raised:
        ANTHROPIC.reply({"type": kind, **told}, 1.0)
    assert type(raised.value) is failure and ("why" in str(raised.value)) is (error is not None)


def test_anthropics_request_has_its_system_apart_and_a_shape_as_a_tool() -> None:
    plain = batch._message_body(request_of("anthropic/a/b", "Well?", temperature=0.5, base_url="u", seed=3))
    assert plain == {
        "model": "a/b",
        "max_tokens": 4096,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "Case. Well?"}, {"role": "assistant", "content": "No."}],
        "temperature": 0.5,
    }
    asked = Request("anthropic/m", (), Schema({"type": "object"}), Sampling(max_tokens=9), 0, 60.0)
    shaped = batch._message_body(asked)
    assert shaped["max_tokens"] == 9 and shaped["tools"][0]["input_schema"] == {"type": "object"}
    assert shaped["tool_choice"]["name"] == shaped["tools"][0]["name"]


class Noted:
    """A run's notes, which are there already."""

    def __init__(self, kept: dict[str, str]) -> None:
        self.kept = kept

    async def note(self, name: str, value: str) -> None:
        self.kept[name] = value

    def facts(self, prefix: str) -> dict[str, str]:
        return {name: value for name, value in self.kept.items() if name.startswith(prefix)}


def test_a_request_that_went_out_twice_is_looked_for_in_the_later_batch() -> None:
    kept = {
        "batch z": json.dumps({"requests": ["p", "q"], "at": 1.0}),
        "batch a": json.dumps({"requests": ["q", "r"], "at": 2.0}),
        "other": "{}",
    }
    settings = BatchSettings(say=lambda line: None)
    client = BatchClient(ServerClient("http://h", None), OPENAI, settings)
    assert client._noted_requests() == {}
    settings.notes = Noted(kept)
    assert client._noted_requests() == {"p": "batch z", "q": "batch a", "r": "batch a"}
    asyncio.run(client.close())
