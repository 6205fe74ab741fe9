"""One address over HTTP/1.1 by aiohttp: through the environment's proxy, with a cap on all that comes back.

aiohttp's own `trust_env` is not used: for every request it would look the proxy up in a thread and send what a
`.netrc` file holds, and it passes over ports and networks in `NO_PROXY`. The proxy is looked up once instead.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import zlib
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from io import BytesIO
from ipaddress import ip_address, ip_network
from typing import NamedTuple
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from ...rubrics.errors import VenireError
from ..model import MAX_REPLY
from .keys import sent_secrets

KEPT = 15.0
"""Seconds for which a connection that nobody uses is trusted: after that, something on the way may have forgotten it."""
_NEXT_ADDRESS = 0.25
"""Seconds before another of a host's addresses is tried at the same time."""
_FIELD = 16_000
"""Bytes of one header of an answer, at the most; there may be 128 of them."""
_AT_ONCE = 2**20
"""Bytes that are written as one piece; aiohttp wants longer bodies as a file."""
_NO_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=None)
"""Whoever asks says how long."""


class AnswerTooLong(Exception):
    """An answer that was given up because it went on for too long."""


class AnswerCut(ConnectionResetError):
    """The connection was closed in the middle of an answer."""

    def __init__(self, received: bytes) -> None:
        super().__init__("the connection was closed before the answer was complete")
        self.received = received


class ProxyFailure(ConnectionError):
    """The proxy on the way cannot be reached, or does not open the way."""

    def __init__(self, problem: str, status: int | None = None) -> None:
        super().__init__(problem)
        self.status = status
        """What it answered; None where it did not."""

    @property
    def wants_credentials(self) -> bool:
        return self.status == 407


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    """By name, in letters of any size."""
    body: bytes


class Endpoint:
    """Connection pool for requests to one address; raises `OSError` for all that fails.

    There are never more connections than requests at a time. A redirect is an answer like any other.
    """

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        """`ValueError` where there is no such address, or where a header would break its line; it may repeat both.

        Raises:
            VenireError: The environment names a proxy or a file of certificates that cannot be used.
        """
        address = URL(url)
        if not address.host or address.scheme not in ("http", "https"):
            raise ValueError("the address names no host")
        if not all(value.isascii() and value.isprintable() for value in headers.values()):
            raise ValueError("a header holds characters that do not belong in one")
        if address.user and "Authorization" not in headers:
            pair = f"{address.user}:{address.password or ''}"
            headers = {**headers, "Authorization": f"Basic {b64encode(pair.encode()).decode()}"}
        self._url = address.with_user(None)
        self._headers = {
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            "User-Agent": "venire",
            **headers,
        }
        self.proxy = environment_proxy(self._url)
        """The proxy on the way, with its credentials; None for a direct connection."""
        self._tls = _trusted_tls() if address.scheme == "https" else True
        self._session: aiohttp.ClientSession | None = None

    @property
    def proxy_secrets(self) -> tuple[str, ...]:
        """The proxy's credentials, in the forms in which it may repeat them."""
        return () if self.proxy is None else sent_secrets(str(self.proxy), None)

    @property
    def next_host(self) -> str:
        """The host to which connections are made: the proxy's, or the address's own."""
        return (self.proxy or self._url).host or ""

    async def post(self, body: bytes, longest: int = MAX_REPLY) -> Answer:
        """The answer to one request; `AnswerTooLong` where its body has more than `longest` bytes, also once inflated."""
        return await self._send("POST", body if len(body) < _AT_ONCE else BytesIO(body), longest)

    async def get(self, longest: int = MAX_REPLY) -> Answer:
        """What the address shows; as `post`, without a body."""
        return await self._send("GET", None, longest)

    async def connect(self) -> None:
        """See whether the address accepts connections, or the proxy on the way to it. Nothing is asked."""
        tls = self._tls if self.proxy is None and isinstance(self._tls, ssl.SSLContext) else None
        port = (self.proxy or self._url).port
        _, writer = await asyncio.open_connection(
            self.next_host, port, ssl=tls, happy_eyeballs_delay=_NEXT_ADDRESS
        )
        writer.transport.abort()

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    def plain_error(self, error: Exception) -> OSError:
        """What went wrong, without aiohttp's words for it: those may repeat an address with its credentials."""
        cause = error
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            cause = error.certificate_error
        elif isinstance(error, aiohttp.ClientConnectorError):
            cause = error.os_error
        on_the_way = isinstance(error, aiohttp.ClientProxyConnectionError)
        if on_the_way or (self.proxy is not None and not isinstance(error, aiohttp.ClientError)):
            why = "connection refused" if isinstance(cause, ConnectionRefusedError) else type(cause).__name__
            return ProxyFailure(f"the proxy cannot be reached ({why}): {self._proxy_name}")
        if isinstance(cause, OSError) and not isinstance(cause, aiohttp.ClientError):
            return cause
        return ConnectionError(type(cause).__name__)

    async def _send(self, method: str, body: bytes | BytesIO | None, longest: int) -> Answer:
        session = self._session or self._open()
        received: list[bytes] = []
        try:
            async with session.request(
                method, self._url, data=body, allow_redirects=False, proxy=self.proxy, ssl=self._tls
            ) as response:
                if response.status == 407 and self.proxy is not None:
                    raise self._refusal(407)
                if response.status == 101:
                    raise ConnectionError("the answer is not HTTP: it changes the protocol")
                size = 0
                async for piece in response.content.iter_any():
                    size += len(piece)
                    if size > longest:
                        response.close()
                        raise AnswerTooLong
                    received.append(piece)
        except aiohttp.ClientHttpProxyError as error:
            raise self._refusal(error.status) from None
        except aiohttp.ClientResponseError as error:
            raise ConnectionError(f"the answer is not HTTP: {error.message[:100]}") from None
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientPayloadError):
            if received:
                raise AnswerCut(b"".join(received)) from None
            raise ConnectionResetError("the connection was closed before the answer was complete") from None
        except aiohttp.ClientError as error:
            raise self.plain_error(error) from None
        whole = b"".join(received)
        if encoding := response.headers.get("Content-Encoding"):
            whole = inflate(whole, encoding, longest)
        return Answer(response.status, response.headers, whole)

    def _open(self) -> aiohttp.ClientSession:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0, keepalive_timeout=KEPT, happy_eyeballs_delay=_NEXT_ADDRESS
            ),
            headers=self._headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=_NO_TIMEOUT,
            auto_decompress=False,
            max_field_size=_FIELD,
        )
        return self._session

    def _refusal(self, status: int) -> ProxyFailure:
        return ProxyFailure(f"the proxy refused the connection (HTTP {status}): {self._proxy_name}", status)

    @property
    def _proxy_name(self) -> str:
        return "" if self.proxy is None else str(self.proxy.origin())


def environment_proxy(url: URL) -> URL | None:
    """The proxy of an address by the rules of `urllib`: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, less what `NO_PROXY` names.

    Raises:
        VenireError: It is no HTTP proxy.
    """
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    host = url.host or ""
    if not proxy or proxy_bypass(f"{host}:{url.port}") or _in_network(host, proxies.get("no", "")):
        return None
    try:
        address = URL(proxy if "://" in proxy else f"http://{proxy}")
    except ValueError:
        address = URL()
    if address.scheme not in ("http", "https") or not address.host:
        # What it says is not repeated: it may hold a password.
        raise VenireError(
            f"the proxy for {url.scheme} in the environment is not an HTTP proxy",
            remedy=f"export {url.scheme.upper()}_PROXY=http://HOST:PORT, or name {host} in NO_PROXY",
        )
    return address


def _in_network(host: str, no_proxy: str) -> bool:
    """Whether a host that is written as an address lies in one of the networks, such as 10.0.0.0/8, of `NO_PROXY`."""
    for name in no_proxy.split(",") if "/" in no_proxy else ():
        with suppress(ValueError):
            if ip_address(host) in ip_network(name.strip(), strict=False):
                return True
    return False


def inflate(body: bytes, encoding: str, longest: int) -> bytes:
    """The body of a server that compressed it unasked; `AnswerTooLong` before it takes up more than it may."""
    encoding = encoding.strip().lower()
    if encoding == "identity":
        return body
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise ConnectionError(f"the answer uses an encoding that was not requested: {encoding[:30]!r}")
    inflating = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    try:
        body = inflating.decompress(body, longest + 1)
    except zlib.error:
        raise ConnectionError("the answer is not compressed in the way that its header says") from None
    if len(body) > longest:
        raise AnswerTooLong
    if not inflating.eof:
        raise ConnectionError("the answer is compressed, and cut short")
    return body


def _trusted_tls() -> ssl.SSLContext:
    """TLS with the certificates that `SSL_CERT_FILE`, `SSL_CERT_DIR` or `REQUESTS_CA_BUNDLE` name, else the machine's own."""
    bundle = next((name for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE") if os.environ.get(name)), "")
    try:
        return _tls_context(os.environ.get(bundle), os.environ.get("SSL_CERT_DIR"))
    except OSError as error:
        raise VenireError(
            f"the certificates in {bundle or 'SSL_CERT_DIR'} cannot be read: {error.strerror or error}",
            remedy=f"export {bundle or 'SSL_CERT_DIR'}=... with a file of certificates in PEM form, and run again",
        ) from None


@cache
def _tls_context(file: str | None, folder: str | None) -> ssl.SSLContext:
    """Made once, for it takes longer than a call."""
    context = ssl.create_default_context(cafile=file, capath=folder)
    context.set_alpn_protocols(["http/1.1"])
    return context
