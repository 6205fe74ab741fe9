"""`venire serve` or `venire mcp --http` in a process of its own, with jurors on loopback, and how to ask it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
from command_line import Started
from openai_server import Answer, ProviderServer
from run_files import write_run

TOKEN = "a-token-of-ours"
CASE = {"id": "one", "output": "Summary.", "source": "Note: fever."}


def venire_words(command: str) -> list[str]:
    """`serve` or `mcp` over the rubric and the jury of the folder that it runs in."""
    return [command, "--rubric", "rubric.yaml", "--jury", "jury.yaml", "-o", "out"]


def venire_program(command: str) -> list[str]:
    """The same, as a program of its own."""
    return [sys.executable, "-m", "venire.cli", *venire_words(command)]


class Served:
    """A server in a process of its own."""

    def __init__(self, folder: Path, *options: object, command: str = "serve") -> None:
        self.process = Started(
            *venire_words(command),
            "--port",
            0,
            *options,
            cwd=folder,
            stderr=subprocess.PIPE,
            VENIRE_TOKEN=TOKEN,
        )
        assert self.process.stderr is not None
        models = self.process.stderr.readline()
        self.told = self.process.stderr.readline() if models.startswith("models asked: ") else models
        assert "serving at" in self.told, self.told + self.process.stderr.read()
        self.url = self.told.split()[2].rstrip(",")

    def stop(self, how: signal.Signals = signal.SIGTERM) -> str:
        self.process.send_signal(how)
        _, said = self.process.communicate(timeout=60)
        return said


@contextlib.contextmanager
def served(
    folder: Path,
    answer: Answer,
    *options: object,
    latency: float = 0.0,
    command: str = "serve",
    **jury: Any,
) -> Iterator[Any]:
    with ProviderServer(answer, latency=latency) as provider:
        write_run(folder, provider.url, **{"protocol": "panel", "count": "median", **jury})
        server = Served(folder, *options, command=command)
        try:
            yield server, provider
        finally:
            if server.process.poll() is None:
                server.stop()


async def ask(
    server: Served,
    *bodies: Any,
    path: str = "/v1/deliberations",
    token: str | None = TOKEN,
    method: str = "POST",
    headers: dict[str, str] | None = None,
) -> list[tuple[int, Any]]:
    """Send every body at the same time; each answer's status and JSON."""
    sent = {"Authorization": f"Bearer {token}"} if token else {}
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, headers={**sent, **(headers or {})}) as session:

        async def one(body: Any) -> tuple[int, Any]:
            data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
            more = {"Content-Type": "application/json"} if data is not None and not headers else {}
            async with session.request(method, server.url + path, data=data, headers=more) as answer:
                return answer.status, await answer.json()

        return await asyncio.gather(*(one(body) for body in bodies))


def asked(server: Served, *bodies: Any, **how: Any) -> list[tuple[int, Any]]:
    return asyncio.run(ask(server, *bodies, **how))
