"""MCP over streamable HTTP, by hand: JSON-RPC 2.0 messages in, JSON answers out, no session and no stream."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from .case_request import CaseRequest, RequestError

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26")
"""Protocol revisions spoken, the newest first; they differ in nothing that is used here."""
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
UNSUPPORTED_VERSION = -32022

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


class ProtocolError(Exception):
    """A message that is answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Document | None = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, **({"data": data} if data else {})}


class McpServer:
    """Answers one message at a time. It keeps nothing between them, so that any replica can answer any of them."""

    def __init__(self, tools: list[Tool], *, instructions: str) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._instructions = instructions

    async def answer(self, body: bytes, spoken: str | None) -> tuple[int, Document | None]:
        """The HTTP status and the JSON-RPC answer; none for a notification or a response.

        Args:
            body: One JSON-RPC message. A batch is refused: MCP has had none since 2025-06-18.
            spoken: The header `MCP-Protocol-Version`.
        """
        number: str | int | None = None
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
            result = await self._result(message["method"], _params(message))
        except ProtocolError as error:
            bad = error.error["code"] in (PARSE_ERROR, INVALID_REQUEST, UNSUPPORTED_VERSION)
            return 400 if bad else 200, {"jsonrpc": "2.0", "id": number, "error": error.error}
        return 200, {"jsonrpc": "2.0", "id": number, "result": result}

    async def _result(self, method: str, params: Mapping[str, Any]) -> Document:
        match method:
            case "initialize":
                return self._initialize(params)
            case "ping":
                return {}
            case "tools/list":
                return {"tools": [tool.listing() for tool in self._tools.values()]}
            case "tools/call":
                return await self._call(params)
        raise ProtocolError(METHOD_NOT_FOUND, f"Method not found: {method[:80]}")

    def _initialize(self, params: Mapping[str, Any]) -> Document:
        """The client's protocol version where it is spoken here, otherwise the newest, as the protocol asks."""
        asked = params.get("protocolVersion")
        if not isinstance(asked, str):
            raise ProtocolError(INVALID_PARAMS, "initialize needs a protocolVersion")
        return {
            "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": {"name": "venire", "title": "venire", "version": version("venire")},
            "instructions": self._instructions,
        }

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
