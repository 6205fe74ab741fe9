"""Every way in which HTTP/1.1 lets a server answer, and the ways in which it may not."""

from __future__ import annotations

import asyncio
import shutil
import ssl
from base64 import b64encode
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from certificates import signed_for

from venire.agents.clients import endpoint
from venire.agents.clients.endpoint import Answer, Endpoint
from venire.agents.clients.server import connect
from venire.agents.model import ModelFailure, Request, Sampling
from venire.personas.jury import ModelSettings
from venire.rubrics.errors import VenireError

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
Sends = Sequence[bytes | float | None]
"""What is sent for one request, in pieces: bytes, seconds of rest, and None for the end of the connection."""


class Wire:
    """A server that sends what it is told to, whatever it is, and keeps what it read."""

    def __init__(self, *sends: Sends, tls: ssl.SSLContext | None = None) -> None:
        self._sends = iter(sends)
        self._tls = tls
        self.heads: list[str] = []
        self.bodies: list[bytes] = []
        self.connections = 0
        self.closed = 0

    async def __aenter__(self) -> Wire:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = int(head.lower().partition("content-length: ")[2].split()[0])
                self.heads.append(head)
                self.bodies.append(await reader.readexactly(length))
                for sent in next(self._sends):
                    if sent is None:
                        return
                    if isinstance(sent, float):
                        await asyncio.sleep(sent)
                    else:
                        writer.write(sent)
                        await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.closed += 1
            writer.close()


def posted(*sends: Sends, times: int = 1) -> tuple[list[Answer], Wire]:
    """What comes of posting so many times, one after the other."""

    async def main() -> tuple[list[Answer], Wire]:
        async with Wire(*sends) as wire:
            there = Endpoint(f"http://127.0.0.1:{wire.port}/v1/x", {})
            answers = []
            try:
                for number in range(times):
                    answers.append(await there.post(b"%d" % number))
                    await asyncio.sleep(0.02)
            finally:
                await there.close()
            return answers, wire

    return asyncio.run(main())


def test_a_connection_is_kept_and_asked_again() -> None:
    answers, wire = posted([OK], [OK], [OK], times=3)

    assert [answer.body for answer in answers] == [b"hi"] * 3
    assert wire.connections == 1 and wire.bodies == [b"0", b"1", b"2"]


def test_those_who_ask_together_have_a_connection_each_and_leave_them_to_the_next() -> None:
    async def main() -> int:
        async with Wire(*[[0.05, OK]] * 12) as wire:
            there = Endpoint(f"http://127.0.0.1:{wire.port}/v1/x", {})
            for _ in range(3):
                await asyncio.gather(*(there.post(b"?") for _ in range(4)))
            await there.close()
            return wire.connections

    assert asyncio.run(main()) == 4


@pytest.mark.parametrize(
    "sends",
    [
        [b"HTTP/1.1 200 OK\r\nContent-Le", 0.02, b"ngth: 5\r\n\r\nhe", 0.02, b"llo"],
        [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n", 0.02, b"3\r\nllo\r\n0\r\n\r\n"],
        [b"HTTP/1.1 100 Continue\r\n\r\n", 0.02, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"],
        [b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"],
    ],
    ids=["in pieces", "chunked", "after a word that it will come", "after hints"],
)
def test_an_answer_is_read_however_it_comes_and_the_connection_kept(sends: Sends) -> None:
    answers, wire = posted(sends, [OK], times=2)

    assert answers[0][::2] == (200, b"hello") and "link" not in answers[0].headers
    assert answers[1].body == b"hi" and wire.connections == 1


@pytest.mark.parametrize(
    "sends",
    [
        [b"HTTP/1.1 200 OK\r\n\r\nhel", 0.02, b"lo", None],
        [b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello"],
        [b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"],
        [b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", None],
        [
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbad",
        ],
        [b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbad"],
        [b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello" + OK],
    ],
    ids=[
        "ends with the connection",
        "HTTP 1.0",
        "said to close",
        "closes",
        "more later",
        "half of another",
        "another",
    ],
)
def test_a_connection_that_ends_or_says_too_much_is_not_asked_again(sends: Sends) -> None:
    answers, wire = posted(sends, [OK], times=2)

    assert [answer.body for answer in answers] == [b"hello", b"hi"]
    assert wire.connections == 2


@pytest.mark.parametrize(
    "sends",
    [
        [None],
        [b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", None],
        [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", None],
        [b"HTTP/1.1 200 OK\r\nContent-Le", None],
        [b"220 mail.example ESMTP\r\n"],
        [b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi!"],
        [b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: upgrade\r\n\r\n"],
    ],
    ids=["closed", "cut", "cut in chunks", "cut in a header", "another protocol", "two lengths", "upgraded"],
)
def test_half_an_answer_is_none(sends: Sends) -> None:
    with pytest.raises(OSError, match=r"closed before the answer|not HTTP"):
        posted(sends)


def test_nobody_there_is_told_as_such() -> None:
    async def main() -> None:
        there = Endpoint("http://127.0.0.1:9/v1", {})
        try:
            await there.post(b"?")
        finally:
            await there.close()

    with pytest.raises(ConnectionRefusedError):
        asyncio.run(main())


def test_who_gives_up_waiting_leaves_no_connection_behind() -> None:
    async def main() -> tuple[int, bytes]:
        async with Wire([5.0], [OK]) as wire:
            there = Endpoint(f"http://127.0.0.1:{wire.port}/v1/x", {})
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await there.post(b"first")
            answer = await there.post(b"second")
            await there.close()
            return wire.connections, answer.body

    assert asyncio.run(main()) == (2, b"hi")


def test_a_connection_left_alone_for_long_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "KEPT", 0.01)

    _, wire = posted([OK], [OK], times=2)

    assert wire.connections == 2


def sent(url: Callable[[int], str], headers: dict[str, str]) -> str:
    """What one request says before its body."""

    async def main() -> str:
        async with Wire([OK]) as wire:
            there = Endpoint(url(wire.port), headers)
            await there.post(b"?")
            await there.close()
            return wire.heads[0]

    return asyncio.run(main())


def test_a_request_says_where_it_goes_and_who_asks() -> None:
    head = sent(lambda port: f"http://a%40b:p%3Ass@127.0.0.1:{port}/v1/a b/é", {})

    assert head.startswith("POST /v1/a%20b/%C3%A9 HTTP/1.1\r\nHost: 127.0.0.1:")
    assert f"Authorization: Basic {b64encode(b'a@b:p:ss').decode()}\r\n" in head
    assert "Accept-Encoding: identity\r\n" in head


def test_a_key_goes_before_a_name_in_the_address() -> None:
    head = sent(lambda port: f"http://a:b@127.0.0.1:{port}/v1", {"Authorization": "Bearer k"})

    assert head.count("Authorization") == 1 and "Authorization: Bearer k\r\n" in head


@pytest.mark.parametrize("address", ["http:///v1", "http://host:port/v1", "http://me:sec/ret@host/v1"])
def test_what_is_no_address_is_refused_before_anything_is_sent_and_not_repeated(address: str) -> None:
    with pytest.raises(VenireError, match="cannot be asked") as refused:
        connect(ModelSettings(model="server/m", base_url=address))

    assert refused.value.remedy is not None and "http://HOST:PORT/v1" in refused.value.remedy
    assert "sec" not in f"{refused.value} {refused.value.remedy}".replace("https", "")


def test_a_server_that_points_elsewhere_is_not_followed_and_says_where() -> None:
    moved = (
        b"HTTP/1.1 308 Permanent Redirect\r\nLocation: https://there/v1?token=x\r\nContent-Length: 0\r\n\r\n"
    )

    async def main() -> None:
        async with Wire([moved]) as wire:
            seat = ModelSettings(model="server/m", base_url=f"http://127.0.0.1:{wire.port}/v1")
            provider = connect(seat)
            try:
                await provider.complete(Request("server/m", (), None, Sampling(), 0, 5.0))
            finally:
                await provider.close()

    with pytest.raises(ModelFailure, match=r"HTTP 308: the server redirects requests to https://there/v1"):
        asyncio.run(main())


def test_a_key_that_would_break_its_line_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODD_KEY", "sk-secret\r\nX-Other: 1")

    with pytest.raises(VenireError) as refused:
        connect(ModelSettings(model="server/m", base_url="http://127.0.0.1:9/v1", api_key_env="ODD_KEY"))

    assert "sk-secret" not in f"{refused.value} {refused.value.remedy}"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the openssl command to make a certificate")
def test_a_certificate_must_be_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority, tls = signed_for("localhost", tmp_path)

    async def asked() -> Answer:
        async with Wire([OK], tls=tls) as wire:
            there = Endpoint(f"https://localhost:{wire.port}/v1", {})
            try:
                return await there.post(b"?")
            finally:
                await there.close()

    with pytest.raises(ssl.SSLCertVerificationError):
        asyncio.run(asked())
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    assert asyncio.run(asked()).body == b"hi"


@pytest.mark.parametrize(
    "headers",
    [b"X-Long: " + b"x" * 20_000 + b"\r\n", b"".join(b"X-%d: y\r\n" % number for number in range(500))],
    ids=["a long one", "many"],
)
def test_headers_are_capped(headers: bytes) -> None:
    with pytest.raises(OSError, match="not HTTP"):
        posted([b"HTTP/1.1 200 OK\r\n" + headers + b"Content-Length: 2\r\n\r\nhi"])


def test_an_endless_body_is_given_up_and_its_connection_with_it() -> None:
    chunk = b"ffff\r\n" + b"x" * 0xFFFF + b"\r\n"

    async def main() -> tuple[int, bytes]:
        async with Wire(
            [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", *[chunk] * 100], [OK]
        ) as wire:
            there = Endpoint(f"http://127.0.0.1:{wire.port}/v1/x", {})
            with pytest.raises(endpoint.AnswerTooLong):
                await there.post(b"?", longest=100_000)
            answer = await there.post(b"?")
            await there.close()
            return wire.connections, answer.body

    assert asyncio.run(main()) == (2, b"hi")


def test_a_long_question_is_sent_whole() -> None:
    async def main() -> bytes:
        async with Wire([OK]) as wire:
            there = Endpoint(f"http://127.0.0.1:{wire.port}/v1/x", {})
            await there.post(b"?" * 3_000_000)
            await there.close()
            return wire.bodies[0]

    assert asyncio.run(main()) == b"?" * 3_000_000
