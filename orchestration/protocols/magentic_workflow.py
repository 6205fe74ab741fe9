"""Agent Framework's own Magentic workflow, as it is installed, with our jurors in its seats and our presider as its manager's agent."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from agent_framework import AgentResponse, AgentSession, BaseAgent
from agent_framework import Message as FrameworkMessage
from agent_framework_orchestrations import MagenticBuilder
from agent_framework_orchestrations._magentic import ORCHESTRATOR_PROGRESS_LEDGER_PROMPT

from ...agents.clients.silence import silence_package
from ...agents.model import Answer, Message
from .magentic_chat import ENTRY, GroupChat, Heard, ledger_schema, seat_description

_MEMORY = "heard"
_ASKS_FOR_LEDGER = ORCHESTRATOR_PROGRESS_LEDGER_PROMPT.partition("{")[0]


class SeatAgent(BaseAgent):  # type: ignore[misc]
    """A juror as Agent Framework sees one: its session remembers what it was sent, until a reset makes a new one."""

    def __init__(self, name: str, description: str, chat: GroupChat) -> None:
        super().__init__(name=name, description=description)
        self._chat = chat

    async def run(
        self, messages: Sequence[FrameworkMessage], *, session: AgentSession, **_: Any
    ) -> AgentResponse:
        memory: list[Heard] = session.state.setdefault(_MEMORY, [])
        memory += [Heard(m.text, m.additional_properties.get(ENTRY, "")) for m in messages]
        assert self.name is not None
        said = await self._chat.turn(self.name, memory)
        return _response(said.text, author_name=self.name, additional_properties={ENTRY: said.entry})


class ManagerAgent(BaseAgent):  # type: ignore[misc]
    """The agent of Agent Framework's standard manager: the presider answers for it."""

    def __init__(self, chat: GroupChat, answer: Answer) -> None:
        super().__init__(name="presider")
        self._jurors = tuple(chat.agents.values())
        self._answer = answer

    async def run(self, messages: Sequence[FrameworkMessage], **_: Any) -> AgentResponse:
        asks_for_ledger = messages[-1].text.startswith(_ASKS_FOR_LEDGER)
        reply = await self._answer(
            tuple(map(self._to_message, messages)), ledger_schema(self._jurors) if asks_for_ledger else None
        )
        return _response(reply.text)

    def _to_message(self, message: FrameworkMessage) -> Message:
        """The message in our words. Agent Framework has jurors speak in the assistant's role, as if the manager had."""
        own = message.role == "assistant" and message.author_name not in self._jurors
        return Message("assistant" if own else "user", message.text)


async def run_workflow(chat: GroupChat, answer: Answer, final_prompt: str) -> None:
    """One deliberation of a workflow that is made for it and never used again.

    Agent Framework's own limits are out of the way: at one of them it yields a sentence in place of the final answer.
    The presider keeps ours, and makes it plan anew by giving it one stall, which is more than it may have.
    """
    seats = [
        SeatAgent(chat.agents[seat.name], seat_description(seat), chat) for seat in chat.bench.jury.seats
    ]
    with silence_package("agent_framework"):
        workflow = MagenticBuilder(
            participants=seats,  # type: ignore[arg-type]
            manager_agent=ManagerAgent(chat, answer),  # type: ignore[arg-type]
            final_answer_prompt=final_prompt.replace("{", "{{").replace("}", "}}"),
            max_stall_count=0,
        ).build()
        # A turn takes two supersteps, of which the builder allows a hundred, and has no way to allow more.
        workflow._runner._max_iterations = sys.maxsize
        await workflow.run(chat.task)
    if chat.broken is not None:
        raise chat.broken


def _response(text: str, **properties: Any) -> AgentResponse:
    return AgentResponse(messages=[FrameworkMessage("assistant", [text], **properties)])
