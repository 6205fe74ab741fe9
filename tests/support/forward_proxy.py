"""A forward proxy on loopback as an organisation has one: CONNECT for TLS, absolute-form requests for the rest."""

from __future__ import annotations

import asyncio
import threading
from base64 import b64encode
from contextlib import suppress
from urllib.parse import urlsplit


class ForwardProxy:
    """Serves from a thread of its own while the `with` block runs; every host name leads to loopback.

    With `credentials` (as NAME:PASSWORD), whoever sends others is refused with status 407. With `answer`, everyone gets
    that status; with `closes`, a closed connection.
    """

    def __init__(
        self, *, credentials: str | None = None, answer: int | None = None, closes: bool = False
    ) -> None:
        self._credentials = credentials and f"Basic {b64encode(credentials.encode()).decode()}"
        self._answer = answer
        self._closes = closes
        self.requests: list[str] = []
        """The first line of each request that a proxy is asked to pass on."""
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> ForwardProxy:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _serve(self) -> None:
        self._loop.run_until_complete(self._run())
        self._loop.close()

    async def _run(self) -> None:
        self._stop = asyncio.Event()
        self._handlers: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._handle, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for handler in self._handlers:
            handler.cancel()
        await asyncio.gather(*self._handlers, return_exceptions=True)

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._handlers.add(task)
        try:
            await self._pass_on(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            await _close(writer)
            self._handlers.discard(task)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[:-2]
        self.requests.append(first)
        sent = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        if self._closes:
            return
        status = self._answer
        if self._credentials and sent.get("proxy-authorization") != self._credentials:
            status = 407
        if status is not None:
            # As some do, it repeats all that it was sent.
            body = "\r\n".join(lines).encode()
            writer.write(f"HTTP/1.1 {status} Refused\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            await writer.drain()
            return
        method, target, _ = first.split()
        url = urlsplit(f"//{target}" if method == "CONNECT" else target)
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", url.port)
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            kept = [line for line in lines if not line.lower().startswith(("proxy-", "connection"))]
            head = [f"{method} {url.path} HTTP/1.1", *kept, "Connection: close", "", ""]
            there_writer.write("\r\n".join(head).encode())
        try:
            await asyncio.gather(_pump(reader, there_writer), _pump(there_reader, writer))
        finally:
            await _close(there_writer)


async def _close(writer: asyncio.StreamWriter) -> None:
    """Close a connection, and wait until its socket is closed: a loop that ends sooner leaves it open."""
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass everything on until one side ends."""
    while received := await reader.read(65536):
        writer.write(received)
        await writer.drain()
    writer.close()
