"""What MCP's revision 2026-07-28 asks of a request and of a result: each stands alone, without a handshake before it."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from .mcp_errors import HEADER_MISMATCH, INVALID_PARAMS, ProtocolError

STATELESS = "2026-07-28"
VERSION_HEADER, METHOD_HEADER, NAME_HEADER = "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"

_KEYS = "io.modelcontextprotocol/"
_VERSION, _CAPABILITIES, _SERVER = (
    f"{_KEYS}protocolVersion",
    f"{_KEYS}clientCapabilities",
    f"{_KEYS}serverInfo",
)
_FRESH = 60_000
"""Milliseconds for which a client may keep the list of tools: a restart may change their words."""
_CACHED = ("server/discover", "tools/list")
_ENCODED = "=?base64?", "?="
"""What stands around a header's value that is no plain ASCII."""


def check_envelope(method: str, params: Mapping[str, Any], headers: Mapping[str, str]) -> None:
    """Refuses a request without version and capabilities in its `_meta`, or whose headers say something else than it does."""
    meta = params.get("_meta")
    missing = [key for key in (_VERSION, _CAPABILITIES) if not isinstance(meta, Mapping) or key not in meta]
    if not isinstance(meta, Mapping) or missing:
        raise ProtocolError(INVALID_PARAMS, f"Invalid params: _meta needs {' and '.join(missing)}")
    repeated = {VERSION_HEADER: meta[_VERSION], METHOD_HEADER: method}
    if method == "tools/call" and "name" in params:
        repeated[NAME_HEADER] = params["name"]
    for name, value in repeated.items():
        if _header_text(headers.get(name)) != value:
            raise ProtocolError(HEADER_MISMATCH, f"The header {name} does not repeat what the body says")


def complete(method: str, result: dict[str, Any], server: dict[str, str]) -> dict[str, Any]:
    """The result with what this revision wants in each: that it is the last word, whose it is, and how long it may be kept."""
    kept = {"ttlMs": _FRESH, "cacheScope": "private"} if method in _CACHED else {}
    return {**result, **kept, "resultType": "complete", "_meta": {_SERVER: server}}


def _header_text(value: str | None) -> str | None:
    """A header's value; None where it is missing or encoded wrongly, which nothing in a body equals."""
    before, after = _ENCODED
    if value is None or not (value.startswith(before) and value.endswith(after)):
        return value
    try:
        return base64.b64decode(value[len(before) : -len(after)], validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None
