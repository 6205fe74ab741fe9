"""AutoGen: a fresh AssistantAgent for every call, its structured output checked by pydantic, its events logged."""

import asyncio
import logging

from autogen_agentchat import EVENT_LOGGER_NAME
from autogen_agentchat.agents import AssistantAgent
from autogen_core import EVENT_LOGGER_NAME as CORE_EVENTS
from autogen_ext.models.openai import OpenAIChatCompletionClient
from job import IN_FLIGHT, JOB, SEATS, URL, at_once, ballot, clocked, questions

INFO = {
    "vision": False,
    "function_calling": True,
    "json_output": True,
    "family": "unknown",
    "structured_output": True,
}


def logged() -> None:
    file = logging.FileHandler("events.log")
    for name in (EVENT_LOGGER_NAME, CORE_EVENTS):
        logging.getLogger(name).setLevel(logging.INFO)
        logging.getLogger(name).addHandler(file)


async def main() -> None:
    logged()
    shape = ballot()
    clients = {
        seat: OpenAIChatCompletionClient(model=seat, base_url=URL, api_key="none", model_info=INFO)
        for seat in SEATS
    }

    async def call(question: tuple[str, str, str]) -> None:
        seat, system, user = question
        agent = AssistantAgent(
            seat, model_client=clients[seat], system_message=system, output_content_type=shape
        )
        result = await agent.run(task=user)
        assert isinstance(result.messages[-1].content, shape)

    with clocked(JOB["calls"]):
        await at_once(call, questions(), IN_FLIGHT)


if __name__ == "__main__":
    asyncio.run(main())
