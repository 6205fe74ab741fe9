"""Calls through a provider's batch interface, at half the price: all that waits goes out as one batch, which may take a day.

OpenAI's protocol: a file at `/files`, a batch of it at `/batches`, also as `server/` models speak it. Anthropic's: `/v1/messages/batches`.
A batch is written down before it is sent, with a name for each request that is a hash of it: a run that was killed finds
its batch again, and nothing is paid for twice.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Protocol

from ...personas.jury import ModelSettings
from ...rubrics.errors import VenireError
from ..budget import BudgetSpent
from ..cost import Price
from ..model import AccessRefused, ModelFailure, Reply, Request, TransientFailure, digest, stated_version
from ..model_client import ModelClient
from ..tokens import reported_usage
from .endpoint import Answer, AnswerTooLong, Endpoint
from .keys import key_from
from .litellm_providers import direct_access
from .server import chat_body, chat_reply, status_failure

MOST_REQUESTS = 10_000
"""In one batch; OpenAI takes 50,000, Anthropic 100,000."""
MOST_BYTES = 90_000_000
"""Of one batch's requests; OpenAI takes 200 MB, Anthropic 256."""
_LONGEST = 2_000_000_000
_TRIES = 8
"""How often in a row a question about a batch may fail."""
_MAX_TOKENS = 4096
"""Anthropic wants a limit stated."""


Waiting = dict[str, tuple[Request, asyncio.Future[Reply]]]
"""Requests by the names that they have in a batch, and who waits for each."""


class BatchNotes(Protocol):
    """Where batches that are out are written down, in the run's record."""

    async def note(self, name: str, value: str) -> None: ...

    def facts(self, prefix: str) -> Mapping[str, str]: ...


class BatchSettings:
    """How long requests are gathered and how often a batch is asked about, in seconds; where batches are written down."""

    most_requests = MOST_REQUESTS

    def __init__(self, *, gather: float = 2.0, poll: float = 30.0, say: Callable[[str], None]) -> None:
        self.gather, self.poll, self.say = gather, poll, say
        self.notes: BatchNotes | None = None


class BatchClient(ModelClient):
    """Gathers requests until no more come, sends them as one batch, and waits for it."""

    batched = True
    reports_cost = False

    def __init__(self, client: ModelClient, provider: BatchProvider, settings: BatchSettings) -> None:
        self._client = client
        self._provider = provider
        self._settings = settings
        self.context_window = client.context_window
        self.secrets = client.secrets
        self._waiting: Waiting = {}
        self._out: dict[str, asyncio.Future[Reply]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._noted: dict[str, str] | None = None
        """By request, the name of the batch that it went out with, until that batch's results have been read."""

    async def complete(self, request: Request) -> Reply:
        name = digest(f"batch {request.key}")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Reply] = loop.create_future()
        self._waiting[name] = (request, answer)
        if self._timer is not None:
            self._timer.cancel()
        # Once no request has come for a while, every deliberation waits for an answer.
        self._timer = loop.call_later(self._settings.gather, self._send_all)
        return await answer

    def list_price(self, model: str) -> Price | None:
        return self._client.list_price(model)

    def stop_waiting(self) -> None:
        """The run is to stop: whoever waits is told so. Batches that are out are found again by the next session."""
        waiting = [answer for _, answer in self._waiting.values()]
        if self._out:
            self._settings.say(
                f"{len(self._out)} requests are still in batches at the provider; to collect their answers, run the same command again"
            )
        for answer in [*waiting, *self._out.values()]:
            if not answer.done():
                answer.set_exception(BudgetSpent("interrupted"))
        self._waiting.clear()

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._client.close()

    def _send_all(self) -> None:
        """Send what waits, except what is out already: the batch of an earlier session, or of this one if it could not be
        read, is picked up."""
        requests, self._waiting = self._waiting, {}
        if self._noted is None:
            self._noted = self._noted_requests()
        earlier: dict[str, Waiting] = {}
        fresh: Waiting = {}
        for name, waiting in requests.items():
            batch = self._noted.get(name)
            (fresh if batch is None else earlier.setdefault(batch, {}))[name] = waiting
        for part in _parts(fresh, self._provider):
            self._start(self._send(part), part)
        for batch, part in earlier.items():
            self._start(self._pick_up(batch, part), part)

    def _start(self, work: Coroutine[Any, Any, None], part: Waiting) -> None:
        answers = {name: answer for name, (_, answer) in part.items()}
        self._out |= answers

        async def settle() -> None:
            failure: Exception = TransientFailure(
                "the provider returned the batch without an answer to this request"
            )
            try:
                await work
            except (ModelFailure, VenireError) as error:
                failure = error
            except (LookupError, TypeError, ValueError) as error:
                failure = TransientFailure(
                    f"the provider's answer about a batch cannot be read ({type(error).__name__})"
                )
            finally:
                for name, answer in answers.items():
                    self._out.pop(name, None)
                    if not answer.done():
                        answer.set_exception(failure)

        task = asyncio.create_task(settle())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _noted_requests(self) -> dict[str, str]:
        notes = self._settings.notes
        facts = notes.facts("batch ") if notes is not None else {}
        noted = sorted((json.loads(value)["at"], fact) for fact, value in facts.items())
        return {name: fact for _, fact in noted for name in json.loads(facts[fact])["requests"]}

    async def _send(self, part: Waiting) -> None:
        upload = await self._provider.upload({name: request for name, (request, _) in part.items()})
        note = f"batch {upload}"
        if self._settings.notes is not None:
            value = json.dumps({"requests": list(part), "at": time.time()})
            await self._settings.notes.note(note, value)
            self._noted = (self._noted or {}) | dict.fromkeys(part, note)
        batch = await self._provider.create(upload)
        await self._wait(batch, part)

    async def _pick_up(self, note: str, part: Waiting) -> None:
        """Wait for a batch that is out; one that was noted and never made is made now."""
        assert self._settings.notes is not None
        noted = json.loads(self._settings.notes.facts(note)[note])
        batch = await self._provider.find(note.removeprefix("batch "), noted["at"], noted["requests"])
        if batch is None:
            await self._send(part)
        else:
            self._settings.say(
                f"collecting the answers of a batch of {len(noted['requests'])} requests that was sent earlier"
            )
            await self._wait(batch, part)

    async def _wait(self, batch: str, part: Waiting) -> None:
        started = time.monotonic()
        self._settings.say(
            f"a batch of {len(part)} request{'s' if len(part) > 1 else ''} was sent to the provider; waiting for the answers"
        )
        await self._provider.until_ended(batch, self._settings.poll)
        seconds = (time.monotonic() - started) / max(1, len(part))
        results = await self._provider.results(batch)
        for name in part:
            # What has no answer here goes out anew.
            (self._noted or {}).pop(name, None)
        for name, result in results.items():
            if name not in part or part[name][1].done():
                continue
            try:
                part[name][1].set_result(self._provider.reply(result, seconds))
            except ModelFailure as failure:
                part[name][1].set_exception(failure)
            except Exception as error:
                # Whatever one result holds, the others of its batch are paid for and are used.
                part[name][1].set_exception(
                    TransientFailure(f"the batch holds a result that cannot be read ({type(error).__name__})")
                )


def _parts(requests: Waiting, provider: BatchProvider) -> list[Waiting]:
    """The requests cut into batches that the provider takes; those of one model together, as OpenAI wants them."""
    by_model: dict[str, list[Waiting]] = {}
    sizes: dict[str, int] = {}
    for name, waiting in requests.items():
        model = waiting[0].model if provider.one_model else ""
        size = sum(len(message.content.encode("utf-8", "surrogatepass")) for message in waiting[0].messages)
        parts = by_model.setdefault(model, [{}])
        sizes[model] = sizes.get(model, 0) + size
        if parts[-1] and (len(parts[-1]) == MOST_REQUESTS or sizes[model] > MOST_BYTES):
            parts.append({})
            sizes[model] = size
        parts[-1][name] = waiting
    return [part for parts in by_model.values() for part in parts if part]


class BatchProvider(ABC):
    """One provider's batch protocol."""

    one_model = False
    """Whether all requests of a batch must be for one model."""

    def __init__(self, base_url: str, headers: Mapping[str, str], pause: float) -> None:
        self._url, self._headers, self._pause = base_url.rstrip("/"), dict(headers), pause

    @abstractmethod
    async def upload(self, requests: Mapping[str, Request]) -> str:
        """Everything but the order to begin; the name under which it is written down."""

    @abstractmethod
    async def create(self, upload: str) -> str:
        """Begin the batch; its id."""

    @abstractmethod
    async def find(self, upload: str, at: float, requests: Sequence[str]) -> str | None:
        """The id of a batch that was noted at `at`; None if it was never made."""

    @abstractmethod
    async def ended(self, batch: str) -> bool:
        """Whether it is over: done, in part, expired, or cancelled."""

    @abstractmethod
    async def results(self, batch: str) -> dict[str, Any]:
        """What came back, by request, in whatever order."""

    @abstractmethod
    def reply(self, result: Any, seconds: float) -> Reply:
        """The reply in a result; raises what the same answer would outside a batch."""

    async def until_ended(self, batch: str, pause: float) -> None:
        while True:
            if await self.ended(batch):
                return
            await asyncio.sleep(pause)

    async def ask(self, path: str, body: bytes | None = None, **headers: str) -> bytes:
        """The body of the answer; asked again where the provider is busy or broken for now."""
        endpoint = Endpoint(path if "://" in path else f"{self._url}{path}", {**self._headers, **headers})
        try:
            for number in range(_TRIES):
                failure = await self._attempt(endpoint, body)
                if not isinstance(failure, ModelFailure):
                    return failure.body
                if not isinstance(failure, TransientFailure) or number == _TRIES - 1:
                    raise failure
                await asyncio.sleep(min(self._pause * 2**number, 60.0))
            raise AssertionError("unreachable")
        finally:
            await endpoint.close()

    @staticmethod
    async def _attempt(endpoint: Endpoint, body: bytes | None) -> Answer | ModelFailure:
        try:
            answer = await (endpoint.get(_LONGEST) if body is None else endpoint.post(body, _LONGEST))
        except (OSError, AnswerTooLong) as error:
            return TransientFailure(f"{type(error).__name__}: {error}"[:300])
        if answer.status == 200:
            is_page = "html" in answer.headers.get("Content-Type", "")
            return (
                TransientFailure("the provider sent a web page instead of an answer") if is_page else answer
            )
        return status_failure(
            answer.status,
            "",
            answer.headers.get("Retry-After"),
            answer.body[:1000].decode("utf-8", "replace"),
        )


def _named_results(lines: Sequence[bytes]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each result with its request's name. A line that is none is left out: its request came back without an answer."""
    for line in lines:
        result: Any = None
        with suppress(ValueError, RecursionError):
            result = json.loads(line)
        if isinstance(result, dict) and isinstance(result.get("custom_id"), str):
            yield result["custom_id"], result


class OpenAIBatches(BatchProvider):
    """`/files` and `/batches` of OpenAI and of servers like it."""

    one_model = True

    async def upload(self, requests: Mapping[str, Request]) -> str:
        lines = "".join(
            f'{{"custom_id": "{name}", "method": "POST", "url": "/v1/chat/completions", "body": {chat_body(request).decode()}}}\n'
            for name, request in requests.items()
        )
        mark = uuid.uuid4().hex
        body = (
            f'--{mark}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="venire.jsonl"\r\n'
            f"Content-Type: application/jsonl\r\n\r\n{lines}\r\n--{mark}--\r\n"
        )
        kind = {"Content-Type": f"multipart/form-data; boundary={mark}"}
        return str(json.loads(await self.ask("/files", body.encode(), **kind))["id"])

    async def create(self, upload: str) -> str:
        body = {"input_file_id": upload, "endpoint": "/v1/chat/completions", "completion_window": "24h"}
        for number in range(_TRIES):
            try:
                return str(json.loads(await self._once("/batches", body))["id"])
            except TransientFailure:
                # It may have been made all the same.
                if (batch := await self.find(upload, 0.0, ())) is not None:
                    return batch
                if number == _TRIES - 1:
                    raise
        raise AssertionError("unreachable")

    async def find(self, upload: str, at: float, requests: Sequence[str]) -> str | None:
        after = ""
        while True:
            page = json.loads(await self.ask(f"/batches?limit=100{after}"))
            for batch in page["data"]:
                if batch["input_file_id"] == upload:
                    return str(batch["id"])
            if not page.get("has_more") or not page["data"]:
                return None
            after = f"&after={page['data'][-1]['id']}"

    async def ended(self, batch: str) -> bool:
        status = json.loads(await self.ask(f"/batches/{batch}"))["status"]
        return status in ("completed", "failed", "expired", "cancelled")

    async def results(self, batch: str) -> dict[str, Any]:
        told = json.loads(await self.ask(f"/batches/{batch}"))
        lines: list[bytes] = []
        for file in (told.get("output_file_id"), told.get("error_file_id")):
            if file:
                lines += (await self.ask(f"/files/{file}/content")).splitlines()
        return {name: result.get("response") or result for name, result in _named_results(lines)}

    def reply(self, result: Any, seconds: float) -> Reply:
        status = result.get("status_code")
        body = json.dumps(result.get("body") or result.get("error") or {})
        if status != 200:
            # A request that ran out of time has no response at all.
            raise status_failure(status or 500, "", None, body)
        reply = chat_reply(body.encode(), seconds)
        if reply is None:
            raise TransientFailure(f"not a chat completion: {body[:200]!r}")
        return reply

    async def _once(self, path: str, body: Mapping[str, Any]) -> bytes:
        endpoint = Endpoint(f"{self._url}{path}", self._headers)
        try:
            answer = await self._attempt(endpoint, json.dumps(body).encode())
        finally:
            await endpoint.close()
        if isinstance(answer, ModelFailure):
            await asyncio.sleep(self._pause)
            raise answer
        return answer.body


class AnthropicBatches(BatchProvider):
    """`/v1/messages/batches` of Anthropic: the requests are part of the order, so they are kept here until it is given."""

    def __init__(self, base_url: str, headers: Mapping[str, str], pause: float) -> None:
        super().__init__(base_url, headers, pause)
        self._uploads: dict[str, bytes] = {}
        self._names: dict[str, tuple[float, Sequence[str]]] = {}

    async def upload(self, requests: Mapping[str, Request]) -> str:
        upload = uuid.uuid4().hex
        params = [{"custom_id": name, "params": _message_body(each)} for name, each in requests.items()]
        self._uploads[upload] = json.dumps({"requests": params}).encode()
        self._names[upload] = (time.time(), list(requests))
        return upload

    async def create(self, upload: str) -> str:
        endpoint = Endpoint(f"{self._url}/v1/messages/batches", self._headers)
        try:
            answer = await self._attempt(endpoint, self._uploads[upload])
            for _ in range(_TRIES - 1):
                if not isinstance(answer, TransientFailure):
                    break
                # It may have been made all the same.
                await asyncio.sleep(self._pause)
                if (batch := await self.find(upload, *self._names[upload])) is not None:
                    return batch
                answer = await self._attempt(endpoint, self._uploads[upload])
        finally:
            await endpoint.close()
        if isinstance(answer, ModelFailure):
            raise answer
        del self._uploads[upload], self._names[upload]
        return str(json.loads(answer.body)["id"])

    async def find(self, upload: str, at: float, requests: Sequence[str]) -> str | None:
        """The batch with these requests. Which they are is told only once it has ended, so that it is waited for."""
        after, wanted = "", set(requests)
        while True:
            page = json.loads(await self.ask(f"/v1/messages/batches?limit=100{after}"))
            for batch in page["data"]:
                made = datetime.fromisoformat(batch["created_at"]).timestamp()
                if made < at - 60 or sum(batch["request_counts"].values()) != len(wanted):
                    continue
                await self.until_ended(batch["id"], self._pause)
                if wanted & (await self.results(batch["id"])).keys():
                    return str(batch["id"])
            if not page.get("has_more") or not page["data"]:
                return None
            after = f"&after_id={page['data'][-1]['id']}"

    async def ended(self, batch: str) -> bool:
        told = json.loads(await self.ask(f"/v1/messages/batches/{batch}"))
        return bool(told["processing_status"] == "ended")

    async def results(self, batch: str) -> dict[str, Any]:
        lines = (await self.ask(f"/v1/messages/batches/{batch}/results")).splitlines()
        return {name: result.get("result") for name, result in _named_results(lines)}

    def reply(self, result: Any, seconds: float) -> Reply:
        if result["type"] != "succeeded":
            told = (result.get("error") or {}).get("error") or {}
            if told.get("type") in ("authentication_error", "permission_error", "not_found_error"):
                raise AccessRefused(str(told.get("message"))[:300])
            if told.get("type") in ("invalid_request_error", "request_too_large"):
                raise ModelFailure("unavailable", str(told.get("message"))[:300])
            raise TransientFailure(f"{result['type']}: {told.get('message', '')}"[:300])
        message = result["message"]
        text = "".join(
            json.dumps(part["input"]) if part["type"] == "tool_use" else part.get("text", "")
            for part in message["content"]
        )
        usage, stop = message.get("usage") or {}, message.get("stop_reason")
        cached = usage.get("cache_read_input_tokens") or 0
        fresh = (usage.get("input_tokens") or 0) + (usage.get("cache_creation_input_tokens") or 0)
        return Reply(
            text=text,
            usage=reported_usage(fresh + cached, usage.get("output_tokens"), cached),
            usd=None,
            seconds=seconds,
            finish="refusal" if stop == "refusal" else "length" if stop == "max_tokens" else "stop",
            version=stated_version(message.get("model")),
        )


def _message_body(request: Request) -> dict[str, Any]:
    """The request as Anthropic's Messages API has it; a shape is asked for as a tool's input."""
    settings = dict(request.settings)
    for name in ("base_url", "seed"):
        settings.pop(name, None)
    body: dict[str, Any] = {
        "model": request.model.partition("/")[2],
        "max_tokens": settings.pop("max_tokens", _MAX_TOKENS),
        "system": "\n\n".join(m.content for m in request.messages if m.role == "system"),
        "messages": [{"role": m.role, "content": m.content} for m in request.messages if m.role != "system"],
        **settings,
    }
    if request.schema is not None:
        body["tools"] = [{"name": "answer", "input_schema": json.loads(request.schema.text)}]
        body["tool_choice"] = {"type": "tool", "name": "answer"}
    return body


def batch_client(settings: ModelSettings, client: ModelClient, batch: BatchSettings) -> ModelClient:
    """The client of a seat's model through its provider's batches; models in this process are asked as they are.

    Raises:
        VenireError: The provider has no batch interface that is spoken here.
    """
    if client.in_process or client.votes_only or client.context_window is None:
        return client
    prefix, pause = (settings.model or "").partition("/")[0], min(batch.poll, 1.0)
    if prefix == "server":
        key = key_from(settings)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return BatchClient(client, OpenAIBatches(settings.base_url or "", headers, pause), batch)
    if prefix not in ("openai", "anthropic"):
        raise VenireError(
            f"the model {settings.model!r} cannot be asked in batches",
            remedy="use openai/, anthropic/ or server/ models, or leave out --batch",
        )
    address, headers = direct_access(settings, prefix)
    if prefix == "openai":
        return BatchClient(client, OpenAIBatches(address, headers, pause), batch)
    root = address.rstrip("/").removesuffix("/v1")
    return BatchClient(client, AnthropicBatches(root, headers, pause), batch)
