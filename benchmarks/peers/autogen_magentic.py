"""AutoGen's MagenticOneGroupChat with three jurors who each speak once: ten calls a case, the final answer checked."""

import asyncio
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.teams import MagenticOneGroupChat
from autogen_agents import INFO, logged
from autogen_ext.models.openai import OpenAIChatCompletionClient
from job import JOB, SEATS, URL, at_once, ballot, clocked


async def main() -> None:
    logged()
    shape = ballot(evidence=False)
    client = OpenAIChatCompletionClient(model="boss", base_url=URL, api_key="none", model_info=INFO)

    async def deliberate(case: dict[str, Any]) -> None:
        jurors = [
            AssistantAgent(seat, client, description=f"the {seat} juror", system_message=JOB["system"])
            for seat in SEATS
        ]
        team = MagenticOneGroupChat(jurors, client, max_turns=20)
        result = await team.run(task=case["brief"] + JOB["tails"][SEATS[0]])
        shape.model_validate_json(result.messages[-1].content)

    with clocked(10 * len(JOB["cases"])):
        await at_once(deliberate, JOB["cases"], JOB["in_flight"])


asyncio.run(main())
