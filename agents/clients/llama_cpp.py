"""Any model in a GGUF file as an engine of `local`, run by llama.cpp.

The same request gets the same text, whatever was asked before it. Part of a prompt is reused from an earlier
request only in whole chunks, and every chunk is computed in the same shape on every occasion: rounding differs
with the shape, and at temperature zero the smallest difference can turn a word.
"""

from __future__ import annotations

import http.client
import json
import os
import pickle
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ...rubrics.errors import VenireError
from ..embedded.prompt_cache import PrefixSlots
from ..model import Message, ModelFailure, Reply, Request, Sampling, Usage
from .adapters import Adapter
from .local_engine import (
    LocalEngine,
    check_awaited,
    has_open_number,
    most_tokens,
    sampling_of,
    tighten,
    worker_threads,
)

_CHUNK = 64
_SLOTS = 2
"""Prompts kept for reuse: the jurors' and the orchestrator's open with different words and take turns."""
_LOADING = 60.0
"""Seconds in which a model is loaded, and one more for each ..."""
_BYTES_A_SECOND = 20_000_000
"""... so many bytes of its file."""
_COMPACT = {"x-guidance": {"whitespace_flexible": False, "key_separator": ": ", "item_separator": ", "}}


class LlamaEngine(LocalEngine):
    """A model file, and an adapter on it or none, served by llama.cpp."""

    name = "llama.cpp"
    _server: Any = None

    def __init__(self, path: Path, adapter: Adapter | None, context: int) -> None:
        super().__init__(path, adapter, context)
        self._key = secrets.token_hex(16)
        self._slots = PrefixSlots(_SLOTS, _CHUNK)

    def answer(self, request: Request, gone: threading.Event, started: float) -> Reply:
        try:
            if self._server is None:
                self._server = load_server(self.path, self.adapter, self._context, self._key)
                self._limit = min(
                    self._context, self._ask_server("GET", "/v1/models")["data"][0]["meta"]["n_ctx"]
                )
            schema = None if request.schema is None else tighten(request.schema)
            tokens = self._tokens(request.messages)
            most = most_tokens(request, schema, len(tokens), self._limit)
            chosen = sampling_of(
                request, taught=self.adapter is not None and not has_open_number(schema)
            )._asdict()
            body = {key: value for key, value in chosen.items() if value is not None} | {"max_tokens": most}
            if schema is not None:
                body["grammar"] = _llama().json_schema_to_grammar({**schema, **_COMPACT})
            return self._generate(tokens, body, gone, started)
        except http.client.HTTPException as error:
            raise RuntimeError(str(error)) from None

    def unload(self) -> None:
        self._server = None

    def _generate(
        self, tokens: list[int], body: Mapping[str, Any], gone: threading.Event, started: float
    ) -> Reply:
        slot, ready = self._slots.take(tokens)
        if ready:
            # Drops what the slot holds beyond the chunks in common: the token that does not belong ends the match.
            stray = 0 if tokens[ready] else 1
            self._stream(slot, {"prompt": [*tokens[:ready], stray], "max_tokens": 1}, gone)
        texts: list[str] = []
        last = self._stream(slot, {"prompt": tokens, "cache_prompt": ready > 0, **body}, gone, texts)
        self._slots.hold(slot, tokens)
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
        check_awaited(gone)
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


@lru_cache(maxsize=16)
def try_loading(path: Path, adapter: Adapter | None, context: int) -> None:
    """Have a model say one token in a process of its own: over a file that is damaged llama.cpp may end the process, or never end.

    Raises:
        VenireError: It did not get there.
    """
    program = (
        "import sys, pickle; from venire.agents.clients.llama_cpp import answer_once; "
        "answer_once(*pickle.load(sys.stdin.buffer))"
    )
    try:
        tried = subprocess.run(
            [sys.executable, "-c", program],
            input=pickle.dumps((path, adapter, context)),
            capture_output=True,
            timeout=_LOADING + path.stat().st_size / _BYTES_A_SECOND,
            check=False,
        )
        problem = "" if tried.returncode == 0 else "llama.cpp cannot run this model file"
    except subprocess.TimeoutExpired:
        problem = "llama.cpp did not answer in time"
    if problem:
        with_adapter = f" with {adapter.path.name}" if adapter else ""
        raise VenireError(
            f"{path.name}{with_adapter} cannot be used: {problem}",
            remedy="download the file again, or convert the model again",
        )


def answer_once(path: Path, adapter: Adapter | None, context: int) -> None:
    """Load the model and have it say one token."""
    asked = Request(
        model="local",
        messages=(Message("user", "Say yes."),),
        schema=None,
        settings=Sampling({"max_tokens": 1}),
        repeat=0,
        timeout=_LOADING,
    )
    LlamaEngine(path, adapter, context).answer(asked, threading.Event(), time.perf_counter())


def load_server(path: Path, adapter: Adapter | None, context: int, key: str) -> Any:
    """A llama.cpp server, silent, that answers on loopback to nobody without the key."""
    xllamacpp = _llama()
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    if adapter is not None:
        params.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(str(adapter.path), 1.0)]
    params.verbosity = -1
    params.warmup = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = worker_threads()

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
