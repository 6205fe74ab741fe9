"""Who may connect and ask: names served, tokens, TLS, and open connections, of which there are at most so many."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import logging
import os
import re
import secrets
import ssl
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from aiohttp import web

from ...rubrics.errors import VenireError
from .judging import RequestError

IDLE_SECONDS = 30.0
"""Seconds that a connection may wait for its client: for a handshake, for a request, for the next one."""
HANDSHAKE_SECONDS = 10.0
LOG_SECONDS = 1.0
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]@/\s]+)(?::\d{1,5})?")


class AccessCheck:
    """Refuses requests by another name than those served, from another page, or without the token."""

    def __init__(self, hosts: AllowedHosts, token: str, log: ThrottledLog) -> None:
        self._hosts = hosts
        self._token = token
        self._log = log

    def check_host(self, headers: Iterable[str]) -> None:
        """Raises RequestError 421 unless the `Host` headers are one, and name what is served."""
        if not self._hosts.allow(headers):
            self._log.warning(
                "request refused: the server does not answer under the host name of the request"
            )
            remedy = "use the address that the server printed, or start the server with --allow-host NAME"
            raise RequestError(421, "this server does not answer under the host name of the request", remedy)

    def check_origin(self, origin: str | None) -> None:
        """Raises RequestError 403 for a page that came from elsewhere."""
        if origin is not None and not self._hosts.allow([origin.partition("://")[2]]):
            raise RequestError(
                403,
                "this server does not answer pages of another website",
                "start the server with --allow-host NAME",
            )

    def check_token(self, authorization: str) -> None:
        """Raises RequestError 401 unless the header is `Bearer` and the token."""
        kind, _, credentials = authorization.partition(" ")
        matches = hmac.compare_digest(credentials.strip().encode("utf-8", "replace"), self._token.encode())
        if kind.lower() != "bearer" or not matches:
            challenge = {"WWW-Authenticate": "Bearer"}
            raise RequestError(401, "a token is needed", "send Authorization: Bearer TOKEN", **challenge)


def service_token(variable: str, host: str) -> tuple[bool, str]:
    """Whether a token was given, and the token: the one in the environment, or a new one.

    Raises:
        VenireError: None is given, and other machines can reach `host`.
    """
    token = os.environ.get(variable, "").strip()
    if token:
        return True, token
    if not is_loopback(host):
        raise VenireError(
            f"{host} can be reached from other machines, and {variable} is not set",
            remedy=f"set {variable} to a token of your own, or serve on 127.0.0.1",
        )
    return False, secrets.token_urlsafe(24)


class AllowedHosts:
    """The names served: those of `names`; on loopback all of loopback's; on every address, any address in digits.

    A page that had its own name point at this server (DNS rebinding) sends that name, and is refused. An address in
    digits cannot be pointed elsewhere.
    """

    def __init__(self, host: str, names: Iterable[str] = ()) -> None:
        self._names = {_fold(name) for name in (host, *names)}
        self._any_address = _is_wildcard(host)
        if is_loopback(host) or self._any_address:
            self._names |= {"localhost", "127.0.0.1", "::1"}

    def allow(self, headers: Iterable[str]) -> bool:
        """Whether a request's `Host` headers are one, and name what is served; its port is not looked at."""
        hosts = list(headers)
        match = _HOST.fullmatch(hosts[0].strip()) if len(hosts) == 1 else None
        if match is None:
            return False
        name = _fold(match[1])
        return name in self._names or (self._any_address and _is_address(name))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens at `host`."""
    return ipaddress.ip_address(host).is_loopback if _is_address(host) else host == "localhost"


def url_host(host: str) -> str:
    """The host as it stands in an address: IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


def _is_wildcard(host: str) -> bool:
    return _is_address(host) and ipaddress.ip_address(host).is_unspecified


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _fold(name: str) -> str:
    return name.strip("[]").lower().removesuffix(".")


def tls_context(certificate: Path | None, key: Path | None) -> ssl.SSLContext | None:
    """The server's TLS settings (1.2 or later); None where neither file is given.

    Raises:
        VenireError: One file is given without the other, cannot be read, or they do not belong together.
    """
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise VenireError("--tls-cert and --tls-key go together", remedy="give both files, or neither")
    for path in (certificate, key):
        try:
            path.open("rb").close()
        except OSError as error:
            raise VenireError(
                f"{path} cannot be read: {error.strerror}",
                remedy="name the PEM files of the certificate and its key",
            ) from None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key, password=_refuse_password)
    except ssl.SSLError as error:
        raise VenireError(
            f"{certificate} and {key} are not a certificate and its key: {error.reason or 'no PEM'}",
            remedy="give two PEM files, with the server's certificate first in the chain",
        ) from None
    return context


def _refuse_password() -> str:
    raise VenireError(
        "the key is encrypted, and the server cannot ask for its password",
        remedy="decrypt the key into a file that only the server's user can read: openssl pkey -in KEY -out PLAIN",
    )


class ThrottledLog:
    """Warnings to `logger`, at most one a second of each kind; the next line says how many were left out."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._last: dict[str, float] = {}
        self._left_out: Counter[str] = Counter()

    def warning(self, kind: str) -> None:
        """Log `kind`, a fixed text, unless it was logged within the last second."""
        seconds = time.monotonic()
        if seconds - self._last.get(kind, -LOG_SECONDS) < LOG_SECONDS:
            self._left_out[kind] += 1
            return
        self._last[kind] = seconds
        left_out = self._left_out.pop(kind, 0)
        self._logger.warning("%s%s", kind, f" (and {left_out} more before)" if left_out else "")


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
            self._log.warning("connection refused: all connections are in use")
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
                self._log.warning("idle connection closed to make room for a new one")
                return True
        return False

    def _forget_closed(self) -> None:
        self._open = {key: link for key, link in self._open.items() if not link.transport.is_closing()}

    async def _shake_hands(
        self, tls: ssl.SSLContext, accepted: _Accepted, transport: asyncio.Transport
    ) -> None:
        try:
            secure = await asyncio.get_running_loop().start_tls(
                transport, accepted, tls, server_side=True, ssl_handshake_timeout=HANDSHAKE_SECONDS
            )
        except (OSError, TimeoutError):
            # Not their words: what a client sends by mistake may hold a token.
            self._log.warning("connection closed: the TLS handshake failed")
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
