"""The Model Context Protocol by hand: every kind of message and what it is answered with; and its own client, where it is installed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from venire.evals.service.case_request import RequestError
from venire.evals.service.mcp import HANDSHAKES, VERSIONS, McpServer, Tool, ToolAnswer, case_schema
from venire.evals.service.mcp_envelope import STATELESS

KEYS = "io.modelcontextprotocol/"


async def judge(arguments: Mapping[str, Any]) -> ToolAnswer:
    if "output" not in arguments:
        raise RequestError(422, "output: Field required", "send one")
    return ToolAnswer("accurate: 4", {"verdict": {"accurate": {"value": 4}}})


SERVER = McpServer(
    [Tool("judge_case", "Judge", "Has a jury judge.", case_schema(), judge, free=False)], instructions="Ask."
)


def answer(message: Any, spoken: str | None = None, **headers: str) -> tuple[int, Any]:
    """What the server says to a message with these headers (`Mcp_Method` for `Mcp-Method`)."""
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    version = {} if spoken is None else {"MCP-Protocol-Version": spoken}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return asyncio.run(SERVER.answer(body, version | named))


def stateless(method: str, params: Mapping[str, Any] | None = None, **headers: str) -> tuple[int, Any]:
    """What the server says to a whole request of the revision without a handshake."""
    meta = {f"{KEYS}protocolVersion": STATELESS, f"{KEYS}clientCapabilities": {}}
    asked = request(method, {"_meta": meta, **(params or {})})
    return answer(asked, STATELESS, **{"Mcp_Method": method, **headers})


def request(method: str, params: Any = None, number: Any = 1) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": number,
        "method": method,
        **({} if params is None else {"params": params}),
    }


@pytest.mark.parametrize(
    ("message", "status", "code"),
    [
        (b"{", 400, -32700),
        (b"", 400, -32700),
        (b"[" * 100_000, 400, -32700),
        ([request("ping")], 400, -32600),
        ([], 400, -32600),
        ("ping", 400, -32600),
        ({"id": 1, "method": "ping"}, 400, -32600),
        ({"jsonrpc": "2.0", "id": 1}, 400, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": 5}, 400, -32600),
        (request("ping", number=None), 400, -32600),
        (request("ping", number={}), 400, -32600),
        (request("ping", number=True), 400, -32600),
        (request("resources/list"), 200, -32601),
        (request("server/discover"), 200, -32601),
        (request("ping", params=[1]), 200, -32602),
        (request("initialize", {}), 200, -32602),
        (request("tools/call", {"name": "nix"}), 200, -32602),
        (request("tools/call", {}), 200, -32602),
        (request("tools/call", {"name": "judge_case", "arguments": []}), 200, -32602),
    ],
)
def test_what_is_wrong_is_answered_by_its_code(message: Any, status: int, code: int) -> None:
    found, document = answer(message)

    assert (found, document["error"]["code"]) == (status, code)
    json.dumps(document, allow_nan=False)


def test_notifications_and_responses_are_taken_without_an_answer() -> None:
    for message in (
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "method": "no/such"},
        {"jsonrpc": "2.0", "id": 4, "result": {}},
    ):
        assert answer(message) == (202, None)


@pytest.mark.parametrize(
    ("asked", "spoken"),
    [*((each, each) for each in HANDSHAKES), ("1999-01-01", HANDSHAKES[0]), (STATELESS, HANDSHAKES[0])],
)
def test_a_version_that_is_not_spoken_is_answered_with_the_newest(asked: str, spoken: str) -> None:
    _, document = answer(
        request("initialize", {"protocolVersion": asked, "capabilities": {}, "clientInfo": {}})
    )

    assert document["result"]["protocolVersion"] == spoken
    assert document["result"]["capabilities"] == {"tools": {"listChanged": False}}


def test_a_later_request_in_a_version_that_is_not_spoken_is_refused() -> None:
    status, document = answer(request("ping"), "2099-01-01")

    assert (status, document["error"]["code"], document["error"]["data"]["supported"]) == (400, -32022, list(VERSIONS))  # fmt: skip
    assert answer(request("ping"), HANDSHAKES[-1]) == (200, {"jsonrpc": "2.0", "id": 1, "result": {}})


def test_tools_are_listed_and_called_and_their_errors_are_for_the_model() -> None:
    _, listed = answer(request("tools/list", number="a"))
    _, judged = answer(request("tools/call", {"name": "judge_case", "arguments": {"output": "x"}}))
    _, refused = answer(request("tools/call", {"name": "judge_case"}))

    (tool,) = listed["result"]["tools"]
    assert listed["id"] == "a" and tool["inputSchema"]["required"] == ["output"]
    assert judged["result"]["structuredContent"]["verdict"]["accurate"]["value"] == 4
    assert (
        refused["result"]["isError"] and "output: Field required" in refused["result"]["content"][0]["text"]
    )


def test_a_request_that_stands_alone_is_answered_without_a_handshake() -> None:
    status, discovered = stateless("server/discover")
    _, listed = stateless("tools/list")
    _, judged = stateless(
        "tools/call", {"name": "judge_case", "arguments": {"output": "x"}}, Mcp_Name="judge_case"
    )

    assert status == 200 and discovered["result"]["supportedVersions"] == list(VERSIONS)
    assert listed["result"]["tools"][0]["name"] == "judge_case"
    assert listed["result"]["ttlMs"] > 0 and listed["result"]["cacheScope"] == "private"
    assert "ttlMs" not in judged["result"] and not judged["result"]["isError"]
    for each in (discovered, listed, judged):
        assert each["result"]["resultType"] == "complete"
        assert each["result"]["_meta"][f"{KEYS}serverInfo"]["name"] == "venire"


@pytest.mark.parametrize(
    ("method", "params", "headers", "status", "code"),
    [
        ("tools/list", {"_meta": None}, {}, 400, -32602),
        ("tools/list", {"_meta": 5}, {}, 400, -32602),
        ("tools/list", {"_meta": {f"{KEYS}protocolVersion": STATELESS}}, {}, 400, -32602),
        ("tools/list", {}, {"Mcp_Method": "ping"}, 400, -32020),
        ("tools/call", {"name": "judge_case"}, {}, 400, -32020),
        ("tools/call", {"name": "judge_case"}, {"Mcp_Name": "other"}, 400, -32020),
        ("tools/call", {"name": "judge_case"}, {"Mcp_Name": "=?base64?*?="}, 400, -32020),
        ("tools/call", {"name": "é"}, {"Mcp_Name": "=?base64?w6k=?="}, 400, -32602),
        ("tools/call", {"name": "nix"}, {"Mcp_Name": "nix"}, 400, -32602),
        ("tools/call", {}, {}, 400, -32602),
        ("ping", {}, {}, 404, -32601),
        ("initialize", {}, {}, 404, -32601),
        ("resources/list", {}, {}, 404, -32601),
    ],
)
def test_headers_that_say_something_else_and_gaps_in_the_envelope_are_refused(
    method: str, params: dict[str, Any], headers: dict[str, str], status: int, code: int
) -> None:
    found, document = stateless(method, params, **headers)
    assert (found, document["error"]["code"]) == (status, code)


def test_the_envelope_of_one_revision_under_the_header_of_another_is_refused() -> None:
    meta = {f"{KEYS}protocolVersion": HANDSHAKES[0], f"{KEYS}clientCapabilities": {}}
    status, document = stateless("tools/list", {"_meta": meta})
    assert (status, document["error"]["code"]) == (400, -32020)
