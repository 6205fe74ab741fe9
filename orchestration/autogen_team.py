"""Any jury as an AutoGen team: something to `run`, to stream, or to seat in a team of your own."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from ..personas.jury import Jury
from ..rubrics.case import Case
from ..rubrics.errors import MissingExtra
from ..rubrics.rubric import Rubric
from .deliberate import suited_jury
from .jury_room import VerdictMessage, case_from, entry_text, jury_description, jury_room

try:
    from autogen_agentchat.agents import BaseChatAgent
    from autogen_agentchat.base import Response
    from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage, StructuredMessage, TextMessage
    from autogen_core import CancellationToken
except ModuleNotFoundError as missing:
    raise MissingExtra(
        f"a jury as an AutoGen team needs AutoGen ({missing.name} is not installed)",
        remedy="pip install 'venire[autogen]'",
    ) from None


def case_of(messages: Sequence[BaseChatMessage]) -> Case:
    """What the messages put before the jury: a `Case`, or a text with those before it as its source."""
    last = messages[-1] if messages else None
    if isinstance(last, StructuredMessage) and isinstance(last.content, Case):
        return last.content
    return case_from([message.to_model_text() for message in messages])


def jury_team(
    jury: Jury,
    rubric: Rubric,
    *,
    model: str | None = None,
    base_url: str | None = None,
    as_case: Callable[[Sequence[BaseChatMessage]], Case] = case_of,
    as_text: bool = False,
) -> JuryAgent:
    """The jury with AutoGen's `run` and `run_stream`; it answers a task with a `StructuredMessage[VerdictMessage]`.

    `model` and `base_url` fill seats that name none. With `as_text` it answers in JSON text, for teams such as
    MagenticOneGroupChat that take no structured messages.
    """
    return JuryAgent(suited_jury(jury.fill(model=model, base_url=base_url), rubric), rubric, as_case, as_text)


class JuryAgent(BaseChatAgent):
    """A whole jury in one seat. It remembers nothing: every task is a case of its own."""

    def __init__(
        self, jury: Jury, rubric: Rubric, as_case: Callable[[Sequence[BaseChatMessage]], Case], as_text: bool
    ) -> None:
        super().__init__(jury.name.replace("-", "_"), jury_description(jury, rubric))
        self._jury = jury
        self._rubric = rubric
        self._as_case = as_case
        self._as_text = as_text

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (TextMessage,) if self._as_text else (StructuredMessage[VerdictMessage],)

    async def on_messages(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> Response:
        async for said in self.on_messages_stream(messages, cancellation_token):
            if isinstance(said, Response):
                return said
        raise AssertionError("unreachable")

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response, None]:
        """What is said in the jury room, as it is said; then the verdict."""
        said: list[BaseAgentEvent | BaseChatMessage] = []
        room = jury_room(self._as_case(messages), self._rubric, self._jury, cancellation_token.link_future)
        async with aclosing(room):
            async for heard in room:
                if isinstance(heard, VerdictMessage):
                    yield Response(chat_message=self._answer(heard), inner_messages=said)
                else:
                    said.append(TextMessage(content=entry_text(heard), source=heard.speaker))
                    yield said[-1]

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        """There is nothing to forget."""

    def _answer(self, verdict: VerdictMessage) -> BaseChatMessage:
        if self._as_text:
            return TextMessage(content=verdict.model_dump_json(), source=self.name)
        return StructuredMessage[VerdictMessage](content=verdict, source=self.name)
