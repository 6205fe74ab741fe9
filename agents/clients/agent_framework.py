"""`agent-framework/MODULE:FUNCTION`: an agent of Microsoft Agent Framework as a seat, made anew for every question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...personas.jury import ModelSettings
from ...rubrics.errors import MissingExtra
from ..model import Message, Usage
from ..model_client import ClientFactory, ModelClient
from ..tokens import reported_usage
from .autogen import AgentClient, agent_function
from .silence import silence_package


def connect(settings: ModelSettings) -> ModelClient:
    make = agent_function(
        settings,
        "agent_framework",
        MissingExtra(
            "agent-framework/ models need Agent Framework", remedy="pip install 'venire[agent-framework]'"
        ),
        remedy="write the model as agent-framework/MODULE:FUNCTION",
    )
    return FrameworkAgentClient((settings.model or "").partition("/")[2], make)


class FrameworkAgentClient(AgentClient):
    """An Agent Framework agent, asked once and let go."""

    async def run_agent(self, agent: Any, messages: Sequence[Message]) -> tuple[str | None, Usage]:
        from agent_framework import Message as FrameworkMessage

        with silence_package("agent_framework"):
            response = await agent.run([FrameworkMessage(m.role, [m.content]) for m in messages])
        used = response.usage_details or {}
        usage = reported_usage(used.get("input_token_count"), used.get("output_token_count"))
        return response.text or None, usage


client_factory = ClientFactory(connect=connect, per_model=True)
