"""Open connections: at most so many, and none that waits for its client keeps a place that another needs."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast

from aiohttp import web

from .throttled_log import ThrottledLog

IDLE_SECONDS = 30.0
"""Seconds that a connection may wait for its client: for a handshake, for a request, for the next one."""
HANDSHAKE_SECONDS = 10.0


@dataclass(slots=True)
class _Connection:
    transport: asyncio.Transport
    since: float = field(default_factory=time.monotonic)
    """When it began to wait for its client."""
    answering: bool = False


class Connections:
    """The server's open connections, at most `most` of them.

    Where all places are taken, a new connection gets the place of the one that has waited longest for its client. One
    whose request was read and is being answered is never closed; if all are such, the new one is.
    """

    def __init__(self, most: int, *, tls: ssl.SSLContext | None, log: ThrottledLog) -> None:
        self._most = most
        self._tls = tls
        self._log = log
        # In the order in which they began to wait.
        self._open: dict[asyncio.BaseProtocol, _Connection] = {}
        self._handshakes: set[asyncio.Task[None]] = set()

    def protocol_factory(self, handlers: web.Server) -> Callable[[], asyncio.Protocol]:
        """A protocol factory for `create_server`: each connection it admits is handed to one of `handlers`."""
        return lambda: _Accepted(self, handlers())

    @contextmanager
    def keep_open(self, handler: asyncio.BaseProtocol) -> Iterator[None]:
        """While a request that was read to its end is answered, its connection is not closed for another's sake."""
        self._wait_anew(handler, answering=True)
        try:
            yield
        finally:
            self._wait_anew(handler, answering=False)

    def request_came(self, handler: asyncio.BaseProtocol) -> None:
        """A request's head is there: its connection begins to wait anew."""
        self._wait_anew(handler, answering=False)

    def _wait_anew(self, handler: asyncio.BaseProtocol, *, answering: bool) -> None:
        if (connection := self._open.pop(handler, None)) is not None:
            connection.since, connection.answering = time.monotonic(), answering
            self._open[handler] = connection

    async def close_idle(self) -> None:
        """Close, every second, what has waited for longer than `IDLE_SECONDS`; runs until it is cancelled."""
        while True:
            await asyncio.sleep(1)
            self._forget_closed()
            latest = time.monotonic() - IDLE_SECONDS
            for connection in self._open.values():
                if not connection.answering and connection.since < latest:
                    connection.transport.abort()

    def admit(self, handler: web.RequestHandler, accepted: _Accepted, transport: asyncio.Transport) -> None:
        """Take a new connection in, or close it if no other can give way; with TLS, shake hands first."""
        if not self._make_room():
            self._log.warning("connection refused: all places are being answered")
            transport.abort()
            return
        self._open[handler] = _Connection(transport)
        if self._tls is None:
            accepted.hand_over(transport)
            return
        transport.pause_reading()
        task = asyncio.get_running_loop().create_task(self._shake_hands(self._tls, accepted, transport))
        self._handshakes.add(task)
        task.add_done_callback(self._handshakes.discard)

    def _make_room(self) -> bool:
        if len(self._open) < self._most:
            return True
        self._forget_closed()
        if len(self._open) < self._most:
            return True
        for handler, connection in self._open.items():
            if not connection.answering:
                connection.transport.abort()
                del self._open[handler]
                self._log.warning("connection closed for a new one: it waited for its client")
                return True
        return False

    def _forget_closed(self) -> None:
        self._open = {known: one for known, one in self._open.items() if not one.transport.is_closing()}

    async def _shake_hands(
        self, tls: ssl.SSLContext, accepted: _Accepted, transport: asyncio.Transport
    ) -> None:
        try:
            secure = await asyncio.get_running_loop().start_tls(
                transport, accepted, tls, server_side=True, ssl_handshake_timeout=HANDSHAKE_SECONDS
            )
        except (OSError, TimeoutError):
            # Not their words: what a client sends by mistake may hold a token.
            self._log.warning("no TLS handshake")
            transport.abort()
            return
        if secure is not None:
            accepted.hand_over(secure)


class _Accepted(asyncio.Protocol):
    """A connection until it is handed to the HTTP handler; what comes before that is kept for it."""

    def __init__(self, connections: Connections, handler: web.RequestHandler) -> None:
        self._connections = connections
        self._handler = handler
        self._early = bytearray()
        self._lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._connections.admit(self._handler, self, cast(asyncio.Transport, transport))

    def data_received(self, data: bytes) -> None:
        self._early += data

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True

    def hand_over(self, transport: asyncio.Transport) -> None:
        """Let the HTTP handler go on from here."""
        if self._lost:
            return
        transport.set_protocol(self._handler)
        self._handler.connection_made(transport)
        if self._early:
            self._handler.data_received(bytes(self._early))
