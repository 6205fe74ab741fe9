"""The client of OpenAI-compatible servers without a server: what is sent, and what is read out of what comes back."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from venire.agents.clients.endpoint import Answer, AnswerCut, AnswerTooLong, ProxyFailure
from venire.agents.clients.server import ServerClient, chat_body, chat_reply, probe
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
from venire.personas.jury import ModelSettings
from venire.rubrics.ballot import Schema

SECRET = "sk-canary-0123456789"
SCHEMA = Schema({"type": "object"})


def asked(schema: Schema | None = None, repeat: int = 0, **settings: Any) -> Request:
    messages = (Message("system", 'Be "fair".'), Message("user", "Score it.\n", "The case. "))
    return Request("server/org/m", messages, schema, Sampling(settings), repeat, 60.0, max_reply=77)


def completion(**changes: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": "4"} | changes.pop("message", {})
    choice = {"message": message, "finish_reason": changes.pop("finish", "stop")}
    usage = {"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 2}}
    return {"choices": [choice], "usage": usage, "model": "org/m-2", **changes}


@pytest.mark.parametrize("form", ["json_schema", "json_object", "text"])
@pytest.mark.parametrize("schema", [None, SCHEMA])
def test_a_request_has_the_models_own_name_its_messages_and_the_form(form: Any, schema: Any) -> None:
    body = json.loads(chat_body(asked(schema, 2, seed=40, temperature=0.5, base_url="http://h"), form))
    wanted = body.pop("response_format", None)

    assert body == {
        "model": "org/m",
        "messages": [
            {"role": "system", "content": 'Be "fair".'},
            {"role": "user", "content": "The case. Score it.\n"},
        ],
        "seed": 42,
        "temperature": 0.5,
    }
    if schema is None or form == "text":
        assert wanted is None
    elif form == "json_object":
        assert wanted == {"type": "json_object"}
    else:
        assert wanted == {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": {"type": "object"}},
        }
    assert set(json.loads(chat_body(asked(base_url="http://h")))) == {"model", "messages"}


@pytest.mark.parametrize(
    ("answer", "text", "finish"),
    [
        (completion(), "4", "stop"),
        (completion(finish="length"), "4", "length"),
        (completion(finish="content_filter"), "4", "refusal"),
        (completion(finish="tool_calls"), "4", "stop"),
        (completion(message={"refusal": "No."}), "No.", "refusal"),
        (completion(message={"content": None}), "", "stop"),
        (completion(message={"content": None, "refusal": "No."}, finish="length"), "No.", "refusal"),
        (completion(error=None), "4", "stop"),
        (completion(error={"message": "down"}), None, ""),
        (completion(message={"content": [{"text": "4"}]}), None, ""),
        (completion(choices=[]), None, ""),
        ({"detail": "no"}, None, ""),
        ([], None, ""),
    ],
)
def test_a_completion_is_read_with_why_it_ended(answer: Any, text: str | None, finish: str) -> None:
    reply = chat_reply(json.dumps(answer).encode(), 1.5)

    if text is None:
        assert reply is None
    else:
        assert reply == Reply(text, Usage(9, 3, 2), None, 1.5, finish, version="org/m-2")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        (None, Usage()),
        ([], Usage()),
        ({}, Usage()),
        ({"prompt_tokens": 5, "completion_tokens": 6}, Usage(5, 6, 0)),
        ({"prompt_tokens": 5, "completion_tokens": 6, "prompt_tokens_details": 3}, Usage(5, 6, 0)),
        ({"prompt_tokens": "5", "completion_tokens": 6}, Usage(-1, 6, 0)),
    ],
)
def test_tokens_are_those_that_the_server_tells(usage: Any, read: Usage) -> None:
    reply = chat_reply(json.dumps(completion(usage=usage)).encode(), 0.0)
    assert reply is not None and reply.usage == read
    for digits in (60, 5000):
        absurd = json.dumps(completion()).replace('"prompt_tokens": 9', f'"prompt_tokens": {"9" * digits}')
        far = chat_reply(absurd.encode(), 0.0)
        assert far is not None and far.text == "4" and far.usage.prompt == -1


class Wire:
    """In the place of an endpoint: gives its answers one after the other, and keeps what was sent."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.sent = list(answers), list[Any]()

    async def post(self, body: bytes, longest: int) -> Answer:
        assert longest == 77
        self.sent.append(json.loads(body))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        status, text, *headers = answer
        return Answer(status, headers[0] if headers else {}, text.encode() if isinstance(text, str) else json.dumps(text).encode())  # fmt: skip


def ask(*answers: Any, schema: Schema | None = SCHEMA) -> tuple[Any, Wire]:
    client, wire = ServerClient("http://127.0.0.1:9/v1", SECRET), Wire(*answers)
    client._endpoint = wire  # type: ignore[assignment]
    try:
        return asyncio.run(client.complete(asked(schema))), wire
    except ModelFailure as failure:
        return failure, wire


FORM = (400, "unknown field response_format")


@pytest.mark.parametrize(
    ("answers", "schema", "forms", "kind"),
    [
        ([(200, completion())], SCHEMA, ["json_schema"], Reply),
        ([FORM, (200, completion())], SCHEMA, ["json_schema", "json_object"], Reply),
        ([FORM, (422, "GRAMMAR"), (200, completion())], SCHEMA, ["json_schema", "json_object", None], Reply),
        ([FORM, FORM, FORM], SCHEMA, ["json_schema", "json_object", None], ModelFailure),
        ([FORM], None, [None], ModelFailure),
        ([(400, "too long")], SCHEMA, ["json_schema"], ModelFailure),
        ([(500, "response_format")], SCHEMA, ["json_schema"], TransientFailure),
        ([(404, "no model")], SCHEMA, ["json_schema"], AccessRefused),
        ([ConnectionResetError("gone")], SCHEMA, ["json_schema"], TransientFailure),
        ([ProxyFailure("no", 407)], SCHEMA, ["json_schema"], AccessRefused),
        ([ProxyFailure("no", 502)], SCHEMA, ["json_schema"], TransientFailure),
        ([AnswerTooLong()], SCHEMA, ["json_schema"], ModelFailure),
    ],
)
def test_a_server_that_does_not_know_a_form_is_asked_for_less(
    answers: list[Any], schema: Any, forms: list[str | None], kind: type
) -> None:
    result, wire = ask(*answers, schema=schema)

    assert [sent.get("response_format", {}).get("type") for sent in wire.sent] == forms
    assert type(result) is kind and not wire.answers
    if isinstance(answers[-1], AnswerTooLong):
        assert result.received is not None and len(result.received.text) == 77


def test_the_weaker_form_is_kept_for_the_rest_of_the_run() -> None:
    client, wire = ServerClient("http://127.0.0.1:9/v1", None), Wire(FORM, *[(200, completion())] * 2)
    client._endpoint = wire  # type: ignore[assignment]

    async def twice() -> None:
        for _ in range(2):
            await client.complete(asked(SCHEMA))

    asyncio.run(twice())
    assert [sent["response_format"]["type"] for sent in wire.sent] == [
        "json_schema",
        "json_object",
        "json_object",
    ]


def test_what_came_in_the_place_of_an_answer_is_charged_and_quoted_without_the_key() -> None:
    parts = completion(message={"content": [{"text": "4"}, {"text": "5"}]})
    odd, _ = ask((200, parts))
    assert isinstance(odd, TransientFailure) and odd.received is not None
    assert (odd.received.text, odd.received.usage) == ("45", Usage(9, 3, 2))
    page, _ = ask((200, f"<html>{SECRET}" + " x" * 300))
    assert "not a chat completion" in page.detail and SECRET not in page.detail and len(page.detail) < 260
    assert page.received.usage == Usage() and "<html>" in page.received.text
    cut, _ = ask(AnswerCut(json.dumps(completion()).encode()))
    assert isinstance(cut, TransientFailure) and cut.received is not None and cut.received.text == "4"
    moved, _ = ask((302, "", {"Location": f"https://else/{SECRET}?q=1"}))
    assert SECRET not in moved.detail and "https://else/" in moved.detail and "q=1" not in moved.detail
    busy, _ = ask((429, f"slow {SECRET}", {"Retry-After": "7"}))
    assert (busy.busy, busy.retry_after) == (True, 7.0) and SECRET not in busy.detail


@pytest.mark.parametrize(
    ("base_url", "asked"),
    [
        ("http://h:1/v1", "http://h:1/v1/chat/completions"),
        ("http://h:1/v1/?api-version=2#top", "http://h:1/v1/chat/completions?api-version=2"),
        ("https://h", "https://h/chat/completions"),
    ],
)
def test_a_completion_is_asked_for_under_the_address_with_its_query(base_url: str, asked: str) -> None:
    assert str(ServerClient(base_url, None)._endpoint._url) == asked


def test_what_the_proxy_is_sent_in_secret_is_taken_out_of_all_that_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("os.environ", {"http_proxy": "http://me:canary-word@proxy:3128"})
    client = ServerClient("http://h.example:1/v1", "key-of-the-seat")

    assert "canary-word" in client.secrets
    assert client._readable(b"canary-word and key-of-the-seat") == "[key] and [key]"


def test_before_a_run_a_server_is_asked_for_the_model_with_the_seats_key_by_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[Any, ...]] = []

    async def find_model(server: Any, name: str) -> bool:
        asked.append((server.model, server.url, dict(server.headers), server.key_name, name))
        return True

    monkeypatch.setattr("venire.agents.clients.server.find_model", find_model)
    monkeypatch.setenv("MY_KEY", "key-12345")
    seat = ModelSettings(model="server/own/m", base_url="http://h:1/v1", api_key_env="MY_KEY")

    assert asyncio.run(probe(seat)) and asyncio.run(
        probe(ModelSettings(model="server/m", base_url="http://h:1/v1"))
    )
    assert asked == [
        ("server/own/m", "http://h:1/v1", {"Authorization": "Bearer key-12345"}, "MY_KEY", "own/m"),
        ("server/m", "http://h:1/v1", {}, "", "m"),
    ]
