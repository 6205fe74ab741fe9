"""One address over HTTP/1.1: connections that are kept, each asked one thing at a time.

A server is asked the same kind of question thousands of times a minute. A client for all of HTTP takes more than twice the
processor time for that, which was a third of a call: `benchmarks/speed.py` compares the whole path with aiohttp alone.
"""

from __future__ import annotations

import asyncio
import ssl
import zlib
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from ..model import MAX_REPLY

KEPT = 15.0
"""Seconds for which a connection that nobody uses is trusted: after that, something on the way may have forgotten it."""
_NEXT_ADDRESS = 0.25
"""Seconds before another of a host's addresses is tried at the same time."""


_HEAD = 64_000
"""Bytes of an answer that are not its body, at the most: its headers, and the sizes of its chunks besides."""


class AnswerTooLong(Exception):
    """An answer that was given up because it went on for too long."""


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    """By name in small letters."""
    body: bytes


class Endpoint:
    """Connection pool for requests to one address; raises `OSError` for all that fails.

    There are never more connections than requests at a time.
    """

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        """`ValueError` where there is no such address, or where a header would break its line; it may repeat both."""
        parts = urlsplit(url)
        if not parts.hostname:
            raise ValueError("the address names no host")
        if not all(value.isascii() and value.isprintable() for value in headers.values()):
            raise ValueError("a header holds characters that do not belong in one")
        self._secure = parts.scheme == "https"
        self._host = parts.hostname
        self._port = parts.port or (443 if self._secure else 80)
        if parts.username and "Authorization" not in headers:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            headers = {**headers, "Authorization": f"Basic {b64encode(pair.encode()).decode()}"}
        path = quote(parts.path, safe="/%:@!$&'()*+,;=~") + (f"?{parts.query}" if parts.query else "")
        lines = {
            "Host": parts.netloc.rpartition("@")[2].encode("idna").decode(),
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            "User-Agent": "venire",
            **headers,
        }
        told = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        self._head = f"POST {path} HTTP/1.1\r\n{told}Content-Length: ".encode("ascii")
        self._get = f"GET {path} HTTP/1.1\r\n{told}\r\n".encode("ascii")
        self._free: list[_Connection] = []

    async def post(self, body: bytes, longest: int = MAX_REPLY) -> Answer:
        """The answer to one request; `AnswerTooLong` where its body has more than `longest` bytes, also once inflated."""
        return await self._send(b"%b%d\r\n\r\n%b" % (self._head, len(body), body), longest)

    async def get(self, longest: int = MAX_REPLY) -> Answer:
        """What the address shows; as `post`, without a body."""
        return await self._send(self._get, longest)

    async def connect(self) -> None:
        """Open a connection and keep it for the next request."""
        connection = await self._connect()
        connection.reusable = True
        connection.free_since = asyncio.get_running_loop().time()
        self._free.append(connection)

    async def _send(self, request: bytes, longest: int) -> Answer:
        connection = self._reuse() or await self._connect()
        try:
            answer = await connection.ask(request, longest)
            if encoding := answer.headers.get("content-encoding"):
                answer = answer._replace(body=inflate(answer.body, encoding, longest))
        except BaseException:
            connection.close()
            raise
        if connection.reusable:
            connection.free_since = asyncio.get_running_loop().time()
            self._free.append(connection)
        else:
            connection.close()
        return answer

    def close(self) -> None:
        while self._free:
            self._free.pop().close()

    def _reuse(self) -> _Connection | None:
        """The pooled connection that was used last, None where there is none that is still trusted."""
        while self._free:
            connection = self._free.pop()
            if connection.reusable and asyncio.get_running_loop().time() - connection.free_since < KEPT:
                return connection
            connection.close()
        return None

    async def _connect(self) -> _Connection:
        _, connection = await asyncio.get_running_loop().create_connection(
            _Connection,
            self._host,
            self._port,
            ssl=_tls_context() if self._secure else None,
            happy_eyeballs_delay=_NEXT_ADDRESS,
        )
        return connection


class _Connection(asyncio.Protocol):
    """One connection. Its parser calls the `on_` methods as an answer comes in."""

    def __init__(self) -> None:
        self.reusable = False
        self.free_since = 0.0
        self._parser = HttpResponseParser(self)
        self._answered: asyncio.Future[Answer] | None = None
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._body_left = self._bytes_left = 0
        """How much of the body, and of everything, may still come."""
        self._until_close = False
        """Whether the answer has no length of its own, and ends with the connection."""

    def ask(self, request: bytes, longest: int) -> asyncio.Future[Answer]:
        # Chunks of one byte come with five more that say so.
        self._body_left, self._bytes_left = longest, _HEAD + 6 * longest
        self._answered = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._answered

    def close(self) -> None:
        self.reusable = False
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._answered is None:
            # Nobody asked: whatever it is, the next answer could not be told from it.
            self.close()
            return
        self._bytes_left -= len(data)
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            self._fail(ConnectionError(f"the answer is not HTTP: {type(error).__name__}"))
        if self._answered is not None and min(self._body_left, self._bytes_left) < 0:
            self._fail(AnswerTooLong())

    def connection_lost(self, error: Exception | None) -> None:
        self.reusable = False
        if self._answered is not None and self._until_close and error is None:
            self._settle(reusable=False)
        else:
            self._fail(
                error or ConnectionResetError("the connection was closed before the answer was complete")
            )

    def on_message_begin(self) -> None:
        if self._answered is None:
            self.close()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self._until_close = not {"content-length", "transfer-encoding"} & self._headers.keys()

    def on_body(self, body: bytes) -> None:
        self._body_left -= len(body)
        if self._body_left >= 0:
            self._body.append(body)

    def on_message_complete(self) -> None:
        if self._parser.get_status_code() < 200:
            # Only word that an answer is to come.
            self._headers, self._body, self._until_close = {}, [], False
            return
        if self._answered is not None and self._body_left >= 0:
            # An answer that came before the question was sent whole leaves the rest of it on the way.
            whole = self._transport.get_write_buffer_size() == 0
            self._settle(reusable=whole and self._parser.should_keep_alive())

    def _settle(self, *, reusable: bool) -> None:
        answered, self._answered = self._answered, None
        answer = Answer(self._parser.get_status_code(), self._headers, b"".join(self._body))
        self._headers, self._body, self._until_close = {}, [], False
        self.reusable = reusable
        if answered is not None and not answered.done():
            answered.set_result(answer)

    def _fail(self, error: Exception) -> None:
        answered, self._answered = self._answered, None
        if answered is not None and not answered.done():
            answered.set_exception(error)
        self.close()


def inflate(body: bytes, encoding: str, longest: int) -> bytes:
    """The body of a server that compressed it unasked; `AnswerTooLong` before it takes up more than it may."""
    encoding = encoding.strip().lower()
    if encoding == "identity":
        return body
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise ConnectionError(f"the answer is in an encoding that nobody asked for: {encoding[:30]!r}")
    inflating = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    try:
        body = inflating.decompress(body, longest + 1)
    except zlib.error:
        raise ConnectionError("the answer is not compressed as it says") from None
    if len(body) > longest:
        raise AnswerTooLong
    return body


@cache
def _tls_context() -> ssl.SSLContext:
    """TLS with the machine's own certificates; made once, for it takes longer than a call."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
