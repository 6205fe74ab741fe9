"""A provider with batches, in OpenAI's protocol and in Anthropic's: late, shuffled, expired in part, and broken now and then."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from aiohttp import web
from openai_server import Answer, Call, ProviderServer


@dataclass
class Batch:
    name: str
    requests: dict[str, dict[str, Any]]
    file: str = ""
    made: float = field(default_factory=time.time)
    results: dict[str, Any] | None = None
    expired: bool = False
    cancelled: bool = False


class BatchServer(ProviderServer):
    """Answers what a batch asks after `delay` seconds. Those whose numbers are in `expiring` end with half of their answers.

    Of those in `cancelled` nothing was answered. Every `broken`th request about a batch is answered with status 500, an order
    after it was carried out; with `pages`, every one after it with a page that says so. With `garbled`, the first batch's file
    begins with lines that are no results, and one of its results is no response.
    """

    def __init__(
        self,
        answer: Answer,
        *,
        delay: float = 0.1,
        expiring: tuple[int, ...] = (),
        cancelled: tuple[int, ...] = (),
        broken: int = 0,
        pages: bool = False,
        garbled: bool = False,
    ) -> None:
        super().__init__(answer)
        self._garbled, self._pages, self._cancelled = garbled, pages, cancelled
        self.delay, self.expiring, self._broken = delay, expiring, broken
        self.batches: list[Batch] = []
        self.answered: Counter[str] = Counter()
        """How often each request was answered, and so paid for."""
        self.lost = 0
        """Orders that were carried out and answered with status 500."""
        self._files: dict[str, bytes] = {}
        self._asked = 0
        self._rng = random.Random(1)

    @property
    def root(self) -> str:
        return self.url.removesuffix("/v1")

    def add_routes(self, app: web.Application) -> None:
        app.router.add_post("/v1/files", self._upload)
        app.router.add_get("/v1/files/{name}/content", self._content)
        app.router.add_post("/v1/batches", self._create)
        app.router.add_get("/v1/batches", self._list)
        app.router.add_get("/v1/batches/{name}", self._show)
        app.router.add_post("/v1/messages/batches", self._create_messages)
        app.router.add_get("/v1/messages/batches", self._list_messages)
        app.router.add_get("/v1/messages/batches/{name}", self._show_messages)
        app.router.add_get("/v1/messages/batches/{name}/results", self._message_results)

    def _breaks(self) -> bool:
        self._asked += 1
        return bool(self._broken) and self._asked % self._broken == 0

    def _ordered(self, batch: Batch, told: dict[str, Any]) -> web.Response:
        self.batches.append(batch)
        lost = self._breaks()
        self.lost += lost
        return web.json_response(told, status=500 if lost else 200)

    def _fault(self) -> web.Response:
        if self._pages:
            return web.Response(text="<h1>Back soon</h1>", content_type="text/html")
        return web.json_response({"error": {"message": "planted fault"}}, status=500)

    def _settle(self, batch: Batch) -> None:
        """Answer the batch's requests once its time has come."""
        if batch.results is not None or time.time() < batch.made + self.delay:
            return
        names = list(batch.requests)
        self._rng.shuffle(names)
        batch.expired = self.batches.index(batch) in self.expiring
        batch.cancelled = self.batches.index(batch) in self._cancelled
        batch.results = {}
        for name in names[: 0 if batch.cancelled else len(names) // 2 if batch.expired else None]:
            body = batch.requests[name]
            call = Call(body["model"], body, {}, self._seen[body["model"]])
            self._seen[body["model"]] += 1
            self.calls.append(call)
            self.answered[name] += 1
            batch.results[name] = self.completion(call, self._answer(call))  # type: ignore[arg-type]

    # OpenAI's

    async def _upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        assert form["purpose"] == "batch"
        name = f"file-{len(self._files)}"
        self._files[name] = form["file"].file.read()  # type: ignore[union-attr]
        return web.json_response({"id": name})

    async def _create(self, request: web.Request) -> web.Response:
        file = (await request.json())["input_file_id"]
        lines = [json.loads(line) for line in self._files[file].splitlines() if line.strip()]
        assert len({line["body"]["model"] for line in lines}) == 1
        batch = Batch(f"batch-{len(self.batches)}", {line["custom_id"]: line["body"] for line in lines}, file)
        return self._ordered(batch, self._told(batch))

    async def _list(self, request: web.Request) -> web.Response:
        return web.json_response({"data": [self._told(batch) for batch in self.batches], "has_more": False})

    async def _show(self, request: web.Request) -> web.Response:
        if self._breaks():
            return self._fault()
        return web.json_response(self._told(self._named(request)))

    def _named(self, request: web.Request) -> Batch:
        batch = next(batch for batch in self.batches if batch.name == request.match_info["name"])
        self._settle(batch)
        return batch

    def _told(self, batch: Batch) -> dict[str, Any]:
        done = batch.results is not None
        status = "expired" if batch.expired else "cancelled" if batch.cancelled else "completed"
        return {
            "id": batch.name,
            "input_file_id": batch.file,
            "status": status if done else "in_progress",
            "output_file_id": f"out-{batch.name}" if done else None,
            "error_file_id": f"err-{batch.name}" if batch.expired else None,
        }

    async def _content(self, request: web.Request) -> web.Response:
        kind, _, name = request.match_info["name"].partition("-")
        batch = next(batch for batch in self.batches if batch.name == name)
        answered = batch.results or {}
        if kind == "out":
            lines = [
                {"custom_id": name, "response": {"status_code": 200, "body": body}, "error": None}
                for name, body in answered.items()
            ]
        else:
            late = {"code": "batch_expired", "message": "This request could not be executed in time."}
            lines = [
                {"custom_id": name, "response": None, "error": late}
                for name in batch.requests
                if name not in answered
            ]
        odd = ""
        if self._garbled and batch is self.batches[0]:
            odd = 'not json\n[1]\n{"custom_id": 5}\n'
            lines[0]["response"] = "odd"
        return web.Response(text=odd + "".join(json.dumps(line) + "\n" for line in lines))

    # Anthropic's

    async def _create_messages(self, request: web.Request) -> web.Response:
        requests = {each["custom_id"]: _chat(each["params"]) for each in (await request.json())["requests"]}
        batch = Batch(f"msgbatch-{len(self.batches)}", requests)
        return self._ordered(batch, self._told_messages(batch))

    async def _list_messages(self, request: web.Request) -> web.Response:
        return web.json_response(
            {"data": [self._told_messages(batch) for batch in self.batches], "has_more": False}
        )

    async def _show_messages(self, request: web.Request) -> web.Response:
        if self._breaks():
            return self._fault()
        return web.json_response(self._told_messages(self._named(request)))

    def _told_messages(self, batch: Batch) -> dict[str, Any]:
        done = batch.results is not None
        return {
            "id": batch.name,
            "processing_status": "ended" if done else "in_progress",
            "created_at": datetime.fromtimestamp(batch.made, UTC).isoformat(),
            "request_counts": {"processing": 0 if done else len(batch.requests), "succeeded": len(batch.requests) if done else 0},
        }  # fmt: skip

    async def _message_results(self, request: web.Request) -> web.Response:
        batch = self._named(request)
        lines = []
        for name in batch.requests:
            body = (batch.results or {}).get(name)
            result: dict[str, Any] = {"type": "canceled" if batch.cancelled else "expired"}
            if body is not None:
                content = body["choices"][0]["message"]["content"]
                usage = {"input_tokens": body["usage"]["prompt_tokens"], "output_tokens": body["usage"]["completion_tokens"]}  # fmt: skip
                part = {"type": "tool_use", "id": "t", "name": "answer", "input": json.loads(content)}
                result = {
                    "type": "succeeded",
                    "message": {"content": [part], "stop_reason": "tool_use", "usage": usage},
                }
            lines.append(json.dumps({"custom_id": name, "result": result}) + "\n")
        self._rng.shuffle(lines)
        odd = ""
        if self._garbled and batch is self.batches[0]:
            odd = 'not json\n[1]\n{"custom_id": 5}\n'
            lines[0] = (
                json.dumps(json.loads(lines[0]) | {"result": {"type": "succeeded", "message": "odd"}}) + "\n"
            )
            overloaded = {"type": "overloaded_error", "message": "Overloaded"}
            lines[1] = json.dumps(json.loads(lines[1]) | {"result": {"type": "errored", "error": {"type": "error", "error": overloaded}}}) + "\n"  # fmt: skip
        return web.Response(text=odd + "".join(lines))


def _chat(params: dict[str, Any]) -> dict[str, Any]:
    """A request to Anthropic as one to OpenAI, so that one function answers both."""
    schema = params["tools"][0]["input_schema"]
    return {
        "model": params["model"],
        "messages": [{"role": "system", "content": params["system"]}, *params["messages"]],
        "response_format": {"type": "json_schema", "json_schema": {"schema": schema}},
    }
