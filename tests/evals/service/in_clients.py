"""Run by the environment that has MCP's and OpenAI's own clients: asks the service at URL with TOKEN, prints what came back."""

import asyncio
import json
import sys
from typing import Any

import httpx2
import openai
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

URL, TOKEN = sys.argv[1:]
CASE = {"id": "by-client", "output": "Summary.", "source": "Note: fever."}


async def tools(mode: str) -> dict[str, Any]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60) as http,
        Client(streamable_http_client(f"{URL}/mcp", http_client=http), mode=mode) as client,
    ):
        listed = await client.list_tools()
        judged = await client.call_tool("judge_case", CASE)
        explained = await client.call_tool("explain_verdict", {"case": "by-client"})
        refused = await client.call_tool("judge_case", {"output": ""})
        try:
            await client.call_tool("nix", {})
        except MCPError as error:
            unknown = error.error.code
        return {
            "version": client.protocol_version,
            "tools": [tool.name for tool in listed.tools],
            "value": judged.structured_content["verdict"]["accurate"]["value"],
            "explained": "by-client" in explained.content[0].text,
            "unknown": unknown,
            "refused": refused.is_error,
        }


def rewards() -> dict[str, Any]:
    client = openai.OpenAI(base_url=f"{URL}/v1", api_key=TOKEN, max_retries=0)
    grader = {"type": "score_model", "name": "accurate", "model": "jury", "input": []}
    run = client.fine_tuning.alpha.graders.run
    return {
        "reward": run(grader=grader, model_sample="Summary.", item={"source": "Note."}).reward,
        "hung": run(grader=grader, model_sample="The wrist.").reward,
    }


# By the newest revision, and by the newest that begins with a handshake.
print(json.dumps({mode: asyncio.run(tools(mode)) for mode in ("auto", "legacy")} | rewards()))
