"""A local OpenAI-compatible server in a process of its own: fixed latency, seeded faults, everything counted.

It answers with what was asked for: claims and checks of them, a ballot where the request has a schema or a tool, Magentic-One's progress ledger
where it has that one's, else a plain text that can be set.

Run as a script it prints its port on the first line and serves until it is ended. `GET /stats` gives the counts.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import re
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aiohttp import web

CHARACTERS_PER_TOKEN = 4
PLAIN = "A plain answer."
INSTRUCTION = "Give your ballot."
"""What an orchestrator asks of every juror: from how often it has, the server knows whose turn it is."""
MODELS = (*"abcdefghi", "boss", "high", "low", "middle", "extractor", *(f"v{n}" for n in range(10)))
"""What the benchmarks call their models: listed, so that nobody has to find out by a first case whether they are there."""
_NAMES = re.compile(r"\(select from: ([^)]+)\)")

_ASKED = re.compile(r"^Check: (.+)\.$", re.MULTILINE)
_FENCED = re.compile(r"begins \w+\]\]\n(.*?)\n\[\[", re.DOTALL)


@dataclass
class Faults:
    """The share of requests that go wrong, and how."""

    busy: float = 0.0
    broken: float = 0.0
    dropped: float = 0.0
    hanging: float = 0.0
    garbage: float = 0.0


@dataclass
class Stats:
    calls: int = 0
    answered: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    connections: int = 0
    """How many were opened in all."""
    repeated: int = 0
    """Requests whose body had been answered well before."""
    bodies: set[int] = field(default_factory=set)
    asked: Counter[str] = field(default_factory=Counter)
    """How often each question came, by its hash, where that is remembered."""

    def told(self) -> dict[str, int]:
        return {name: value for name, value in vars(self).items() if isinstance(value, int)}


class Server:
    """Answers every request with a legal ballot, scores chosen by the hash of the prompt."""

    def __init__(
        self, latency: float, faults: Faults, seed: int, *, plain: str = PLAIN, remember: bool = False
    ) -> None:
        self._latency = latency
        self._plain = plain
        self._callers: set[tuple[str, int]] = set()
        self._remember = remember
        self._faults = faults
        self._rng = random.Random(seed)
        self.stats = Stats()
        self._answers: dict[str, bytes] = {}

    async def complete(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        stats = self.stats
        stats.calls += 1
        if request.transport is not None:
            self._callers.add(request.transport.get_extra_info("peername"))
            stats.connections = len(self._callers)
        if self._remember:
            body = json.loads(raw)
            stats.asked[question(body["model"], [message["content"] for message in body["messages"]])] += 1
        stats.in_flight += 1
        stats.most_in_flight = max(stats.most_in_flight, stats.in_flight)
        due = time.monotonic() + self._latency
        try:
            # The answer is made while the caller waits: what this server takes for it is no part of the latency.
            response = await self._respond(request, raw)
            await asyncio.sleep(due - time.monotonic())
            return response
        finally:
            stats.in_flight -= 1

    async def _respond(self, request: web.Request, raw: bytes) -> web.StreamResponse:
        faults, chance = self._faults, self._rng.random()
        for share, fault in (
            (faults.busy, "busy"),
            (faults.broken, "broken"),
            (faults.dropped, "dropped"),
            (faults.hanging, "hanging"),
            (faults.garbage, "garbage"),
        ):
            if chance < share:
                return await self._fail(request, fault)
            chance -= share
        body = json.loads(raw)
        key = hash(raw)
        self.stats.repeated += key in self.stats.bodies
        self.stats.bodies.add(key)
        if "tools" in body:
            asked = body["tools"][0]["function"]
            text = json.dumps(_filled(asked["parameters"], 1))
            return self._answer(raw, text, body["model"], tool=asked["name"])
        return self._answer(raw, self._ballot(body), body["model"])

    def _answer(self, raw: bytes, text: str, model: str = "m", *, tool: str | None = None) -> web.Response:
        prompt, completion = len(raw) // CHARACTERS_PER_TOKEN, len(text) // CHARACTERS_PER_TOKEN
        self.stats.answered += 1
        self.stats.prompt_tokens += prompt
        self.stats.completion_tokens += completion
        usage = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if tool is not None:
            called = {"id": "x", "type": "function", "function": {"name": tool, "arguments": text}}
            message = {"role": "assistant", "content": None, "tool_calls": [called]}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        envelope = {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": model,
            "choices": [choice],
            "usage": usage,
        }
        return web.Response(body=json.dumps(envelope).encode(), content_type="application/json")

    async def _fail(self, request: web.Request, fault: str) -> web.StreamResponse:
        if fault == "busy":
            return web.Response(status=429, headers={"Retry-After": "0.2"}, text="slow down")
        if fault == "broken":
            return web.Response(status=500, text="broken")
        if fault == "hanging":
            await asyncio.sleep(600)
        if fault == "dropped":
            assert request.transport is not None
            request.transport.close()
            return web.Response()
        return self._answer(b"", "no JSON today")

    def _ballot(self, body: dict[str, Any]) -> str:
        schema = ((body.get("response_format") or {}).get("json_schema") or {}).get("schema")
        if schema is None:
            return self._plain
        if "next_speaker" in schema.get("properties", {}):
            return json.dumps(_ledger([message["content"] for message in body["messages"]]))
        if schema.get("properties", {}).keys() & {"claims", "checks"}:
            return json.dumps(_claims([message["content"] for message in body["messages"]]))
        pick = sum(map(ord, body["messages"][-1]["content"][-400:] + body["model"]))
        return json.dumps(_filled(schema, pick))


def question(model: str, contents: list[str]) -> str:
    """The hash of a question."""
    return hashlib.sha256(json.dumps([model, contents]).encode()).hexdigest()


def _claims(contents: list[str]) -> dict[str, Any]:
    """Each sentence of the text as a claim, or every claim that is asked about supported."""
    asked = _ASKED.search(contents[-1])
    if asked:
        ids = asked.group(1).split(", ")
        given = {"reason": "So the text says.", "evidence": "", "verdict": "supported"}
        return {"checks": [{"claim": name, **given} for name in ids]}
    text = _FENCED.search(contents[-1])
    sentences = [f"{part.strip()}." for part in (text.group(1) if text else "").split(".") if part.strip()]
    return {"claims": [{"text": each, "quote": each, "central": False} for each in sentences]}


def _ledger(contents: list[str]) -> dict[str, Any]:
    """The ledger of an orchestrator who hears every juror once and is then satisfied."""
    found = _NAMES.search(contents[-1])
    names = [name.strip() for name in found.group(1).split(",")] if found else [""]
    heard = sum(content == INSTRUCTION for content in contents)
    given = {
        "is_request_satisfied": heard >= len(names),
        "is_in_loop": False,
        "is_progress_being_made": True,
        "next_speaker": names[heard % len(names)],
        "instruction_or_question": INSTRUCTION,
    }
    return {name: {"reason": "So it stands.", "answer": answer} for name, answer in given.items()}


def _filled(node: dict[str, Any], pick: int, known: dict[str, Any] | None = None) -> Any:
    known = known or node.get("$defs", {})
    if "$ref" in node:
        return _filled(known[node["$ref"].rpartition("/")[2]], pick, known)
    if "enum" in node:
        return node["enum"][pick % len(node["enum"])]
    if "const" in node:
        return node["const"]
    match node.get("type"):
        case "object":
            return {
                name: _filled(part, pick + number, known)
                for number, (name, part) in enumerate(node["properties"].items())
            }
        case "array":
            items = node["items"]
            return [_filled(items, pick)] if "enum" in items or "const" in items else []
        case "integer" | "number":
            return node.get("minimum", 1)
        case "boolean":
            return False
        case _:
            return "The notes bear this out, and nothing in them speaks against it."


async def _serve(arguments: argparse.Namespace) -> None:
    faults = Faults(arguments.busy, arguments.broken, arguments.dropped, arguments.hanging, arguments.garbage)
    server = Server(
        arguments.latency, faults, arguments.seed, plain=arguments.plain, remember=arguments.remember
    )

    async def stats(_: web.Request) -> web.Response:
        return web.json_response(server.stats.told())

    async def asked(_: web.Request) -> web.Response:
        return web.json_response(server.stats.asked)

    async def change(request: web.Request) -> web.Response:
        """Set latency and faults while it runs."""
        given = await request.json()
        server._latency = given.pop("latency", server._latency)
        server._faults = Faults(**given)
        return web.json_response({})

    async def models(request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": name} for name in MODELS]})

    app = web.Application(client_max_size=256 * 2**20)
    app.router.add_post("/v1/chat/completions", server.complete)
    app.router.add_get("/v1/models", models)
    app.router.add_get("/stats", stats)
    app.router.add_get("/asked", asked)
    app.router.add_post("/change", change)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", arguments.port, backlog=4096)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


class Provider:
    """The server, running while the `with` block does."""

    def __init__(
        self,
        *,
        latency: float = 0.0,
        seed: int = 0,
        plain: str = PLAIN,
        remember: bool = False,
        **faults: float,
    ) -> None:
        options = {"latency": latency, "seed": seed, "plain": plain, **faults}
        self._command = [sys.executable, str(Path(__file__))]
        for name, value in options.items():
            self._command += [f"--{name}", str(value)]
        if remember:
            self._command.append("--remember")

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.address = f"http://127.0.0.1:{int(self._process.stdout.readline())}"
        self.url = f"{self.address}/v1"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait()

    def stats(self) -> dict[str, int]:
        with urllib.request.urlopen(f"{self.address}/stats") as answer:
            return json.load(answer)

    def asked(self) -> dict[str, int]:
        """How often each question came, by `question`."""
        with urllib.request.urlopen(f"{self.address}/asked") as answer:
            return json.load(answer)

    def change(self, **options: float) -> None:
        request = urllib.request.Request(f"{self.address}/change", data=json.dumps(options).encode())
        urllib.request.urlopen(request).close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option in ("latency", "busy", "broken", "dropped", "hanging", "garbage"):
        parser.add_argument(f"--{option}", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plain", default=PLAIN)
    parser.add_argument("--remember", action="store_true")
    parser.add_argument("--port", type=int, default=0)
    asyncio.run(_serve(parser.parse_args()))
