"""Agents and model clients of other frameworks at a seat: how they are found, asked and let go, and what their failures mean."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from venire.agents.clients import agent_framework, autogen
from venire.agents.clients.autogen import AgentClient, ComponentClient, agent_function
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
from venire.rubrics.errors import MissingExtra, VenireError

MISSING = MissingExtra("agents need a framework", remedy="install it")
TALK = (Message("system", "Be fair."), Message("user", "Score it.", "The case. "), Message("assistant", "4"))


def asked(schema: Any = None, **settings: Any) -> Request:
    form = None if schema is None else Schema(schema)
    return Request("autogen/mine", TALK, form, Sampling(settings), repeat=2, timeout=9)


class Agent:
    """Says each of `words`, or raises the error that it is given."""

    def __init__(self, *words: str, error: Exception | None = None) -> None:
        self.words, self.error = words, error
        self.closed = 0
        self.task: list[Any] = []

    async def run(self, task: list[Any], output_task_messages: bool) -> Any:
        self.task = task
        assert not output_task_messages
        if self.error is not None:
            raise self.error
        used = SimpleNamespace(prompt_tokens=10, completion_tokens=3)
        return SimpleNamespace(
            messages=[
                SimpleNamespace(to_text=lambda word=word: word, models_usage=used if word != "free" else None)
                for word in self.words
            ]
        )

    async def close(self) -> None:
        self.closed += 1


def test_the_last_words_of_an_agent_are_its_answer_and_all_its_tokens_are_counted() -> None:
    pytest.importorskip("autogen_agentchat")
    agent = Agent("I think.", "free", "4")

    async def made_late() -> Agent:
        return agent

    for make in (lambda: agent, made_late):
        reply = asyncio.run(AgentClient("mine:agent", make).complete(asked()))
        assert (reply.text, reply.usage, reply.usd) == ("4", Usage(20, 6), None)
    assert [(each.source, each.content) for each in agent.task] == [
        ("system", "Be fair."), ("user", "The case. Score it."), ("assistant", "4"),
    ]  # fmt: skip
    assert agent.closed == 2


@pytest.mark.parametrize(
    ("agent", "reason", "detail"),
    [
        (Agent(), "unparsable", "mine:agent said nothing"),
        (Agent(error=ZeroDivisionError("of the agent")), "unavailable", "mine:agent: ZeroDivisionError: of the agent"),
    ],
)  # fmt: skip
def test_an_agent_that_fails_or_says_nothing_gave_no_answer_and_is_let_go(
    agent: Agent, reason: str, detail: str
) -> None:
    pytest.importorskip("autogen_agentchat")

    with pytest.raises(ModelFailure) as failed:
        asyncio.run(AgentClient("mine:agent", lambda: agent).complete(asked()))
    assert (failed.value.reason, failed.value.detail, agent.closed) == (reason, detail, 1)


@pytest.mark.parametrize(("said", "usage"), [({"input_token_count": 8, "output_token_count": 2}, Usage(8, 2)), (None, Usage())])  # fmt: skip
def test_an_agent_framework_agent_is_asked_with_every_message(said: Any, usage: Usage) -> None:
    pytest.importorskip("agent_framework")
    heard: list[Any] = []

    class Framed:
        async def run(self, messages: list[Any]) -> Any:
            heard.extend((str(each.role), each.text) for each in messages)
            return SimpleNamespace(text="4", usage_details=said)

    reply = asyncio.run(agent_framework.FrameworkAgentClient("mine:agent", Framed).complete(asked()))
    assert (reply.text, reply.usage) == ("4", usage)
    assert heard == [("system", "Be fair."), ("user", "The case. Score it."), ("assistant", "4")]


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        ("autogen/mine", "does not say which agent to use"),
        ("autogen/:make", "does not say which agent to use"),
        ("autogen/no_module_of_ours:make", "no module named 'no_module_of_ours'"),
        ("autogen/json:nothing", "json:nothing: 'nothing' was not found"),
        ("autogen/json:__name__", "'__name__' is not a function"),
    ],
)
def test_a_function_that_makes_no_agent_is_refused_before_anything_is_asked(model: str, problem: str) -> None:
    with pytest.raises(VenireError, match=problem):
        agent_function(ModelSettings(model=model), "json", MISSING, remedy="name it")


def test_a_function_is_found_by_module_and_name_where_its_framework_is_installed() -> None:
    settings = ModelSettings(model="autogen/json:dumps")

    assert agent_function(settings, "json", MISSING, remedy="name it") is json.dumps
    with pytest.raises(MissingExtra, match="agents need a framework"):
        agent_function(settings, "no_module_of_ours", MISSING, remedy="name it")


class Component:
    """A model client that gives what it is made with."""

    def __init__(self, result: Any, json_output: bool = True) -> None:
        self.model_info = {"json_output": json_output}
        self._result = result
        self.sent: dict[str, Any] = {}

    async def create(self, messages: list[Any], **options: Any) -> Any:
        self.sent = {"messages": messages, **options}
        if isinstance(self._result, Exception):
            raise self._result
        return self._result


def result(content: Any = "4", finish: str = "stop") -> Any:
    used = SimpleNamespace(prompt_tokens=10, completion_tokens=3)
    return SimpleNamespace(content=content, finish_reason=finish, usage=used)


@pytest.mark.parametrize(("said", "finish"), [("stop", "stop"), ("length", "length"), ("content_filter", "refusal"), ("unknown", "stop")])  # fmt: skip
def test_a_model_client_is_asked_with_the_seats_settings_and_its_end_is_kept(said: str, finish: str) -> None:
    pytest.importorskip("autogen_core")
    component = Component(result(finish=said))
    request = asked({"type": "object"}, seed=5, temperature=0.5, base_url="http://h")

    reply = asyncio.run(ComponentClient(component, ()).complete(request))

    assert (reply.text, reply.usage, reply.usd, reply.finish) == ("4", Usage(10, 3), None, finish)
    assert component.sent["extra_create_args"] == {"seed": 7, "temperature": 0.5}
    assert component.sent["json_output"] is True
    assert [type(each).__name__ for each in component.sent["messages"]] == [
        "SystemMessage", "UserMessage", "AssistantMessage",
    ]  # fmt: skip


def test_json_is_asked_for_where_there_is_a_form_and_the_client_has_it_and_a_tool_call_is_no_answer() -> None:
    pytest.importorskip("autogen_core")
    for component, schema in ((Component(result()), None), (Component(result(), False), {"type": "object"})):
        asyncio.run(ComponentClient(component, ()).complete(asked(schema)))
        assert component.sent["json_output"] is None
    with pytest.raises(ModelFailure, match="unparsable: the model called a tool"):
        asyncio.run(ComponentClient(Component(result([object()])), ()).complete(asked()))


def error_of(
    status: int | None, said: str = "no", cause: BaseException | None = None, **headers: str
) -> Exception:
    error = ValueError(said)
    if status is not None:
        error.status_code = status  # type: ignore[attr-defined]
        error.response = SimpleNamespace(headers=headers)  # type: ignore[attr-defined]
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "kind", "told"),
    [
        (error_of(429, **{"retry-after": "7"}), TransientFailure, ("unavailable", 7.0, True)),
        (error_of(503), TransientFailure, ("unavailable", None, False)),
        (error_of(500), TransientFailure, ("unavailable", None, False)),
        (error_of(403, "flagged by moderation"), ModelFailure, ("refused",)),
        (error_of(401), AccessRefused, ("unavailable",)),
        (error_of(400), ModelFailure, ("unavailable",)),
        (error_of(None, cause=ConnectionResetError()), TransientFailure, ("unavailable", None, False)),
        (error_of(None), ModelFailure, ("unavailable",)),
    ],
)
def test_a_failure_of_a_model_client_says_whether_to_wait_to_give_up_or_to_abstain(
    error: Exception, kind: type[ModelFailure], told: tuple[Any, ...]
) -> None:
    failure = ComponentClient(Component(error), ())._failure(error)

    assert type(failure) is kind
    more = (failure.retry_after, failure.busy) if isinstance(failure, TransientFailure) else ()
    assert (failure.reason, *more) == told


def test_what_a_component_holds_in_secret_is_in_no_failure() -> None:
    config = {
        "api_key": "key-12345678",
        "base_url": "https://me:password9@host/v1",
        "default_headers": {"Authorization": "Bearer token-12345"},
        "model": "not-a-secret",
    }
    secrets = autogen._secrets(config)
    said = "key-12345678 and password9 and token-12345 and not-a-secret"

    assert ComponentClient(Component(None), secrets)._failure(ValueError(said)).detail == "ValueError: [key] and [key] and [key] and not-a-secret"  # fmt: skip


def test_our_gateway_stands_behind_autogens_model_client_with_its_form_and_its_tokens() -> None:
    models = pytest.importorskip("autogen_core.models")
    from venire.agents.clients.autogen import Component as Form
    from venire.agents.clients.autogen_gateway import GatewayClient, to_message

    heard: list[Any] = []
    replies = [Reply("4", Usage(10, 3), finish="refusal"), Reply("5", Usage(20, 4), finish="length")]

    async def answer(messages: tuple[Message, ...], schema: Schema | None) -> Reply:
        heard.append((messages, schema and sorted(schema["properties"])))
        return replies.pop(0)

    client = GatewayClient(answer)
    talk = [
        models.SystemMessage(content="Be fair."),
        models.UserMessage(content=["Score", "it."], source="a juror"),
        models.AssistantMessage(content="4444", source="b"),
    ]
    create: Callable[..., Any] = client.create
    first = asyncio.run(create(talk, json_output=Form))
    second = asyncio.run(create(talk[:1], json_output=True))

    ours = (Message("system", "Be fair."), Message("user", "Score\nit."), Message("assistant", "4444"))
    assert list(map(to_message, talk)) == list(ours)
    assert heard == [(ours, sorted(Form.model_fields)), (ours[:1], None)]
    assert [(each.content, each.finish_reason, each.usage.prompt_tokens) for each in (first, second)] == [
        ("4", "content_filter", 10), ("5", "length", 20),
    ]  # fmt: skip
    assert (client.total_usage().prompt_tokens, client.total_usage().completion_tokens) == (30, 7)
    assert client.count_tokens(talk) == (8 + 9 + 4) // 4
