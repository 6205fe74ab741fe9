"""The floor: the same bytes over raw aiohttp, the answer read as JSON. No prompt, no check, no record."""

import asyncio
import json

import aiohttp
from job import IN_FLIGHT, JOB, URL, at_once, clocked, questions

HEADERS = {"Content-Type": "application/json"}


async def main() -> None:
    seat, system, user = next(questions())
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    asked = {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": True, "schema": JOB["schema"]},
    }
    body = json.dumps({"model": seat, "messages": messages, "response_format": asked}).encode()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=IN_FLIGHT)) as session:

        async def call(_: int) -> None:
            async with session.post(f"{URL}/chat/completions", data=body, headers=HEADERS) as response:
                json.loads(await response.read())

        with clocked(JOB["calls"]):
            await at_once(call, range(JOB["calls"]), IN_FLIGHT)


asyncio.run(main())
