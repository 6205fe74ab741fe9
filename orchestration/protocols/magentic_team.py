"""AutoGen's own Magentic-One team, as it is installed, with our jurors in its seats and our presider as its model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from autogen_agentchat.agents import BaseChatAgent
from autogen_agentchat.base import Response
from autogen_agentchat.messages import BaseChatMessage, TextMessage
from autogen_agentchat.teams import MagenticOneGroupChat
from autogen_core import CancellationToken

from ...agents.clients.autogen_gateway import GatewayClient, disable_tracing, silence_logs
from ...agents.model import Answer
from .magentic_chat import ENTRY, GroupChat, Heard, seat_description


class SeatAgent(BaseChatAgent):
    """A juror as AutoGen sees one: it remembers what AutoGen sent it, until AutoGen makes it forget."""

    def __init__(self, name: str, description: str, chat: GroupChat) -> None:
        super().__init__(name, description)
        self._chat = chat
        self._memory: list[Heard] = []

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (TextMessage,)

    async def on_messages(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> Response:
        self._memory += [Heard(m.to_model_text(), m.metadata.get(ENTRY, "")) for m in messages]
        said = await self._chat.turn(self.name, self._memory)
        return Response(
            chat_message=TextMessage(content=said.text, source=self.name, metadata={ENTRY: said.entry})
        )

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        self._memory.clear()


async def run_team(chat: GroupChat, answer: Answer, final_prompt: str) -> None:
    """One deliberation of a team that is made for it and never used again.

    AutoGen's own limits are out of the way: `max_turns` allows a turn too many, and `max_stalls` never ends
    anything. The presider keeps ours, and makes AutoGen plan anew by giving it one stall, which is all it may have.
    """
    seats = [
        SeatAgent(chat.agents[seat.name], seat_description(seat), chat) for seat in chat.bench.jury.seats
    ]
    with silence_logs():
        team = MagenticOneGroupChat(
            list(seats),
            GatewayClient(answer),
            max_turns=None,
            max_stalls=1,
            final_answer_prompt=final_prompt,
        )
        disable_tracing(team)
        sitting = asyncio.ensure_future(team.run(task=chat.task))
        try:
            await asyncio.shield(sitting)
        except asyncio.CancelledError:
            # AutoGen's runtime goes on by itself: bring it to its end, without a call, before we go.
            chat.leave()
            await asyncio.gather(sitting, return_exceptions=True)
            raise
    if chat.broken is not None:
        raise chat.broken
