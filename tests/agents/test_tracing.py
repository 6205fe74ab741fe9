"""Spans: what they say of calls and deliberations, and what they must never say."""

from __future__ import annotations

import asyncio
import hashlib
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from command_line import venire
from openai_server import Fault, ProviderServer, jury_of
from run_files import write_run
from server_juries import jury_at

from venire import Case, Limits, Rubric, Store, deliberate_sync
from venire.agents.model import (
    FormatRefused,
    Message,
    ModelFailure,
    Reply,
    Request,
    Sampling,
    TransientFailure,
    Usage,
)
from venire.agents.providers import Providers
from venire.agents.tracing import (
    BALLOT,
    RESULT,
    DeliberationSpan,
    Tracing,
    current_tracing,
    provider_and_model,
    tracing_to,
)
from venire.orchestration.bench import Court
from venire.orchestration.deliberate import hear, trace_verdict

KEY = "sk-canary-0123456789"

pytest.importorskip("opentelemetry.sdk")


def spans_of(case: Case, rubric: Rubric, server: ProviderServer, **fields: Any) -> list[Any]:
    """The spans of one deliberation of two seats."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    jury = jury_at(server.url, "a", "b", protocol="panel", **fields)
    keyed = jury.seats[0].model_copy(update={"api_key_env": "CANARY_KEY", "timeout": 0.3, "temperature": 0.5})
    jury = jury.model_copy(update={"seats": (keyed, *jury.seats[1:])})

    async def main() -> None:
        court = Court(providers=Providers(tracing=Tracing(provider)))
        try:
            await hear(case, rubric, jury, court)
        finally:
            await court.close()

    asyncio.run(main())
    return list(exporter.get_finished_spans())


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_KEY", KEY)


def test_every_call_has_a_span_under_its_deliberations(rubric: Rubric, case: Case) -> None:
    with ProviderServer(jury_of({"a": 4, "b": 4})) as server:
        spans = spans_of(case, rubric, server)

    (whole,) = [span for span in spans if span.name == "deliberate"]
    calls = {span.name: span for span in spans if span is not whole}
    assert set(calls) == {"chat a", "chat b"}
    assert all(span.parent.span_id == whole.context.span_id for span in calls.values())
    assert dict(whole.attributes) | {"venire.case": ""} == {
        "venire.case": "",
        "venire.arm": "bench",
        "venire.protocol": "panel",
        "venire.rounds": 1,
        "venire.turns": 2,
        "venire.stop.reason": "complete",
        "venire.spread": 0,
    }
    found = dict(calls["chat a"].attributes)
    assert found["gen_ai.operation.name"] == "chat"
    assert (found["gen_ai.request.model"], found["gen_ai.provider.name"]) == ("a", "server")
    assert found["gen_ai.request.temperature"] == 0.5
    assert found["gen_ai.usage.input_tokens"] > 0
    assert found["gen_ai.usage.output_tokens"] > 0
    assert found["gen_ai.response.finish_reasons"] == ("stop",)
    assert "error.type" not in found


def test_every_verdict_is_an_evaluation_event_below_what_was_judged(rubric: Rubric, case: Case) -> None:
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as names

    exporter, logs = InMemoryLogRecordExporter(), LoggerProvider()
    logs.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    answers = jury_of(
        {"a": {"accurate": 5, "thorough": 4}, "b": {"accurate": 2, "thorough": 4}, "boss": "no"}
    )
    judged = case.model_copy(update={"metadata": {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}})

    async def main(url: str) -> None:
        court = Court(providers=Providers(tracing=Tracing(TracerProvider(), logs=logs)))
        jury = jury_at(url, "a", "b", protocol="orchestrated", limits=Limits(max_turns=2))
        try:
            await hear(judged, rubric, jury, court)
        finally:
            await court.close()

    with ProviderServer(answers) as server:
        asyncio.run(main(server.url))

    records = [each.log_record for each in exporter.get_finished_logs()]
    results = {r.attributes[names.GEN_AI_EVALUATION_NAME]: r for r in records if r.event_name == RESULT}
    ballots = [r for r in records if r.event_name == BALLOT]
    agreed = results["thorough"].attributes
    assert (agreed[names.GEN_AI_EVALUATION_SCORE_VALUE], agreed[names.GEN_AI_EVALUATION_SCORE_LABEL]) == (
        4.0,
        "reached",
    )
    assert names.GEN_AI_EVALUATION_EXPLANATION in agreed
    assert {format(r.trace_id, "x") for r in results.values()} == {"a" * 32}
    assert {format(r.span_id, "x") for r in results.values()} == {"b" * 16}
    assert len(ballots) == 4
    assert all(r.span_id and r.attributes[names.GEN_AI_REQUEST_MODEL] in "ab" for r in ballots)
    assert not any("Filler" in str(dict(r.attributes)) for r in records)


def test_a_hung_attribute_is_a_label_without_a_value(rubric: Rubric, case: Case) -> None:
    emitted: list[tuple[str, dict[str, Any]]] = []

    class Listening(DeliberationSpan):
        def emit(self, event: str, attributes: dict[str, Any], *, of: str | None = None) -> None:
            emitted.append((event, attributes))

        def add(self, numbers: dict[str, Any]) -> None:
            assert numbers["venire.stop.reason"] == "complete"

    with ProviderServer(jury_of({"a": "garbage", "b": "garbage"})) as server:
        jury = jury_at(server.url, "a", "b", protocol="panel")
        verdict = deliberate_sync(case, rubric, jury)
    trace_verdict(Listening(None, None, {}), case, verdict, jury)

    assert {attributes["gen_ai.evaluation.score.label"] for _, attributes in emitted} == {"hung"}
    assert not any("gen_ai.evaluation.score.value" in attributes for _, attributes in emitted)


@pytest.mark.parametrize(
    ("model", "provider", "name"),
    [
        ("openai/gpt-4o-mini", "openai", "gpt-4o-mini"),
        ("gpt-4o-mini", "openai", "gpt-4o-mini"),
        ("bedrock/anthropic.claude-3-haiku", "aws.bedrock", "anthropic.claude-3-haiku"),
        ("server/llama", "server", "llama"),
        ("local", "local", "local"),
    ],
)
def test_provider_and_model_are_the_real_ones(model: str, provider: str, name: str) -> None:
    assert provider_and_model(model) == {"gen_ai.provider.name": provider, "gen_ai.request.model": name}


@pytest.mark.parametrize(
    ("fault", "kind"), [(Fault(status=400), "unavailable"), (Fault(hang=True), "timeout")]
)
def test_what_failed_says_how(rubric: Rubric, case: Case, fault: Fault, kind: str) -> None:
    with ProviderServer(jury_of({"a": fault, "b": 4})) as server:
        spans = spans_of(case, rubric, server)

    failed = [span for span in spans if span.name == "chat a"]
    assert {span.attributes["error.type"] for span in failed} == {kind}
    assert not any(span.status.is_ok for span in failed)


def test_no_span_holds_a_key_a_prompt_an_answer_or_a_case(rubric: Rubric) -> None:
    planted = Case(id="CANARY-ID", source=("CANARY-SOURCE",), output="CANARY-OUTPUT")

    def leaks(call: Any) -> Fault:
        return Fault(status=400, body=f"{call.headers['Authorization']} said {call.prompt}")

    with ProviderServer(jury_of({"a": leaks, "b": "CANARY-ANSWER"})) as server:
        spans = spans_of(planted, rubric, server)

    assert len(spans) == 4
    told = " ".join(span.to_json() for span in spans).lower()
    assert "canary" not in told
    assert not any(span.events for span in spans)


def test_a_traced_and_redacted_run_writes_its_spans_to_a_file_without_a_word_of_the_cases(
    tmp_path: Path,
) -> None:
    with ProviderServer(jury_of({"a": 3, "b": 3, "c": 3, "boss": 3})) as server:
        command = write_run(tmp_path, server.url, protocol="panel")
        ended = venire(*command, "--redact", "--trace", "spans.jsonl", cwd=tmp_path)

    assert ended.returncode == 0, ended.stderr
    text = (tmp_path / "spans.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    spans = [line for line in lines if "event_name" not in line]
    events = [line for line in lines if "event_name" in line]
    assert Counter(event["event_name"] for event in events) == {
        "gen_ai.evaluation.result": 4,
        "venire.ballot": 12,
    }
    assert min(event["timestamp"] for event in events) >= min(span["start_time"] for span in spans)
    assert sum(span["name"] == "deliberate" for span in spans) == 4
    assert sum(span["name"].startswith("chat ") for span in spans) == len(server.calls) == 12
    assert not any(word in text for word in ("fever", "Summary", "case-", "Filler", "Bearer"))


def test_a_file_that_cannot_be_written_is_an_error_before_any_call(tmp_path: Path) -> None:
    ended = venire(*write_run(tmp_path, "http://127.0.0.1:9"), "--trace", tmp_path, cwd=tmp_path)

    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 2
    assert not (tmp_path / "out").exists()


def test_a_run_without_spans_does_not_load_opentelemetry(tmp_path: Path) -> None:
    code = (
        "import sys; from venire.orchestration.bench import Court; court = Court();"
        "print(court.providers.tracing, [m for m in sys.modules if m.startswith('opentelemetry')])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert told.split() == ["None", "[]"]


def test_a_process_that_was_given_a_tracer_provider_is_traced() -> None:
    assert current_tracing() is None
    code = (
        "from opentelemetry import trace; from opentelemetry.sdk.trace import TracerProvider;"
        "trace.set_tracer_provider(TracerProvider());"
        "from venire.agents.providers import Providers; print(Providers().tracing is not None)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert told.strip() == "True"


def test_a_case_in_a_trace_cannot_be_found_by_counting(tmp_path: Path) -> None:
    """Each run has a salt of its own, kept with its record: the same in every session of it, another in another run."""
    salts = []
    for name in ("one", "one", "two"):
        store = Store.create(tmp_path / name)
        salts.append(store.trace_salt())
        store.close_sync()

    assert salts[0] == salts[1] != salts[2]
    assert len(salts[0]) == 16


def spans_in_memory() -> tuple[Tracing, Any, Any]:
    """Tracing, and where its spans and events are."""
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    spans, events, provider, logs = (
        InMemorySpanExporter(),
        InMemoryLogRecordExporter(),
        TracerProvider(),
        LoggerProvider(),
    )
    provider.add_span_processor(SimpleSpanProcessor(spans))
    logs.add_log_record_processor(SimpleLogRecordProcessor(events))
    return Tracing(provider, logs=logs), spans, events


def request_to(model: str, **settings: Any) -> Request:
    return Request(model, (Message("user", "Secret words."),), None, Sampling(settings), repeat=0, timeout=9)


def test_a_span_has_the_settings_the_tokens_and_the_end_of_its_call_and_a_host_without_credentials() -> None:
    tracing, spans, _ = spans_in_memory()
    settings = {"temperature": 0.0, "top_p": 0.5, "max_tokens": 9, "seed": 3, "reasoning_effort": "low"}
    with tracing.call(
        request_to("server/m", base_url="https://me:pass@host.org:8443/v1?key=k", **settings)
    ) as add:
        add(Reply("x", Usage(prompt=40, completion=7, cached=30), finish="length"))
    with tracing.call(request_to("server/m")):
        pass

    told, bare = (dict(span.attributes) for span in spans.get_finished_spans())
    assert told == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "server",
        "gen_ai.request.model": "m",
        "server.address": "host.org",
        "gen_ai.request.temperature": 0.0,
        "gen_ai.request.top_p": 0.5,
        "gen_ai.request.max_tokens": 9,
        "gen_ai.request.seed": 3,
        "gen_ai.usage.input_tokens": 40,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.response.finish_reasons": ("length",),
    }
    assert "server.address" not in bare


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (FormatRefused("json_schema"), "format_refused"),
        (TransientFailure("wait", busy=True), "rate_limited"),
        (TransientFailure("slow", reason="timeout"), "timeout"),
        (ModelFailure("refused", "no"), "refused"),
        (TimeoutError("slow"), "timeout"),
        (KeyError("Secret words."), "KeyError"),
    ],
)
def test_a_failed_call_is_an_error_of_a_kind_without_its_words(error: Exception, kind: str) -> None:
    tracing, spans, _ = spans_in_memory()
    with pytest.raises(type(error)), tracing.call(request_to("server/m")):
        raise error

    (span,) = spans.get_finished_spans()
    assert (span.attributes["error.type"], span.status.status_code.name) == (kind, "ERROR")
    assert (span.status.description, span.events) == (None, ())


def test_an_event_has_what_is_known_of_its_deliberation_and_nothing_that_is_not() -> None:
    tracing, spans, events = spans_in_memory()
    with tracing.deliberation("case 7", "arm", "panel", salt=b"salt") as span:
        span.add({"venire.rounds": 2, "venire.spread": None})
        span.emit("e", {"venire.seat": "a", "venire.value": None})
        span.emit("e", {}, of="no traceparent")

    (whole,) = spans.get_finished_spans()
    hidden = hashlib.blake2b(b"case 7", key=b"salt", digest_size=8).hexdigest()
    known = {"venire.case": hidden, "venire.arm": "arm", "venire.protocol": "panel"}
    assert dict(whole.attributes) == {**known, "venire.rounds": 2}
    first, second = (each.log_record for each in events.get_finished_logs())
    assert dict(first.attributes) == {**known, "venire.seat": "a"}
    assert first.span_id == second.span_id == whole.context.span_id


def test_a_trace_is_added_to_its_file_which_is_its_owners_and_is_whole_when_closed(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    for case in ("one", "two"):
        tracing = tracing_to(path)
        with tracing.deliberation(case, "arm", "panel", salt=b"s") as span:
            span.emit("venire.told", {})
        tracing.close()

    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert Counter(row.get("name") or row.get("event_name") for row in rows) == {
        "deliberate": 2,
        "venire.told": 2,
    }
    assert path.stat().st_mode & 0o777 == 0o600
