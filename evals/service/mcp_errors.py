"""JSON-RPC's errors, and MCP's own: each a code, and the HTTP status that it is sent with."""

from __future__ import annotations

from typing import Any

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022

_ALWAYS = {PARSE_ERROR: 400, INVALID_REQUEST: 400, UNSUPPORTED_VERSION: 400}
_STATELESS = {**_ALWAYS, HEADER_MISMATCH: 400, INVALID_PARAMS: 400, METHOD_NOT_FOUND: 404}


class ProtocolError(Exception):
    """A message that is answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self._code = code
        self.error = {"code": code, "message": message, **({"data": data} if data else {})}

    def status(self, *, stateless: bool) -> int:
        """The HTTP status: a revision with a handshake sends most errors with 200, the one without does not."""
        return (_STATELESS if stateless else _ALWAYS).get(self._code, 200)
