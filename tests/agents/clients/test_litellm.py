"""LiteLLM, for real, against a local server that speaks the OpenAI protocol and misbehaves on request."""

from __future__ import annotations

import asyncio
import json
from importlib.util import find_spec
from typing import Any

import pytest
from openai_server import Answer, Fault, ProviderServer, Refusal

from venire.agents.clients import litellm as client
from venire.agents.clients.litellm import connect, strict
from venire.agents.cost import Price
from venire.agents.model import (
    AccessRefused,
    FormatRefused,
    Message,
    ModelFailure,
    Reply,
    Request,
    Sampling,
    TransientFailure,
)
from venire.agents.model_client import ModelClient
from venire.personas.jury import ModelSettings
from venire.rubrics.ballot import Schema
from venire.rubrics.errors import MissingExtra, VenireError

pytestmark = [
    pytest.mark.skipif(find_spec("litellm") is None, reason="needs LiteLLM"),
    # LiteLLM silences what pydantic says of its types when it is imported; pytest undoes that for every test.
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

KEY = "sk-canary-1234567890"
SCHEMA = {
    "type": "object",
    "properties": {
        "rationale": {"type": "string", "minLength": 1, "maxLength": 4000},
        "score": {"enum": [1, 2, "not_applicable"]},
    },
    "required": ["rationale", "score"],
    "additionalProperties": False,
}


def asked(
    model: str = "openai/some-model", schema: Any = None, timeout: float = 20, **settings: Any
) -> Request:
    messages = (Message("system", "You are a juror."), Message("user", "One JSON object, please."))
    return Request(model, messages, schema and Schema(schema), Sampling(settings), repeat=0, timeout=timeout)


def completion(content: str | None = "Yes.", finish: str = "stop", **usage: Any) -> Fault:
    """An answer with its usage, as the protocol has it."""
    return Fault(
        200,
        {"Content-Type": "application/json"},
        json.dumps(
            {
                "id": "1",
                "object": "chat.completion",
                "created": 0,
                "model": "some-model",
                "choices": [
                    {
                        "index": 0,
                        "message": {"role": "assistant", "content": content},
                        "finish_reason": finish,
                    }
                ],
                "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100, **usage},
            }
        ),
    )


def heard(server: ProviderServer, *requests: Request) -> list[Reply]:
    """The replies, one after the other, over a connection of their own."""

    async def run() -> list[Reply]:
        provider = connect(
            ModelSettings(model="openai/x", base_url=server.url, api_key_env="JUROR_SECRET_KEY")
        )
        try:
            return [await answer_to(provider, request) for request in requests]
        finally:
            await provider.close()

    return asyncio.run(run())


async def answer_to(provider: ModelClient, request: Request) -> Reply:
    """The reply, after as many fallbacks to a weaker form as it takes: as the gateway does."""
    while True:
        try:
            return await provider.complete(request)
        except FormatRefused:
            continue


def failure_of(answer: Answer, **request: Any) -> ModelFailure:
    with ProviderServer(answer) as server, pytest.raises(ModelFailure) as raised:
        heard(server, asked(**request))
    return raised.value


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUROR_SECRET_KEY", KEY)


# What is sent


def test_the_model_string_the_settings_and_the_key_arrive_as_they_were_given() -> None:
    with ProviderServer(lambda call: "Yes.") as server:
        [reply] = heard(server, asked(temperature=0.3, seed=7, max_tokens=50, base_url="http://elsewhere"))

    [call] = server.calls
    assert (call.model, call.headers["Authorization"]) == ("some-model", f"Bearer {KEY}")
    assert {name: call.body[name] for name in ("temperature", "seed", "max_tokens")} == {
        "temperature": 0.3,
        "seed": 7,
        "max_tokens": 50,
    }
    assert [message["role"] for message in call.body["messages"]] == ["system", "user"]
    assert (reply.text, reply.finish) == ("Yes.", "stop")
    assert reply.seconds > 0


def test_a_model_with_structured_output_gets_the_schema_in_its_strict_form() -> None:
    with ProviderServer(lambda call: "{}") as server:
        heard(server, asked("openai/gpt-4o-mini", SCHEMA))

    form = server.calls[0].body["response_format"]
    assert (form["type"], form["json_schema"]["strict"]) == ("json_schema", True)
    assert form["json_schema"]["schema"] == strict(SCHEMA)


def test_a_model_that_nobody_knows_is_tried_with_a_schema_first() -> None:
    with ProviderServer(lambda call: "{}") as server:
        heard(server, asked("openai/some-model", SCHEMA))

    assert server.calls[0].body["response_format"]["type"] == "json_schema"


def test_a_server_that_rejects_the_form_is_asked_for_less_from_then_on() -> None:
    def answer(call: Any) -> Any:
        if "response_format" in call.body:
            return Fault(400, body='{"error": {"message": "unknown parameter response_format"}}')
        return "{}"

    with ProviderServer(answer) as server:
        replies = heard(server, asked("openai/gpt-4o-mini", SCHEMA), asked("openai/gpt-4o-mini", SCHEMA))

    forms = [call.body.get("response_format", {}).get("type") for call in server.calls]
    assert forms == ["json_schema", "json_object", None, None]
    assert [reply.text for reply in replies] == ["{}", "{}"]


def test_a_reasoning_model_is_not_sent_what_it_does_not_take() -> None:
    with ProviderServer(lambda call: "Yes.") as server:
        heard(server, asked("openai/o3-mini", temperature=0, max_tokens=50))

    assert "temperature" not in server.calls[0].body
    assert server.calls[0].body["max_completion_tokens"] == 50


def test_strict_keeps_attributes_that_are_named_like_keywords() -> None:
    schema = {"type": "object", "properties": {"maximum": {"type": "number", "minimum": 0, "maximum": 1}}}

    assert strict(schema)["properties"] == {"maximum": {"type": "number"}}
    assert strict(SCHEMA)["properties"]["score"]["type"] == ["integer", "string"]
    assert strict(SCHEMA)["properties"]["rationale"] == {"type": "string"}


# What comes back


def test_usage_counts_what_the_provider_had_cached() -> None:
    with ProviderServer(lambda call: completion(prompt_tokens_details={"cached_tokens": 800})) as server:
        [reply] = heard(server, asked())

    assert (reply.usage.prompt, reply.usage.completion, reply.usage.cached) == (1000, 100, 800)


def test_a_known_model_has_a_price_and_an_unknown_one_has_none() -> None:
    with ProviderServer(lambda call: completion()) as server:
        known, unknown = heard(server, asked("openai/gpt-4o-mini"), asked("openai/some-model"))

    assert known.usd is not None
    assert 0 < known.usd < 0.01
    assert unknown.usd is None


@pytest.mark.parametrize(
    ("entry", "price"),
    [
        ({"input_cost_per_token": 2e-6, "output_cost_per_token": 8e-6, "cache_read_input_token_cost": 5e-7}, Price(prompt=2, completion=8, cached=0.5)),
        ({"input_cost_per_token": 2e-6, "output_cost_per_token": 8e-6, "cache_read_input_token_cost": 0.0}, Price(prompt=2, completion=8, cached=0)),
        ({"input_cost_per_token": 2e-6, "output_cost_per_token": 8e-6}, Price(prompt=2, completion=8)),
        ({"input_cost_per_token": 0.0, "output_cost_per_token": 8e-6}, None),
        ({"input_cost_per_token": 2e-6}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_a_listed_price_is_of_a_million_tokens_cached_ones_too(
    monkeypatch: pytest.MonkeyPatch, entry: dict[str, float], price: Price | None
) -> None:
    monkeypatch.setattr(client, "_map_entry", lambda *_: entry)
    monkeypatch.setattr(client.LiteLLMClient, "_open", 0)
    assert client.LiteLLMClient(None, None).list_price("openai/x") == price


def test_a_refusal_is_a_refusal() -> None:
    with ProviderServer(lambda call: Refusal("I would rather not.")) as server:
        [reply] = heard(server, asked())

    assert (reply.finish, reply.text) == ("refusal", "I would rather not.")


@pytest.mark.parametrize(("given", "finish"), [("length", "length"), ("content_filter", "refusal")])
def test_why_the_answer_ended_is_kept(given: str, finish: str) -> None:
    with ProviderServer(lambda call: completion("Half an", given)) as server:
        [reply] = heard(server, asked())

    assert reply.finish == finish


# What goes wrong


def test_a_busy_provider_says_when_to_come_back() -> None:
    failure = failure_of(lambda call: Fault(429, {"Retry-After": "7"}))

    assert isinstance(failure, TransientFailure)
    assert (failure.reason, failure.retry_after) == ("unavailable", 7.0)


@pytest.mark.parametrize(
    "fault",
    [Fault(500), Fault(503), Fault(200, body="garbage"), Fault(200, body='{"a": 1}'), Fault(drop=True)],
    ids=["500", "503", "garbage", "not a completion", "dropped"],
)
def test_a_broken_provider_may_work_later_and_is_asked_once(fault: Fault) -> None:
    with ProviderServer(lambda call: fault) as server, pytest.raises(TransientFailure) as raised:
        heard(server, asked())

    assert raised.value.reason == "unavailable"
    assert len(server.calls) == 1


def test_no_server_at_all_may_be_there_later() -> None:
    with ProviderServer(lambda call: "Yes.") as server:
        pass
    with pytest.raises(TransientFailure):
        heard(server, asked())


def test_silence_is_a_timeout() -> None:
    with (
        ProviderServer(lambda call: "Yes.", latency=1.5) as server,
        pytest.raises(TransientFailure) as raised,
    ):
        heard(server, asked(timeout=0.5))

    assert raised.value.reason == "timeout"


@pytest.mark.parametrize("status", [400, 403, 404])
def test_a_request_that_can_never_succeed_is_not_transient(status: int) -> None:
    failure = failure_of(lambda call: Fault(status))

    assert not isinstance(failure, TransientFailure)
    assert failure.reason == "unavailable"


def test_a_content_policy_is_a_refusal() -> None:
    body = '{"error": {"message": "not allowed", "type": "invalid_request_error", "code": "content_policy_violation"}}'

    assert failure_of(lambda call: Fault(400, body=body)).reason == "refused"


# Keys


def test_a_variable_that_is_not_set_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JUROR_SECRET_KEY")

    with pytest.raises(VenireError, match="JUROR_SECRET_KEY"):
        connect(ModelSettings(model="openai/x", api_key_env="JUROR_SECRET_KEY"))


def test_a_key_never_shows_in_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOMEBODYS_API_KEY", "other-canary-42")
    body = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY} or other-canary-42"}})

    failure = failure_of(lambda call: Fault(401, body=body))

    assert "Incorrect API key provided: [key] or [key]" in failure.detail
    assert "canary" not in str(failure)
    assert failure.__cause__ is None


def test_without_litellm_the_remedy_is_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "find_spec", lambda _: None)

    with pytest.raises(MissingExtra) as error:
        connect(ModelSettings(model="openai/gpt-4o-mini"))

    assert error.value.remedy == "pip install litellm"


@pytest.mark.parametrize("model", ["sagemaker/mine", "bedrock/anthropic.claude-3-sonnet-20240229-v1:0"])
def test_credentials_that_litellm_looks_for_itself_and_does_not_find(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "nowhere")
    provider = connect(ModelSettings(model=model))

    with pytest.raises(AccessRefused) as refused:
        asyncio.run(answer_to(provider, asked(model)))

    assert refused.value.summary in (
        "no credentials were given",
        "LiteLLM needs the package boto3 to reach this model",
    )
