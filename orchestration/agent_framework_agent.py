"""Any jury as an agent of Microsoft Agent Framework: something to `run`, to stream, or to put into a workflow of your own."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any

from ..personas.jury import Jury
from ..rubrics.case import Case
from ..rubrics.errors import MissingExtra
from ..rubrics.rubric import Rubric
from .deliberate import suited_jury
from .jury_room import VerdictMessage, case_from, entry_text, jury_description, jury_room

try:
    from agent_framework import (
        AgentResponse,
        AgentResponseUpdate,
        BaseAgent,
        Content,
        Message,
        ResponseStream,
    )
except ModuleNotFoundError as missing:
    raise MissingExtra(
        f"to use a jury as an agent, Agent Framework is needed ({missing.name} is not installed)",
        remedy="pip install 'venire[agent-framework]'",
    ) from None


def jury_agent(
    jury: Jury,
    rubric: Rubric,
    *,
    model: str | None = None,
    base_url: str | None = None,
    as_case: Callable[[Sequence[str]], Case] = case_from,
) -> FrameworkJury:
    """The jury with Agent Framework's `run`; it answers in JSON text, and as a `VerdictMessage` in the response's `value`.

    `model` and `base_url` fill seats that name none. The last message is judged, with those before it as its source,
    unless `as_case` says otherwise.
    """
    return FrameworkJury(suited_jury(jury.fill(model=model, base_url=base_url), rubric), rubric, as_case)


class FrameworkJury(BaseAgent):  # type: ignore[misc]
    """A whole jury as one agent. It remembers nothing: every task is a case of its own."""

    def __init__(self, jury: Jury, rubric: Rubric, as_case: Callable[[Sequence[str]], Case]) -> None:
        super().__init__(name=jury.name, description=jury_description(jury, rubric))
        self._jury = jury
        self._rubric = rubric
        self._as_case = as_case

    def run(
        self,
        messages: str | Message | Sequence[str | Message] | None = None,
        *,
        stream: bool = False,
        **_: Any,
    ) -> Any:
        """The verdict; with `stream`, every ballot as it is cast, then the verdict."""
        given = [messages] if isinstance(messages, str | Message) else list(messages or ())
        case = self._as_case([part if isinstance(part, str) else part.text for part in given])
        if stream:
            return ResponseStream(self._updates(case), finalizer=_last_response)
        return self._response(case)

    async def _response(self, case: Case) -> AgentResponse[VerdictMessage]:
        return _last_response([update async for update in self._updates(case)])

    async def _updates(self, case: Case) -> AsyncGenerator[AgentResponseUpdate, None]:
        room = jury_room(case, self._rubric, self._jury)
        async with aclosing(room):
            async for heard in room:
                if isinstance(heard, VerdictMessage):
                    yield _update(heard.model_dump_json(), self.name, heard)
                else:
                    yield _update(entry_text(heard), heard.speaker, None)


def _update(text: str, speaker: str | None, verdict: VerdictMessage | None) -> AgentResponseUpdate:
    return AgentResponseUpdate(
        contents=[Content.from_text(text)], role="assistant", author_name=speaker, raw_representation=verdict
    )


def _last_response(updates: Sequence[AgentResponseUpdate]) -> AgentResponse[VerdictMessage]:
    """The verdict alone: what was said in the jury room is not said to other agents."""
    last = updates[-1]
    message = Message("assistant", last.contents, author_name=last.author_name)
    return AgentResponse(messages=[message], value=last.raw_representation)
