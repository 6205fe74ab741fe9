"""Our gateway as an AutoGen model client, and AutoGen's logs and spans silenced while we use it."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from autogen_agentchat import EVENT_LOGGER_NAME, TRACE_LOGGER_NAME
from autogen_core import EVENT_LOGGER_NAME as CORE_EVENTS
from autogen_core import ROOT_LOGGER_NAME as CORE
from autogen_core.models import (
    AssistantMessage,
    ChatCompletionClient,
    CreateResult,
    LLMMessage,
    ModelFamily,
    ModelInfo,
    RequestUsage,
    SystemMessage,
)
from pydantic import BaseModel

from ...rubrics.ballot import inline
from ..model import Answer, Message, Usage
from .silence import silence_loggers

_INFO = ModelInfo(
    vision=False,
    function_calling=False,
    json_output=False,
    family=ModelFamily.UNKNOWN,
    structured_output=True,
    multiple_system_messages=True,
)


class GatewayClient(ChatCompletionClient):
    """An AutoGen model client whose every call goes through our gateway: recorded, counted, within the limits."""

    component_type = "model"

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._used = Usage()

    async def create(
        self,
        messages: Sequence[LLMMessage],
        *,
        json_output: bool | type[BaseModel] | None = None,
        **_: Any,
    ) -> CreateResult:
        schema = inline(json_output) if isinstance(json_output, type) else None
        reply = await self._answer(tuple(map(to_message, messages)), schema)
        self._used += reply.usage
        return CreateResult(
            finish_reason="content_filter" if reply.finish == "refusal" else reply.finish,
            content=reply.text,
            usage=RequestUsage(reply.usage.prompt, reply.usage.completion),
            cached=False,
        )

    async def create_stream(
        self, messages: Sequence[LLMMessage], **options: Any
    ) -> AsyncGenerator[str | CreateResult, None]:
        """The whole reply in one piece: our gateway does not stream."""
        yield await self.create(messages, **options)

    async def close(self) -> None:
        """The gateway's connections are closed by whoever opened them."""

    def actual_usage(self) -> RequestUsage:
        return RequestUsage(self._used.prompt, self._used.completion)

    def total_usage(self) -> RequestUsage:
        return self.actual_usage()

    def count_tokens(self, messages: Sequence[LLMMessage], **_: Any) -> int:
        """An estimate, four characters to a token: the provider's own count comes with its reply."""
        return sum(len(to_message(message).content) for message in messages) // 4

    def remaining_tokens(self, messages: Sequence[LLMMessage], **_: Any) -> int:
        return sys.maxsize - self.count_tokens(messages)

    @property
    def capabilities(self) -> Any:
        return _INFO

    @property
    def model_info(self) -> ModelInfo:
        return _INFO


def to_message(message: LLMMessage) -> Message:
    """AutoGen's message in our words; pictures and tool calls have none."""
    content = message.content
    text = (
        content if isinstance(content, str) else "\n".join(part for part in content if isinstance(part, str))
    )
    if isinstance(message, SystemMessage):
        return Message("system", text)
    return Message("assistant" if isinstance(message, AssistantMessage) else "user", text)


def silence_logs() -> AbstractContextManager[None]:
    """Inside, AutoGen logs nothing, here and in tasks started here: its events carry the texts under judgement."""
    return silence_loggers(CORE, CORE_EVENTS, TRACE_LOGGER_NAME, EVENT_LOGGER_NAME)


class _Untraced:
    """In the place of AutoGen's tracer: every block runs, and nobody is told."""

    def trace_block(self, *_: object, **__: object) -> AbstractContextManager[None]:
        return nullcontext()


async def _no_attributes(**_: object) -> dict[str, str]:
    return {}


def disable_tracing(team: Any) -> None:
    """Have a team's own runtime make no spans, nor put its messages into words for them.

    They would carry the texts under judgement, and cost time whether or not anyone listens. Our calls have spans of
    their own.
    """
    # AutoGen's version is pinned, and has no other way to this.
    runtime = team._runtime
    runtime._tracer_helper = _Untraced()
    runtime._create_otel_attributes = _no_attributes
    runtime._try_serialize = lambda message: ""
