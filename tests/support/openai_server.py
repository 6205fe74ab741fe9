"""A real local HTTP server that speaks the OpenAI protocol, faults included: the one fake, at the one door."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web


@dataclass(frozen=True)
class Fault:
    """An answer that is not one: a status with headers and a body, a hang, or a dropped connection."""

    status: int = 500
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | bytes = '{"error": {"message": "planted fault"}}'
    hang: bool = False
    drop: bool = False


@dataclass(frozen=True)
class Refusal:
    """A refusal in the protocol's own field."""

    text: str = "I cannot help with that."


@dataclass
class Call:
    """One request as the server saw it."""

    model: str
    body: dict[str, Any]
    headers: dict[str, str]
    number: int
    """How many requests for this model came before it."""

    @property
    def prompt(self) -> str:
        return "\n".join(message["content"] for message in self.body["messages"])

    @property
    def schema(self) -> dict[str, Any] | None:
        form = self.body.get("response_format") or {}
        return form.get("json_schema", {}).get("schema")


Answer = Callable[[Call], "str | dict[str, Any] | Fault | Refusal"]


class ProviderServer:
    """Serves on loopback from a thread of its own while the `with` block runs.

    From the call numbered `hold_from` on, it answers nothing until `release()`. `models` are listed at /models, which is
    not there without them, and if `strict`, no other is answered for. With a `key`, every other is refused.
    """

    def __init__(
        self,
        answer: Answer,
        *,
        latency: float = 0.0,
        hold_from: int | None = None,
        models: Sequence[str] | None = None,
        key: str | None = None,
        strict: bool = True,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._tls = tls
        self._strict = strict
        self._models = models
        self._key = key
        self._answer = answer
        self._latency = latency
        self._hold_from = hold_from
        self.calls: list[Call] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self._seen: dict[str, int] = defaultdict(int)
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.url = ""

    def __enter__(self) -> ProviderServer:
        self._thread.start()
        self._ready.wait()
        return self

    def release(self) -> None:
        self._loop.call_soon_threadsafe(self._released.set)

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._run())
        self._loop.close()

    async def _run(self) -> None:
        self._stop = asyncio.Event()
        self._released = asyncio.Event()
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._complete)
        if self._models is not None:
            app.router.add_get("/v1/models", self._list_models)
        self.add_routes(app)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=self._tls)
        await site.start()
        port = runner.addresses[0][1]
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{port}/v1"
        self._ready.set()
        await self._stop.wait()
        await runner.cleanup()
        if self._tls is not None:
            # The end of a handshake that a client broke off is read after it.
            await asyncio.sleep(0.05)

    def add_routes(self, app: web.Application) -> None:
        """Further addresses, of a server that speaks more than this."""

    def _refuses(self, request: web.Request) -> bool:
        return self._key is not None and request.headers.get("Authorization") != f"Bearer {self._key}"

    async def _list_models(self, request: web.Request) -> web.Response:
        if self._refuses(request):
            return web.json_response({"error": {"message": "Incorrect API key"}}, status=401)
        return web.json_response({"object": "list", "data": [{"id": name} for name in self._models or ()]})

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        model = body["model"]
        if self._refuses(request):
            return web.json_response({"error": {"message": "Incorrect API key"}}, status=401)
        if self._models is not None and self._strict and model not in self._models:
            return web.json_response(
                {"error": {"message": f"The model `{model}` does not exist"}}, status=404
            )
        call = Call(model, body, dict(request.headers), self._seen[model])
        self._seen[model] += 1
        self.calls.append(call)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        held = self._hold_from is not None and len(self.calls) >= self._hold_from
        try:
            await asyncio.sleep(self._latency)
            if held:
                await self._released.wait()
            return await self._respond(request, call)
        finally:
            self.in_flight -= 1

    async def _respond(self, request: web.Request, call: Call) -> web.StreamResponse:
        return await self._send(request, call, self._answer(call))

    async def _send(
        self, request: web.Request, call: Call, answer: str | dict[str, Any] | Fault | Refusal
    ) -> web.StreamResponse:
        if isinstance(answer, Fault):
            if answer.hang:
                await asyncio.sleep(3600)
            if answer.drop:
                assert request.transport is not None
                request.transport.close()
                return web.Response()
            body = answer.body.encode() if isinstance(answer.body, str) else answer.body
            return web.Response(status=answer.status, headers=answer.headers, body=body)
        return web.json_response(self.completion(call, answer))

    def completion(self, call: Call, answer: str | dict[str, Any] | Refusal) -> dict[str, Any]:
        """An answer in the protocol's form."""
        message: dict[str, Any] = {"role": "assistant", "content": None}
        if isinstance(answer, Refusal):
            message["refusal"] = answer.text
        else:
            message["content"] = answer if isinstance(answer, str) else json.dumps(answer)
        text = message["content"] or ""
        usage = {
            "prompt_tokens": len(call.prompt) // 4,
            "completion_tokens": len(text) // 4,
            "total_tokens": (len(call.prompt) + len(text)) // 4,
            "prompt_tokens_details": {"cached_tokens": 0},
        }
        return {
            "id": f"call-{len(self.calls)}",
            "object": "chat.completion",
            "created": 0,
            "model": call.model,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": usage,
        }


def filled(schema: dict[str, Any], score: Callable[[str], Any], **words: Any) -> dict[str, Any]:
    """An answer of the asked form: `score(attribute)` for each score, `words` for named fields, filler elsewhere."""
    return {
        name: {
            part: score(name) if part == "score" else words.get(part, _filler(kind))
            for part, kind in node["properties"].items()
        }
        for name, node in schema["properties"].items()
    }


def _filler(node: dict[str, Any]) -> Any:
    if "const" in node:
        return node["const"]
    if "enum" in node:
        return node["enum"][0]
    if node.get("type") == "array":
        items = node["items"]
        return items.get("enum", [items["const"]] if "const" in items else [])
    return "Filler words."


def jury_of(scores: Mapping[str, Any]) -> Answer:
    """Answers by model: each value a score, a list of scores by turn, or a function of the call.

    A list's last entry is given again; a string, a Fault or a Refusal in place of a score is given as it is.
    """

    def answer(call: Call) -> Any:
        given = scores[call.model]
        if callable(given):
            return given(call)
        if isinstance(given, list):
            given = given[min(call.number, len(given) - 1)]
        if isinstance(given, str | Fault | Refusal):
            return given
        assert call.schema is not None
        pick = given.get if isinstance(given, dict) else lambda _: given
        return filled(call.schema, pick, moved_by="the other juror's quote")

    return answer
