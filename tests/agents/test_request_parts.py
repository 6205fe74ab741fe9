"""A request and the way to its provider: what makes it another question, through which proxy it goes, how it is cut into batches."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from yarl import URL

from venire import Case, Rubric
from venire.agents.clients import batch
from venire.agents.clients.batch import AnthropicBatches, BatchClient, BatchSettings, _parts
from venire.agents.clients.endpoint import AnswerTooLong, _in_network, environment_proxy, inflate
from venire.agents.model import Message, ModelFailure, Reply, Request, Sampling, TransientFailure, Usage
from venire.agents.prompting import brief
from venire.agents.tokens import impossible_usage
from venire.rubrics.ballot import ballot_shape, inline

ASKED = Request("server/m", (Message("user", "body", "opening "),), None, Sampling(temperature=0.5), 0, 60.0)


def test_a_question_is_known_by_everything_that_can_change_its_answer(case: Case, rubric: Rubric) -> None:
    schema = inline(ballot_shape(rubric))
    others = [
        replace(ASKED, model="server/n"), replace(ASKED, repeat=1), replace(ASKED, settings=Sampling(temperature=1)), replace(ASKED, schema=schema),
        *(replace(ASKED, messages=(message,)) for message in (Message("user", "other", "opening "), Message("user", "body", "other "), Message("system", "body", "opening "))),
        replace(ASKED, messages=()),
    ]  # fmt: skip
    assert len({each.key for each in (ASKED, *others)}) == len(others) + 1
    assert replace(ASKED, timeout=1.0, max_reply=5).key == ASKED.key

    told = brief(case, rubric)
    one, other = (told.subject(seat, rubric.names, round=1) for seat in ("a", "b"))
    elsewhere = replace(one, case="z")
    for model, apart in (("server/m", 1), ("recorded/t#a", 3), ("person/ann", 3)):
        asked = [replace(ASKED, model=model, subject=subject) for subject in (one, other, elsewhere)]
        assert len({each.key for each in asked}) == apart, "who reads no words is asked by case and seat"


def test_the_form_of_an_answer_may_be_counted_in_its_prompt(rubric: Rubric) -> None:
    schema = inline(ballot_shape(rubric))
    most = 4 * (len("body") + len("opening ") + len(schema.text)) + 20_000
    with_form = replace(ASKED, schema=schema)

    assert impossible_usage(with_form, Reply("x", Usage(most, 1))) is None
    assert impossible_usage(with_form, Reply("x", Usage(most + 1, 1))) is not None
    assert impossible_usage(ASKED, Reply("x", Usage(most, 1))) is not None


@pytest.mark.parametrize(
    ("url", "variables", "proxy"),
    [
        ("https://h/v1", {}, None),
        ("https://h/v1", {"https_proxy": "http://p:1"}, "http://p:1"),
        ("http://h/v1", {"https_proxy": "http://p:1"}, None),
        ("http://h/v1", {"all_proxy": "p:1"}, "http://p:1"),
        ("http://h:8000/v1", {"all_proxy": "http://p:1", "no_proxy": "h"}, None),
        ("http://h:8000/v1", {"all_proxy": "http://p:1", "no_proxy": "h:8000"}, None),
        ("http://h:8001/v1", {"all_proxy": "http://p:1", "no_proxy": "h:8000"}, "http://p:1"),
        ("http://10.1.2.3/v1", {"all_proxy": "http://p:1", "no_proxy": "10.9.9.9/8"}, None),
        ("http://11.1.2.3/v1", {"all_proxy": "http://p:1", "no_proxy": "10.0.0.0/8"}, "http://p:1"),
    ],
)
def test_a_request_goes_through_the_proxy_of_its_scheme_unless_its_host_is_excepted(
    monkeypatch: pytest.MonkeyPatch, url: str, variables: dict[str, str], proxy: str | None
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert environment_proxy(URL(url)) == (None if proxy is None else URL(proxy))
    assert _in_network("h", "10.0.0.0/8") is False and _in_network("10.1.1.1", "x/y, 10.0.0.7/8") is True


@pytest.mark.parametrize(("encoding", "pack"), [("gzip", gzip.compress), (" X-GZIP", gzip.compress), ("deflate", zlib.compress)])  # fmt: skip
def test_an_answer_is_inflated_to_no_more_than_it_may_have(encoding: str, pack: Any) -> None:
    assert inflate(pack(b"a" * 100), encoding, 100) == b"a" * 100
    with pytest.raises(AnswerTooLong):
        inflate(pack(b"a" * 101), encoding, 100)
    with pytest.raises(ConnectionError, match="cut short"):
        inflate(pack(b"a" * 50)[:-4], encoding, 100)
    with pytest.raises(ConnectionError, match="not compressed"):
        inflate(b"plain", encoding, 100)
    with pytest.raises(ConnectionError, match="not requested"):
        inflate(b"x", "br", 100)
    assert inflate(b"x", "identity", 1) == b"x"


@pytest.mark.parametrize(
    ("one_model", "sizes", "parts"),
    [
        (False, [("m", 4), ("n", 4)], [2]), (True, [("m", 4), ("n", 4), ("m", 4)], [2, 1]), (False, [("m", 4)] * 7, [3, 3, 1]),
        (False, [("m", 60), ("m", 60), ("m", 30), ("m", 60)], [1, 2, 1]), (False, [("m", 500)], [1]), (False, [], []),
    ],
)  # fmt: skip
def test_a_batch_is_cut_by_number_by_size_and_by_model(
    monkeypatch: pytest.MonkeyPatch, one_model: bool, sizes: list[tuple[str, int]], parts: list[int]
) -> None:
    monkeypatch.setattr(batch, "MOST_REQUESTS", 3)
    monkeypatch.setattr(batch, "MOST_BYTES", 100)
    waiting: Any = {
        f"r{n}": (replace(ASKED, model=model, messages=(Message("user", "x" * size),)), None)
        for n, (model, size) in enumerate(sizes)
    }
    provider: Any = SimpleNamespace(one_model=one_model)
    made = _parts(waiting, provider)

    assert [len(part) for part in made] == parts
    assert sorted(name for part in made for name in part) == sorted(waiting)
    assert not one_model or all(len({request.model for request, _ in part.values()}) == 1 for part in made)


def test_of_batches_noted_before_the_latest_holds_a_request() -> None:
    facts = {"batch b": '{"at": 2, "requests": ["x", "y"]}', "batch a": '{"at": 3, "requests": ["x"]}', "batch c": '{"at": 1, "requests": ["x", "z"]}'}  # fmt: skip
    settings = BatchSettings(say=lambda line: None)
    settings.notes = SimpleNamespace(facts=lambda prefix: facts)  # type: ignore[assignment]
    client: Any = SimpleNamespace(context_window=1, secrets=())

    async def noted() -> dict[str, str]:
        return BatchClient(client, None, settings)._noted_requests()  # type: ignore[arg-type]

    assert asyncio.run(noted()) == {"x": "batch a", "y": "batch b", "z": "batch c"}


def test_an_answer_out_of_a_batch_is_read_as_one_outside_it() -> None:
    provider = AnthropicBatches("http://h", {}, 0.0)
    message: dict[str, Any] = {
        "content": [{"type": "text", "text": "a"}, {"type": "tool_use", "input": {"x": 1}}],
        "usage": {"input_tokens": 3, "cache_creation_input_tokens": 4, "cache_read_input_tokens": 5, "output_tokens": 6},
        "stop_reason": "end_turn",
    }  # fmt: skip

    def read(**changes: Any) -> Reply:
        return provider.reply({"type": "succeeded", "message": {**message, **changes}}, 2.0)

    assert (read().text, read().usage, read().usd, read().seconds) == (
        'a{"x": 1}',
        Usage(12, 6, 5),
        None,
        2.0,
    )
    assert [read(stop_reason=why).finish for why in ("end_turn", "max_tokens", "refusal")] == ["stop", "length", "refusal"]  # fmt: skip
    for kind, failure in (("overloaded_error", TransientFailure), ("invalid_request_error", ModelFailure)):
        with pytest.raises(failure):
            provider.reply({"type": "errored", "error": {"error": {"type": kind, "message": "m"}}}, 0.0)
