"""Bare `litellm.acompletion`: the same questions, the answer checked by pydantic, nothing kept."""

import asyncio
import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["LITELLM_MODE"] = "PRODUCTION"

import litellm
from job import IN_FLIGHT, JOB, URL, at_once, ballot, clocked, questions

litellm.suppress_debug_info = True
litellm.telemetry = False


async def main() -> None:
    shape = ballot()
    wanted = {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": True, "schema": JOB["schema"]},
    }

    async def call(question: tuple[str, str, str]) -> None:
        seat, system, user = question
        answer = await litellm.acompletion(
            model=f"openai/{seat}",
            messages=[{"role": "system", "content": system}, {"role": "user", "content": user}],
            response_format=wanted,
            api_base=URL,
            api_key="none",
        )
        shape.model_validate_json(answer.choices[0].message.content)

    with clocked(JOB["calls"]):
        await at_once(call, questions(), IN_FLIGHT)
    await litellm.close_litellm_async_clients()


asyncio.run(main())
