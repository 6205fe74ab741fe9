"""Prompts and windows: what is heard is shortened by a stated rule, and what cannot be read is said before any call."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from openai_server import Call, ProviderServer, filled, jury_of
from rich.console import Console
from server_juries import jury_at

from venire import Case, Jury, Limits, Rubric, VenireError, deliberate_sync
from venire.agents.clients.local import LocalClient
from venire.agents.model import Message, Reply, Request, Sampling, Usage
from venire.agents.model_client import DEFAULT_CONTEXT
from venire.agents.providers import Providers
from venire.agents.tokens import (
    Window,
    estimated_tokens,
    estimated_usage,
    impossible_usage,
    reported_count,
    window,
)
from venire.orchestration.reading.terminal import show_case
from venire.orchestration.run_session import RunSession, run_session
from venire.personas import ModelSettings
from venire.rubrics.ballot import Schema


def window_of(**settings: Any) -> Window:
    seat = ModelSettings(base_url="http://127.0.0.1:9/v1", **settings)
    return window(seat, Providers().get(seat).client.context_window)


def test_windows_are_stated_or_known_or_assumed() -> None:
    assert window_of(model="server/x", context=1000).tokens == 1000
    assert window_of(model="server/x").tokens == DEFAULT_CONTEXT
    assert window_of(model="lens/coverage").room("any length") is None
    assert LocalClient.context_window == 8192
    assert window_of(model="server/x", context=9000, max_tokens=500).answer == 2500


@pytest.mark.parametrize("name", ["moderated", "delphi"])
def test_twenty_jurors_ten_rounds_and_nine_attributes_stay_within_the_window(name: str) -> None:
    context = 12_000
    rubric = Rubric.model_validate(
        {
            "name": "nine",
            "version": 1,
            "scales": {"five": {"level": "ordinal", "anchors": {n: f"level {n}" for n in range(1, 6)}}},
            "attributes": [{"name": f"q{n}", "question": "Is it?", "scale": "five"} for n in range(9)],
        }
    )
    case = Case(
        id="long", source=("A sentence of the source. " * 40,), output="A sentence of the output. " * 20
    )
    prompts: list[int] = []
    shortened = 0

    def juror(call: Call) -> Any:
        nonlocal shortened
        assert call.schema is not None
        prompts.append(estimated_tokens(call.prompt))
        if "left out" in call.prompt:
            shortened += 1
            counts = re.findall(r"^(\d+) gave \d[.;]", call.prompt, re.MULTILINE)
            assert sum(map(int, counts)) == 9 * 19
        score = 1 + (int(call.model[1:]) + call.number) % 5
        return filled(call.schema, lambda _: score, rationale="why " * 60, moved_by="a quote")

    def boss(call: Call) -> Any:
        assert call.schema is not None
        prompts.append(estimated_tokens(call.prompt))
        return filled(call.schema, lambda _: 3)

    names = [f"j{n}" for n in range(20)]
    with ProviderServer(jury_of(dict.fromkeys(names, juror) | {"boss": boss})) as server:
        limits = Limits(max_rounds=10, max_stalls=None, max_replans=None)
        jury = jury_at(server.url, *names, protocol=name, limits=limits)
        seats = tuple(seat.model_copy(update={"context": context}) for seat in jury.seats)
        orchestrator = jury.orchestrator.model_copy(update={"context": context})
        jury = jury.model_copy(update={"seats": seats, "orchestrator": orchestrator})
        verdict = deliberate_sync(case, rubric, jury)

    assert verdict.stop.limit == "max_rounds"
    assert verdict.transcript.turns == 200
    assert not verdict.transcript.abstentions
    assert max(prompts) <= context
    assert shortened == 180


def narrow(url: str, *names: str, context: int, **fields: Any) -> Jury:
    jury = jury_at(url, *names, **fields)
    first = jury.seats[0].model_copy(update={"context": context})
    return jury.model_copy(update={"seats": (first, *jury.seats[1:])})


def test_a_case_that_no_seat_can_read_is_an_error_before_any_call(rubric: Rubric) -> None:
    case = Case(id="huge", source=("word " * 5000,), output="Short.")
    with (
        ProviderServer(jury_of({"a": 4})) as server,
        pytest.raises(VenireError, match="no juror's model can read") as told,
    ):
        deliberate_sync(case, rubric, narrow(server.url, "a", context=4000, protocol="panel"))

    assert "the model reads only 4000" in told.value.problem
    assert "context: TOKENS" in told.value.remedy
    assert server.calls == []


def test_a_seat_that_cannot_read_the_case_abstains_and_the_rest_go_on(rubric: Rubric) -> None:
    case = Case(id="long", source=("word " * 5000,), output="Short.")
    with ProviderServer(jury_of({"a": 4, "b": 4})) as server:
        verdict = deliberate_sync(case, rubric, narrow(server.url, "a", "b", context=4000, protocol="panel"))

    (abstained,) = verdict.transcript.abstentions
    assert (abstained.speaker, abstained.abstention.reason) == ("a", "too_long")
    assert [call.model for call in server.calls] == ["b"]
    assert verdict["accurate"].votes == 1


def test_an_orchestrator_that_cannot_read_what_was_said_is_silent(rubric: Rubric, case: Case) -> None:
    with ProviderServer(jury_of({"a": 5, "b": 2})) as server:
        jury = jury_at(server.url, "a", "b")
        small = jury.orchestrator.model_copy(update={"context": 300})
        verdict = deliberate_sync(case, rubric, jury.model_copy(update={"orchestrator": small}))

    assert verdict["accurate"].method == "median"
    assert "could not decide (too_long)" in verdict.stop.detail


def test_in_a_run_the_long_case_is_an_abstention_and_a_run_of_nothing_else_is_refused(
    tmp_path: Path, rubric: Rubric
) -> None:
    long, short = ({"id": name, "output": "word " * n} for name, n in (("long", 9000), ("short", 9)))
    seats = [{"name": name, "model": "scripted", "context": 4000} for name in "ab"]
    jury = Jury.model_validate({"name": "j", "protocol": "panel", "seats": seats})

    def held(*rows: dict[str, str]) -> Path:
        cases = tmp_path / f"{len(rows)}.jsonl"
        cases.write_text("".join(json.dumps(row) + "\n" for row in rows))
        folder = tmp_path / f"run{len(rows)}"
        run_session(RunSession(cases, rubric, [jury], folder), Console(file=io.StringIO()), quiet=True)
        return folder

    with pytest.raises(VenireError, match="no juror's model can read the case 'long'"):
        held(long)
    assert not (tmp_path / "run1").exists()
    out = io.StringIO()
    show_case(held(long, short), "long", None, None, out)
    (told,) = json.loads(out.getvalue())["cases"]
    assert [abstention["reason"] for abstention in told["abstentions"]] == ["too_long", "too_long"]
    assert told["verdict"]["accurate"]["status"] == "hung"
    assert told["calls"] == 0


@pytest.mark.parametrize(
    ("usage", "why"),
    [
        (Usage(), None),
        (Usage(100, 10, 100), None),
        (Usage(100, 10, 101), "cached"),
        (Usage(-1, 10), "negative"),
        (Usage(100, -1), "negative"),
        (Usage(100, 10, -1), "negative"),
        (Usage(99, 10), "prompt's token count"),
        (Usage(4 * 1000 + 20_000, 10), None),
        (Usage(4 * 1000 + 20_001, 10), "prompt's token count"),
        (Usage(100, 9), "answer's token count"),
        (Usage(100, 4 * 100 + 7 + 200_000), None),
        (Usage(100, 4 * 100 + 8 + 200_000), "answer's token count"),
    ],
)
def test_counts_that_no_tokenizer_gives_are_impossible(usage: Usage, why: str | None) -> None:
    """A prompt of 1,000 characters and an answer of 100: ten to a token at the most, four tokens to one at the most."""
    messages = (Message("system", "s" * 400), Message("user", "b" * 500, "o" * 100))
    asked = Request("m", messages, schema=None, settings=Sampling({"max_tokens": 7}), repeat=0, timeout=1)
    found = impossible_usage(asked, Reply("a" * 100, usage))

    assert found is None if why is None else found is not None and why in found
    spaces = Request(
        "m", (Message("user", "b" + " " * 5000 + "b"),), schema=None, settings=Sampling(), repeat=0, timeout=1
    )
    assert impossible_usage(spaces, Reply("a", Usage(2, 1))) is None, "a run of spaces may be one token"


def test_an_estimate_counts_what_was_sent_and_said_and_leaves_the_price_open() -> None:
    messages = (Message("system", "s" * 4), Message("user", "b" * 5, "o" * 6))
    asked = Request("m", messages, schema=None, settings=Sampling(), repeat=0, timeout=1)
    stated = Reply("a" * 10, Usage(9, 999_999, 9), usd=7.0, seconds=2.0, version="v")

    found = estimated_usage(asked, stated, "implausible")

    # A token for every three characters that were begun: 2, 2 and 2 of the prompt, and 4 of the answer.
    assert (found.usage, found.usd, found.estimated) == (Usage(6, 4, 0), None, "implausible")
    assert (found.text, found.seconds, found.version) == (stated.text, 2.0, "v")
    form = Schema({"description": "d" * 1000})
    long = Usage(4 * (15 + len(form.text)) + 20_000, 1)
    assert impossible_usage(replace(asked, schema=form), Reply("a", long)) is None, (
        "some count the form as well"
    )
    assert impossible_usage(asked, Reply("a", long)) is not None


@pytest.mark.parametrize(
    ("written", "count"), [(None, 0), (7, 7), (7.0, 7), (7.5, -1), ("7", -1), (True, -1), (10**13, -1)]
)
def test_a_count_is_a_whole_number(written: object, count: int) -> None:
    assert reported_count(written) == count


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("abc", 1), ("abcd", 2), ("é", 1), ("éé", 2), ("日本", 2), ("日本語", 3), ("👍", 2)],
)
def test_tokens_are_estimated_by_bytes_so_that_no_script_is_taken_for_short(text: str, tokens: int) -> None:
    assert estimated_tokens(text) == tokens


@pytest.mark.parametrize(
    ("settings", "known", "tokens", "answer"),
    [
        ({}, None, None, 0),
        ({}, 8_000, 8_000, 2_000),
        ({}, 128_000, 128_000, 6_000),
        ({"context": 4_000}, 128_000, 4_000, 1_000),
        ({"max_tokens": 500}, 8_000, 8_000, 2_500),
        ({"max_tokens": 50_000}, 8_000, 8_000, 8_000),
    ],
)
def test_a_window_keeps_room_for_the_answer_and_for_sending_it_back(
    settings: dict[str, int], known: int | None, tokens: int | None, answer: int
) -> None:
    found = window(ModelSettings.model_validate({"model": "m", **settings}), known)

    assert (found.tokens, found.answer) == (tokens, answer)
    assert found.room("abc", "abcd") == (None if tokens is None else tokens - answer - 3)
    long = "abc" * 200_000
    assert (found.overflow(long) is None) is (tokens is None)
