"""What is asked of llama.cpp and what is made of its answers, with a server that says what it is told to."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import threading
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from venire.agents.clients import llama_cpp
from venire.agents.clients.adapters import Adapter
from venire.agents.clients.llama_cpp import LlamaEngine, load_server, try_loading
from venire.agents.model import Message, ModelFailure, Reply, Request, Sampling, Usage
from venire.rubrics.ballot import Schema
from venire.rubrics.errors import VenireError

ADAPTER = Adapter(Path("taught.gguf"), "a" * 64, None)
CHOICE: dict[str, Any] = {"type": "object", "properties": {"score": {"type": "integer", "enum": [1, 2]}}}
OPEN: dict[str, Any] = {"type": "object", "properties": {"share": {"type": "number"}}}


def piece(text: str, finish: str | None = None, completion: int | None = None) -> dict[str, Any]:
    usage = {} if completion is None else {"usage": {"completion_tokens": completion}}
    return {"choices": [{"text": text, "finish_reason": finish}], **usage}


class Server:
    """Answers every request with the same events, and keeps what it was sent."""

    def __init__(self) -> None:
        self.events = [piece("Yes", "stop", 1)]
        self.sent: list[dict[str, Any]] = []
        self.heard = 0

    def handle_completions(self, body: dict[str, Any], hear: Any) -> None:
        self.sent.append(body)
        for event in self.events:
            self.heard += 1
            if hear(event):
                return


class Engine(LlamaEngine):
    """An engine with such a server, to which every word of a prompt is a token."""

    def __init__(self, server: Server, adapter: Adapter | None = None, *, trained: int = 9000) -> None:
        super().__init__(Path("mine.gguf"), adapter, 2000)
        self._trained = trained

    def _ask_server(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        match path:
            case "/v1/models":
                return {"data": [{"meta": {"n_ctx": self._trained}}]}
            case "/apply-template":
                return {"prompt": " ".join(each["content"] for each in body["messages"])}
            case _:
                return {"tokens": [int(word) for word in body["content"].split()]}

    def say(
        self, *tokens: int, schema: Any = None, gone: threading.Event | None = None, **settings: Any
    ) -> Reply:
        asked = Message("user", " ".join(map(str, tokens or (1, 2, 3))))
        form = None if schema is None else Schema(schema)
        request = Request("local", (asked,), form, Sampling(settings), repeat=1, timeout=9)
        return self.answer(request, gone or threading.Event(), 0.0)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()
    grammars = SimpleNamespace(json_schema_to_grammar=lambda schema: f"grammar of {[*schema['properties']]}")
    monkeypatch.setattr(llama_cpp, "_llama", lambda: grammars)
    monkeypatch.setattr(llama_cpp, "load_server", lambda *_: made)
    return made


@pytest.mark.parametrize(("said", "finish"), [("length", "length"), ("stop", "stop")])
def test_an_answer_is_all_that_was_said_and_tells_whether_it_was_cut_at_its_limit(
    server: Server, said: str, finish: str
) -> None:
    server.events = [piece("Ye"), piece("s."), piece("", said, 2)]

    reply = Engine(server).say()

    assert (reply.text, reply.finish, reply.usd) == ("Yes.", finish, 0.0)
    assert reply.usage == Usage(prompt=3, completion=2, cached=0)


def test_only_what_the_seat_states_is_sent_and_a_form_where_there_is_one(server: Server) -> None:
    engine = Engine(server)
    engine.say()
    engine.say(schema=CHOICE, temperature=0.5, top_p=0.9, seed=4, max_tokens=7)

    free, bound = server.sent
    assert {name: free[name] for name in ("temperature", "seed", "max_tokens")} == {"temperature": 0.0, "seed": 1, "max_tokens": 512}  # fmt: skip
    assert not {"top_p", "grammar"} & free.keys()
    assert {name: bound[name] for name in ("temperature", "top_p", "seed", "max_tokens", "grammar")} == {
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 5,
        "max_tokens": 7,
        "grammar": "grammar of ['score']",
    }


@pytest.mark.parametrize(
    ("adapter", "schema", "penalty"),
    [(None, CHOICE, 1.1), (ADAPTER, CHOICE, 1.0), (ADAPTER, None, 1.0), (ADAPTER, OPEN, 1.1)],
)
def test_repeats_are_penalised_unless_the_model_was_taught_and_no_number_goes_on_for_ever(
    server: Server, adapter: Adapter | None, schema: Any, penalty: float
) -> None:
    Engine(server, adapter).say(schema=schema)

    assert server.sent[-1]["repeat_penalty"] == penalty


def test_an_answer_ends_with_the_context_that_the_model_was_trained_on(server: Server) -> None:
    Engine(server, trained=400).say(*range(200), max_tokens=5000)
    Engine(server).say(*range(200), max_tokens=5000)

    assert [sent["max_tokens"] for sent in server.sent] == [200, 1800]
    with pytest.raises(ModelFailure, match="prompt of 300 tokens does not fit the context of 400"):
        Engine(server, trained=400).say(*range(300))


def test_of_a_prompt_asked_before_whole_chunks_are_used_again_and_the_rest_is_dropped_first(
    server: Server,
) -> None:
    engine, tokens = Engine(server), list(range(130))

    usages = [engine.say(*tokens).usage, engine.say(*tokens).usage]

    first, stray, again = server.sent
    assert [usage.cached for usage in usages] == [0, 128]
    assert (first["prompt"], first["cache_prompt"]) == (tokens, False)
    assert (stray["max_tokens"], stray["prompt"][:-1], stray["id_slot"]) == (
        1,
        tokens[:128],
        first["id_slot"],
    )
    assert stray["prompt"][-1] != tokens[128]
    assert (again["prompt"], again["cache_prompt"], again["id_slot"]) == (tokens, True, first["id_slot"])
    assert engine.say(*tokens[:64], 0, 1).usage.cached == 64
    assert server.sent[-2]["prompt"][-1] != 0


def test_an_error_in_the_stream_is_a_failure_after_which_nothing_is_used_again(server: Server) -> None:
    engine, well = Engine(server), server.events
    server.events = [piece("Ye"), {"error": {"message": "the batch is too large"}}]
    with pytest.raises(ModelFailure, match=r"unavailable: llama\.cpp: the batch is too large"):
        engine.say(*range(130))
    server.events = well

    assert engine.say(*range(130)).usage.cached == 0


def test_an_answer_that_nobody_waits_for_ends_at_the_next_piece(server: Server) -> None:
    gone = threading.Event()
    gone.set()
    server.events = [piece("on "), piece("and on", "stop")]

    with pytest.raises(ModelFailure, match="no longer needed"):
        Engine(server).say(gone=gone)
    assert server.heard == 1


@pytest.mark.parametrize("adapter", [None, ADAPTER])
def test_a_server_has_a_whole_context_for_each_prompt_it_keeps_and_answers_to_its_key_alone(
    monkeypatch: pytest.MonkeyPatch, adapter: Adapter | None
) -> None:
    xllamacpp = SimpleNamespace(
        CommonParams=lambda: SimpleNamespace(model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace()),
        CommonAdapterLoraInfo=lambda path, scale: (path, scale),
        Server=lambda params: params,
    )  # fmt: skip
    monkeypatch.setattr(llama_cpp, "_llama", lambda: xllamacpp)

    params = load_server(Path("mine.gguf"), adapter, 4096, "the key")

    assert (params.model.path, params.api_keys, params.cors_origins) == ("mine.gguf", ["the key"], "")
    assert (params.n_ctx, params.n_parallel, params.kv_unified) == (8192, 2, False)
    assert getattr(params, "lora_adapters", []) == ([] if adapter is None else [("taught.gguf", 1.0)])


@pytest.mark.parametrize("before", [None, "active"])
def test_threads_sleep_while_they_wait_unless_the_environment_says_otherwise_and_it_stays_as_it_was(
    monkeypatch: pytest.MonkeyPatch, before: str | None
) -> None:
    seen: list[str | None] = []

    class Finder:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "xllamacpp":
                seen.append(os.environ.get("OMP_WAIT_POLICY"))

    monkeypatch.delitem(sys.modules, "xllamacpp", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Finder()])
    if before is None:
        monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    else:
        monkeypatch.setenv("OMP_WAIT_POLICY", before)

    with pytest.raises(ImportError):
        llama_cpp._llama()
    assert (seen, os.environ.get("OMP_WAIT_POLICY")) == ([before or "passive"], before)


def test_the_engine_is_asked_with_its_key_and_an_error_of_its_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []

    class Line:
        def __init__(self, host: str, port: int, timeout: float) -> None:
            asked.append((host, port))

        def request(self, *parts: Any) -> None:
            asked.append(parts)

        def getresponse(self) -> BytesIO:
            return BytesIO(answers.pop(0))

        def close(self) -> None: ...

    answers = [b'{"tokens": [1]}', b'{"error": {"message": "no such key"}}']
    monkeypatch.setattr(http.client, "HTTPConnection", Line)
    engine = LlamaEngine(Path("mine.gguf"), None, 100)
    engine._server = SimpleNamespace(listening_address="http://127.0.0.1:4321")

    assert engine._ask_server("POST", "/tokenize", {"content": "a"}) == {"tokens": [1]}
    with pytest.raises(RuntimeError, match="no such key"):
        engine._ask_server("GET", "/v1/models")
    assert asked[0] == ("127.0.0.1", 4321)
    assert asked[1][:3] == ("POST", "/tokenize", '{"content": "a"}')
    assert asked[1][3]["Authorization"] == asked[3][3]["Authorization"] == f"Bearer {engine._key}"


@pytest.mark.parametrize(
    ("ends", "problem"),
    [(0, None), (1, "mine.gguf cannot be used: llama.cpp cannot run this model file"), (-6, "llama.cpp cannot run"), (None, "llama.cpp did not answer in time")],
)  # fmt: skip
def test_a_model_file_is_tried_in_a_process_that_may_crash_or_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: int | None, problem: str | None
) -> None:
    allowed: list[float] = []

    def run(command: list[str], *, input: bytes, timeout: float, **_: object) -> Any:
        allowed.append(timeout)
        if ends is None:
            raise subprocess.TimeoutExpired(command, timeout)
        return SimpleNamespace(returncode=ends)

    monkeypatch.setattr(subprocess, "run", run)
    path = tmp_path / "mine.gguf"
    with path.open("wb") as file:
        file.truncate(40_000_000)

    if problem is None:
        try_loading(path, None, 100)
    else:
        with pytest.raises(VenireError, match=problem):
            try_loading(path, None, 100)
    # A minute, and a second for every 20 MB.
    assert allowed == [62.0]
