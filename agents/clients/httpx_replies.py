"""HTTP replies that a library reads through httpx: capped while they come in, with token counts that it can read.

LiteLLM and AutoGen's model clients read a reply whole, and inflate it, before they hand it over; and a token count of the
wrong type makes them refuse the reply. Both are put right in httpx's transport, for calls made inside `capped_reply` only.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from threading import Lock
from typing import Any

import httpx

from ..model import ModelFailure, Request, reply_too_long
from ..tokens import reported_count
from .endpoint import AnswerTooLong, inflate
from .server import reply_json, unread

_OPENAI_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
_ANTHROPIC_COUNTS = ("input_tokens", "output_tokens")
_UNREADABLE = 2_000
"""Bytes of a reply that are handed on where it is an error or no completion: libraries take seconds a megabyte over those."""
_Send = Callable[[Any, httpx.Request], Awaitable[httpx.Response]]


@dataclass(slots=True)
class _Cap:
    """The bytes that the replies of one call may have, whether one had more, and the last that was no error."""

    longest: int
    passed: bool = False
    received: bytes | None = None


_LOCK = Lock()
_capped: set[Any] = set()
"""The transports that are held to the cap."""
_cap: ContextVar[_Cap | None] = ContextVar("cap", default=None)


@contextmanager
def capped_reply(request: Request) -> Iterator[None]:
    """Inside, a reply is given up once it passes the request's `max_reply`, also while it is inflated; a failure has what came.

    No redirect to another origin is followed.

    Raises:
        ModelFailure: A reply was given up, whatever the library made of that.
    """
    cap = _Cap(request.max_reply)
    before = _cap.set(cap)
    started = time.perf_counter()
    try:
        yield
    except Exception as error:
        if cap.passed:
            raise reply_too_long(request) from None
        if isinstance(error, ModelFailure) and cap.received is not None:
            raise unread(error, cap.received, time.perf_counter() - started) from None
        raise
    finally:
        _cap.reset(before)


def cap_transport(transport: Any = httpx.AsyncHTTPTransport) -> None:
    """Have a class of httpx transports read its replies within the cap, where a call has one."""
    with _LOCK:
        if transport not in _capped:
            _capped.add(transport)
            _patch(transport)


def _patch(transport: Any) -> None:
    send: _Send = transport.handle_async_request

    @wraps(send)
    async def handle_async_request(self: Any, request: httpx.Request) -> httpx.Response:
        cap = _cap.get()
        if cap is None:
            return await send(self, request)
        request.headers["Accept-Encoding"] = "identity"
        return await _read(await send(self, request), cap, request.url)

    transport.handle_async_request = handle_async_request


async def _read(response: httpx.Response, cap: _Cap, asked: httpx.URL) -> httpx.Response:
    """The response with its whole body, inflated; without the address of another origin, where it would be sent on to."""
    received, size = [], 0
    try:
        async for chunk in response.aiter_raw():
            size += len(chunk)
            if size > cap.longest:
                raise AnswerTooLong
            received.append(chunk)
        body = b"".join(received)
        if encoding := response.headers.get("content-encoding"):
            body = inflate(body, encoding, cap.longest)
    except AnswerTooLong:
        cap.passed = True
        raise
    finally:
        await response.aclose()
    headers = [
        (name, value)
        for name, value in response.headers.multi_items()
        if name not in ("content-encoding", "content-length", "transfer-encoding")
        and not (name == "location" and _leaves(asked, value))
    ]
    if response.is_success:
        cap.received = body
    return httpx.Response(
        response.status_code,
        headers=headers,
        content=_readable(body) if response.is_success else body[:_UNREADABLE],
        extensions=response.extensions,
    )


def _leaves(asked: httpx.URL, location: str) -> bool:
    """Whether a redirect leads to another origin: what is judged goes only where the user said."""
    try:
        target = asked.join(location)
    except Exception:
        # What cannot be read leads nowhere that is known.
        return True
    return (target.scheme, target.host, target.port) != (asked.scheme, asked.host, asked.port)


def _readable(body: bytes) -> bytes:
    """The reply with -1 for every token count that is no whole number, 0 for those that its form must have, and a refusal told as one.

    Byte for byte as it came where nothing about it is odd; its beginning where it is no completion.
    """
    try:
        reply = reply_json(body)
    except Exception:
        # Whatever it is, it is no completion.
        return body[:_UNREADABLE]
    if not isinstance(reply, dict) or ("choices" in reply and not _has_message(reply["choices"])):
        return body[:_UNREADABLE]
    if reply.get("error"):
        return json.dumps({"error": reply["error"]}).encode()[:_UNREADABLE]
    mended = _usage_fields(reply) | _refusal_field(reply)
    return body if mended.items() <= reply.items() else json.dumps({**reply, **mended}).encode()


def _has_message(choices: Any) -> bool:
    try:
        content = choices[0]["message"].get("content")
    except (LookupError, TypeError, AttributeError):
        return False
    return content is None or isinstance(content, str)


def _refusal_field(reply: dict[str, Any]) -> dict[str, Any]:
    """The choice of a reply with a refusal in it, filtered and in the refusal's words: AutoGen would read what stands beside it."""
    choice = reply["choices"][0] if "choices" in reply else {}
    message = choice.get("message", {})
    if not message.get("refusal"):
        return {}
    refused = {**message, "content": str(message["refusal"]), "refusal": str(message["refusal"])}
    return {"choices": [{**choice, "finish_reason": "content_filter", "message": refused}]}


def _usage_fields(reply: dict[str, Any]) -> dict[str, Any]:
    """The fields in which a reply accounts for its tokens, put right; none where its form is not known."""
    if "choices" in reply:
        return {"usage": {**dict.fromkeys(_OPENAI_COUNTS, 0), **_counts(reply.get("usage"))}}
    if reply.get("type") == "message":
        return {"usage": {**dict.fromkeys(_ANTHROPIC_COUNTS, 0), **_counts(reply.get("usage"))}}
    if "usageMetadata" in reply:
        return {"usageMetadata": _counts(reply["usageMetadata"])}
    return _counts({name: value for name, value in reply.items() if name.endswith("eval_count")})


def _counts(usage: Any) -> dict[str, Any]:
    """A provider's account of its tokens with whole numbers where counts belong; empty where it is none."""
    if not isinstance(usage, dict):
        return {}
    return {name: _count(name.lower(), value) for name, value in usage.items()}


def _count(name: str, value: Any) -> Any:
    if name.endswith("details"):
        parts = (
            [_counts(part) for part in value if isinstance(part, dict)] if isinstance(value, list) else None
        )
        return _counts(value) if isinstance(value, dict) else parts
    if value is not None and ("token" in name or name.endswith("count")):
        return reported_count(value)
    return value
