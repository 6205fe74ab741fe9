"""MCP over streamable HTTP, by hand: JSON-RPC 2.0 messages in, JSON answers out, no session and no stream."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from .case_request import CaseRequest, RequestError
from .mcp_envelope import STATELESS, VERSION_HEADER, check_envelope, complete
from .mcp_errors import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
    ProtocolError,
)

HANDSHAKES = ("2025-11-25", "2025-06-18", "2025-03-26")
"""Protocol revisions that begin with `initialize`, the newest first; they differ in nothing that is used here."""
VERSIONS = (STATELESS, *HANDSHAKES)
"""Protocol revisions spoken, the newest first."""
_CAPABILITIES = {"tools": {"listChanged": False}}

Document = dict[str, Any]
JudgeTool = Callable[[Mapping[str, Any]], Awaitable["ToolAnswer"]]


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a tool gives: words for a model, and the same as JSON for a program."""

    text: str
    document: Document


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as `tools/list` describes it, and the function behind it."""

    name: str
    title: str
    description: str
    schema: Document
    call: JudgeTool
    free: bool
    """Whether it only reads the record."""

    def listing(self) -> Document:
        hints = {"readOnlyHint": self.free, "destructiveHint": False, "idempotentHint": True}
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.schema,
            "annotations": {**hints, "openWorldHint": not self.free},
        }


class McpServer:
    """Answers one message at a time. It keeps nothing between them, so that any replica can answer any of them."""

    def __init__(self, tools: list[Tool], *, instructions: str) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._instructions = instructions

    async def answer(self, body: bytes, headers: Mapping[str, str]) -> tuple[int, Document | None]:
        """The HTTP status and the JSON-RPC answer; none for a notification or a response.

        Args:
            body: One JSON-RPC message. A batch is refused: MCP has had none since 2025-06-18.
            headers: The request's; `MCP-Protocol-Version` says by which revision it is meant.
        """
        number: str | int | None = None
        spoken = headers.get(VERSION_HEADER)
        try:
            message = _message(body)
            number = message.get("id")
            if spoken is not None and spoken not in VERSIONS:
                raise ProtocolError(
                    UNSUPPORTED_VERSION,
                    f"Unsupported protocol version: {spoken[:40]}",
                    {"supported": list(VERSIONS), "requested": spoken[:40]},
                )
            if "id" not in message or "method" not in message:
                # A notification, or a response to a request that this server never sends.
                return 202, None
            method, params = message["method"], _params(message)
            if spoken == STATELESS:
                check_envelope(method, params, headers)
                result = complete(method, await self._stateless_result(method, params), self._server_info())
            else:
                result = await self._handshake_result(method, params)
        except ProtocolError as error:
            status = error.status(stateless=spoken == STATELESS)
            return status, {"jsonrpc": "2.0", "id": number, "error": error.error}
        return 200, {"jsonrpc": "2.0", "id": number, "result": result}

    async def _stateless_result(self, method: str, params: Mapping[str, Any]) -> Document:
        if method == "server/discover":
            return {
                "supportedVersions": list(VERSIONS),
                "capabilities": _CAPABILITIES,
                "instructions": self._instructions,
            }
        return await self._tools_result(method, params)

    async def _handshake_result(self, method: str, params: Mapping[str, Any]) -> Document:
        match method:
            case "initialize":
                return self._initialize(params)
            case "ping":
                return {}
        return await self._tools_result(method, params)

    async def _tools_result(self, method: str, params: Mapping[str, Any]) -> Document:
        match method:
            case "tools/list":
                return {"tools": [tool.listing() for tool in self._tools.values()]}
            case "tools/call":
                return await self._call(params)
        raise ProtocolError(METHOD_NOT_FOUND, f"Method not found: {method[:80]}")

    def _initialize(self, params: Mapping[str, Any]) -> Document:
        """The client's protocol version where it is spoken after a handshake, otherwise the newest of those, as the protocol asks."""
        asked = params.get("protocolVersion")
        if not isinstance(asked, str):
            raise ProtocolError(INVALID_PARAMS, "initialize needs a protocolVersion")
        return {
            "protocolVersion": asked if asked in HANDSHAKES else HANDSHAKES[0],
            "capabilities": _CAPABILITIES,
            "serverInfo": self._server_info(),
            "instructions": self._instructions,
        }

    def _server_info(self) -> dict[str, str]:
        return {"name": "venire", "title": "venire", "version": version("venire")}

    async def _call(self, params: Mapping[str, Any]) -> Document:
        name, arguments = params.get("name"), params.get("arguments", {})
        if not isinstance(name, str) or name not in self._tools:
            raise ProtocolError(
                INVALID_PARAMS, f"Unknown tool: {str(name)[:80]}", {"known": list(self._tools)}
            )
        if not isinstance(arguments, Mapping):
            raise ProtocolError(INVALID_PARAMS, "arguments is no object")
        try:
            answer = await self._tools[name].call(arguments)
        except RequestError as error:
            # For the model that called: it may mend its arguments, or come back later.
            return {"content": [_text(f"{error.problem}: {error.remedy}")], "isError": True}
        return {"content": [_text(answer.text)], "structuredContent": answer.document, "isError": False}


def case_schema() -> Document:
    """The JSON schema of `judge_case`'s arguments: a case, as every other address takes it."""
    return CaseRequest.model_json_schema(mode="validation")


def _message(body: bytes) -> Document:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        raise ProtocolError(PARSE_ERROR, "Parse error: the body is no JSON") from None
    if isinstance(message, list):
        raise ProtocolError(INVALID_REQUEST, "Invalid request: batches are not supported; send one message")
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise ProtocolError(INVALID_REQUEST, 'Invalid request: no object with "jsonrpc": "2.0"')
    number, method = message.get("id"), message.get("method")
    if isinstance(number, bool) or not isinstance(number, str | int | None):
        message["id"] = None
        raise ProtocolError(INVALID_REQUEST, "Invalid request: id is no string and no whole number")
    if "id" in message and number is None:
        raise ProtocolError(INVALID_REQUEST, "Invalid request: id is null")
    if method is None and not {"result", "error"} & message.keys():
        raise ProtocolError(INVALID_REQUEST, "Invalid request: no method")
    if method is not None and not isinstance(method, str):
        raise ProtocolError(INVALID_REQUEST, "Invalid request: method is no string")
    return message


def _params(message: Mapping[str, Any]) -> Mapping[str, Any]:
    params = message.get("params", {})
    if not isinstance(params, Mapping):
        raise ProtocolError(INVALID_PARAMS, "Invalid params: no object")
    return params


def _text(words: str) -> Document:
    return {"type": "text", "text": words}
