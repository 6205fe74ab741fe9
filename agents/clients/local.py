"""`local`, `local/base` and `local/PATH.gguf`: a model in this very process, run by llama.cpp, with no key and no network.

`local` is the embedded base with the adapter that is shipped, which taught it to fill in ballots; `local/base` the bare one. A seat's
`adapter` goes on any of them.

The same request gets the same text, whatever was asked before it. Part of a prompt is reused from an earlier
request only in whole chunks, and every chunk is computed in the same shape on every occasion: rounding differs
with the shape, and at temperature zero the smallest difference can turn a word.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ...personas.jury import ModelSettings
from ...rubrics.errors import MissingExtra, VenireError
from ..model import Message, ModelFailure, Reply, Request, Usage
from ..model_client import ModelClient
from ..prices import FREE, Price
from .adapters import BARE, Adapter, adapter_of, check_base
from .bounded_schema import has_open_number, longest_answer, tighten
from .client_factory import ClientFactory
from .merged_weights import MergedWeights, Unmergeable
from .weights import INSTALL, SIZE, weights_path

CONTEXT = 8192
"""Tokens of prompt and answer together, unless the seat says otherwise or the model was trained on fewer."""

_CHUNK = 64
_SLOTS = 2
"""Prompts kept for reuse: the jurors' and the orchestrator's open with different words and take turns."""
_THREADS = 4
_SPEECH = 512
"""Tokens of an answer that has no schema."""
_INTEGER_DOT = frozenset({"DOTPROD", "MATMUL_INT8", "SVE", "AVX2", "AVX512", "AVX_VNNI"})
"""Instructions that multiply packed weights as they are."""
_COMPACT = {"x-guidance": {"whitespace_flexible": False, "key_separator": ": ", "item_separator": ", "}}


def connect(settings: ModelSettings) -> LocalClient:
    return LocalClient(*_files(settings), context=settings.context or CONTEXT)


async def probe(settings: ModelSettings) -> bool:
    """True, once the file that the engine loads is there: made before the first case, if need be."""
    await asyncio.to_thread(engine_files, *_files(settings))
    return True


def _files(settings: ModelSettings) -> tuple[Path, Adapter | None]:
    """A seat's model and the adapter that goes on it."""
    model = settings.model or "local"
    path = _embedded_file() if model in ("local", BARE) else _own_file(model.partition("/")[2])
    adapter = adapter_of(settings)
    if adapter is not None:
        check_base(adapter, path)
    if find_spec("xllamacpp") is None:
        raise MissingExtra("the local model needs the package xllamacpp", remedy="pip install xllamacpp")
    return path, adapter


class LocalClient(ModelClient):
    """One weights file, and an adapter on it or none. It is loaded at the first request, once in a process, and serves one request at a time."""

    context_window = CONTEXT
    max_concurrency = 1
    in_process = True

    def __init__(self, path: Path, adapter: Adapter | None = None, *, context: int = CONTEXT) -> None:
        self._engine: Engine | None = _borrow(path, adapter, context)

    async def complete(self, request: Request) -> Reply:
        if self._engine is None:
            raise ModelFailure("unavailable", "the local model has been closed")
        gone = threading.Event()
        answer = self._engine.ask(request, gone)
        try:
            return await asyncio.wrap_future(answer)
        except asyncio.CancelledError:
            gone.set()
            raise

    async def close(self) -> None:
        if self._engine is not None:
            engine, self._engine = self._engine, None
            await asyncio.wrap_future(_give_back(engine))

    def list_price(self, model: str) -> Price:
        return FREE


class Engine:
    """A loaded model and the one thread that works it, so that no two requests ever share a computation."""

    def __init__(self, path: Path, adapter: Adapter | None, context: int) -> None:
        self.path = path
        self.adapter = adapter
        self.borrowers = 0
        self._context = context
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="venire-local")
        self._server: Any = None
        self._key = secrets.token_hex(16)
        self._held: list[list[int]] = [[] for _ in range(_SLOTS)]
        """The prompt last computed in each slot; empty where that is not certain."""
        self._order = list(range(_SLOTS))
        """The slots, least recently used first."""

    def ask(self, request: Request, gone: threading.Event) -> Future[Reply]:
        """The answer, in its turn. Setting `gone` ends the work at the next token."""
        return self._worker.submit(self._answer, request, gone)

    def free(self) -> Future[None]:
        """Unload the model once the work in hand is done."""
        done = self._worker.submit(self._unload)
        self._worker.shutdown(wait=False)
        return done

    def _unload(self) -> None:
        self._server = None

    def _answer(self, request: Request, gone: threading.Event) -> Reply:
        started = time.perf_counter()
        if gone.is_set():
            raise ModelFailure("unavailable", "nobody waits for this answer any more")
        try:
            if self._server is None:
                self._server = _load(*engine_files(self.path, self.adapter), self._context, self._key)
                self._limit = min(
                    self._context, self._ask_server("GET", "/v1/models")["data"][0]["meta"]["n_ctx"]
                )
            schema = None if request.schema is None else tighten(request.schema)
            tokens = self._tokens(request.messages)
            wanted = _SPEECH if schema is None else longest_answer(schema)
            if len(tokens) + wanted // 3 >= self._limit:
                raise ModelFailure(
                    "unavailable", f"prompt of {len(tokens)} tokens does not fit the context of {self._limit}"
                )
            taught = self.adapter is not None and not has_open_number(schema)
            body = _sampling(request, taught=taught) | (
                {} if schema is None else {"grammar": _grammar(schema)}
            )
            # A token can be a single byte, and a character up to four of them.
            body.setdefault("max_tokens", _SPEECH if schema is None else 4 * wanted)
            body["max_tokens"] = min(body["max_tokens"], self._limit - len(tokens))
            return self._generate(tokens, body, gone, started)
        except VenireError as error:
            raise ModelFailure("unavailable", error.problem) from None
        except (RuntimeError, ValueError, OSError, LookupError, http.client.HTTPException) as error:
            raise ModelFailure("unavailable", f"llama.cpp: {' '.join(str(error).split())[:300]}") from None

    def _generate(
        self, tokens: list[int], body: Mapping[str, Any], gone: threading.Event, started: float
    ) -> Reply:
        slot, ready = self._slot_for(tokens)
        # Until the answer is there, nobody can say what the slot holds.
        self._held[slot] = []
        if ready:
            # Drops what the slot holds beyond the chunks in common: the token that does not belong ends the match.
            stray = 0 if tokens[ready] else 1
            self._stream(slot, {"prompt": [*tokens[:ready], stray], "max_tokens": 1}, gone)
        texts: list[str] = []
        last = self._stream(slot, {"prompt": tokens, "cache_prompt": ready > 0, **body}, gone, texts)
        self._held[slot] = tokens
        usage = last.get("usage") or {}
        return Reply(
            text="".join(texts),
            usage=Usage(
                prompt=len(tokens),
                completion=int(usage.get("completion_tokens") or 0),
                cached=ready,
            ),
            usd=0.0,
            seconds=time.perf_counter() - started,
            finish="length" if last["choices"][0]["finish_reason"] == "length" else "stop",
        )

    def _slot_for(self, tokens: list[int]) -> tuple[int, int]:
        """The slot with most of the prompt already in it, and how many tokens of that can be reused."""
        slot = max(self._order, key=lambda slot: _whole_chunks_in_common(self._held[slot], tokens))
        self._order.remove(slot)
        self._order.append(slot)
        return slot, _whole_chunks_in_common(self._held[slot], tokens)

    def _stream(
        self, slot: int, body: Mapping[str, Any], gone: threading.Event, texts: list[str] | None = None
    ) -> dict[str, Any]:
        """The last event of a stream; the text of all of them is added to `texts`."""
        last: dict[str, Any] = {}

        def hear(event: dict[str, Any]) -> bool:
            nonlocal last
            last = event
            if texts is not None and "error" not in event:
                texts.append(event["choices"][0]["text"])
            return gone.is_set()

        streamed = {
            **body,
            "id_slot": slot,
            "stream": True,
            "stream_options": {"include_usage": True},
            "return_progress": True,
        }
        self._server.handle_completions(streamed, hear)
        if gone.is_set():
            raise ModelFailure("unavailable", "nobody waits for this answer any more")
        if "error" in last:
            raise ModelFailure("unavailable", f"llama.cpp: {last['error'].get('message', last['error'])}")
        return last

    def _tokens(self, messages: Sequence[Message]) -> list[int]:
        said = [{"role": message.role, "content": message.content} for message in messages]
        quick = {"enable_thinking": False}
        laid_out = self._ask_server(
            "POST", "/apply-template", {"messages": said, "chat_template_kwargs": quick}
        )
        text = {"content": laid_out["prompt"], "add_special": True, "parse_special": True}
        return self._ask_server("POST", "/tokenize", text)["tokens"]

    def _ask_server(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What the engine says on its own loopback address, where alone it counts tokens."""
        address = urlsplit(self._server.listening_address)
        line = http.client.HTTPConnection(address.hostname or "127.0.0.1", address.port, timeout=30)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._key}"}
        try:
            line.request(method, path, json.dumps(body) if body is not None else None, headers)
            answer = json.loads(line.getresponse().read())
        finally:
            line.close()
        if "error" in answer:
            raise RuntimeError(answer["error"].get("message", answer["error"]))
        return answer


_engines: dict[tuple[Path, Adapter | None], Engine] = {}
_engines_lock = threading.Lock()


def _borrow(path: Path, adapter: Adapter | None, context: int) -> Engine:
    """The engine for a file and an adapter: the one in use if there is one, whose context then holds for all."""
    with _engines_lock:
        kind = path.resolve(), adapter
        engine = _engines.setdefault(kind, Engine(*kind, context))
        engine.borrowers += 1
        return engine


def _give_back(engine: Engine) -> Future[None]:
    with _engines_lock:
        engine.borrowers -= 1
        if engine.borrowers == 0:
            del _engines[engine.path, engine.adapter]
            return engine.free()
    kept: Future[None] = Future()
    kept.set_result(None)
    return kept


def _whole_chunks_in_common(held: Sequence[int], tokens: Sequence[int]) -> int:
    """The tokens that both begin with, in whole chunks; the last token is always left to compute."""
    common = 0
    for one, other in zip(held, tokens[:-1], strict=False):
        if one != other:
            break
        common += 1
    return common // _CHUNK * _CHUNK


def _sampling(request: Request, *, taught: bool) -> dict[str, Any]:
    """The seat's own settings over defaults that give the same text every time.

    A bare small model goes round in circles unless repeats are penalised; one that was taught has to repeat what it quotes.
    """
    asked = {
        key: value for key, value in request.settings.items() if key in ("temperature", "top_p", "max_tokens")
    }
    seed = int(request.settings.get("seed", 0)) + request.repeat
    return {"temperature": 0, "repeat_penalty": 1.0 if taught else 1.1, **asked, "seed": seed}


def _grammar(schema: Mapping[str, Any]) -> str:
    return _llama().json_schema_to_grammar({**schema, **_COMPACT})


def engine_files(path: Path, adapter: Adapter | None) -> tuple[Path, Adapter | None]:
    """The files that the engine loads for a model and its adapter.

    For the embedded base that is one file with the adapter added in and the weights unpacked, where the engine was built without integer
    dot products: on a Neoverse-N1 it reads and writes half as fast again. Where it has them (`get_system_info` says so), packed weights are a
    quarter of the memory to go through for each token, and the two files are loaded as they are; which is faster there was not measured.
    """
    embedded = weights_path()
    if embedded is not None and embedded.samefile(path) and unpacks():
        with suppress(Unmergeable):
            return MergedWeights(path, adapter).file(), None
    return path, adapter


def unpacks() -> bool:
    """Whether this build of the engine is faster with unpacked weights."""
    told = _llama().get_system_info().replace(":", "|").split("|")
    return _INTEGER_DOT.isdisjoint(
        name.split("=")[0].strip() for name in told if name.strip().endswith("= 1")
    )


def _load(path: Path, adapter: Adapter | None, context: int, key: str) -> Any:
    """A llama.cpp server, silent, that answers on loopback to nobody without the key."""
    xllamacpp = _llama()
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    if adapter is not None:
        params.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(str(adapter.path), 1.0)]
    params.verbosity = -1
    params.warmup = False
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = min(_THREADS, cores)
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads

    params.n_parallel = _SLOTS
    params.kv_unified = False
    params.n_ctx = context * _SLOTS
    params.n_batch = params.n_ubatch = _CHUNK
    # Each of these would compute or reuse a part of a prompt in another shape than whole chunks.
    params.cache_ram_mib = 0
    params.cache_idle_slots = False
    params.n_ctx_checkpoints = 0
    params.slot_prompt_similarity = 0.0

    params.api_keys = [key]
    params.cors_origins = ""
    params.endpoint_slots = False
    params.ui = False
    params.n_threads_http = 1
    return xllamacpp.Server(params)


def _llama() -> Any:
    """The engine's module, whose threads sleep while they wait for each other.

    By default they spin, and on a core that is busy with something else generation falls to a twentieth.
    """
    name = "OMP_WAIT_POLICY"
    before = os.environ.get(name)
    os.environ.setdefault(name, "passive")
    try:
        import xllamacpp
    finally:
        if before is None:
            del os.environ[name]
    return xllamacpp


def _embedded_file() -> Path:
    path = weights_path()
    if path is None:
        raise VenireError("the embedded model's weights are not installed", remedy=f"run: {INSTALL}")
    if path.stat().st_size != SIZE:
        raise VenireError("the embedded model's weights are damaged", remedy=f"run: {INSTALL}")
    return path


def _own_file(name: str) -> Path:
    path = Path(name).expanduser()
    if not path.is_file():
        raise VenireError(f"no model file at {name}", remedy="write it as local/PATH.gguf, or plain `local`")
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise VenireError(
                f"{name} is not a GGUF file", remedy="llama.cpp reads GGUF; convert the model first"
            )
    return path


client_factory = ClientFactory(connect=connect, per_model=True, probe=probe)
