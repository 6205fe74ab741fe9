"""Runs on a provider that is busy, broken, deaf or dead: what becomes of the cases, and how often it is asked."""

from __future__ import annotations

import importlib.util
import io
import json
import socket
import sys
import threading
import time
from contextlib import nullcontext
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT
from openai_server import Fault, ProviderServer
from rich.console import Console
from server_juries import AskNobody

from venire import Jury, load_rubric
from venire.agents import pacing
from venire.agents.pacing import SENDS
from venire.orchestration.reading.scores import report
from venire.orchestration.run_session import RunSession, run_session
from venire.orchestration.transcript import Entry
from venire.rubrics.errors import ModelUnreachable

FAULTS = {"busy": 0.10, "broken": 0.05, "dropped": 0.03, "hanging": 0.03, "garbage": 0.05}
IN_FLIGHT = 32


def _loaded() -> Any:
    """The benchmarks' server; the tests have another module of that name."""
    spec = importlib.util.spec_from_file_location("faulty_provider", ROOT / "benchmarks/provider.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class FaultyProvider(_loaded().Provider):  # type: ignore[misc]
    """The server, which leaves nothing open behind it."""

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._process.stdout.close()


def session(folder: Path, url: str, protocol: str, cases: int = 60) -> RunSession:
    rows = ({"id": f"c{n}", "source": f"Note {n}: fever.", "output": f"Summary {n}."} for n in range(cases))
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    seat = {"base_url": url, "timeout": 1}
    jury = {
        "name": protocol,
        "protocol": protocol,
        "seats": [{"name": name, "model": f"server/{name}", **seat} for name in "abc"],
        "orchestrator": {"model": "server/boss", **seat},
        "limits": {"max_rounds": 2},
    }
    return RunSession(
        cases=folder / "cases.jsonl",
        rubric=load_rubric("clinical-note"),
        juries=[Jury.model_validate(jury)],
        folder=folder / "run",
        in_flight=IN_FLIGHT,
    )


def held(wanted: RunSession, **options: Any) -> None:
    run_session(wanted, Console(file=io.StringIO()), quiet=True, **options)


def document(folder: Path) -> list[dict[str, Any]]:
    told = io.StringIO()
    report(folder / "run", None, told)
    return json.loads(told.getvalue())["cases"]


@pytest.mark.parametrize(("protocol", "number"), [("panel", 60), ("orchestrated", 30)])
def test_every_case_ends_in_a_verdict_or_recorded_abstentions_with_bounded_retries(
    tmp_path: Path, protocol: str, number: int
) -> None:
    with FaultyProvider(latency=0.02, seed=1, **FAULTS) as server:
        held(session(tmp_path, server.url, protocol, number))
        stats = server.stats()

    cases = document(tmp_path)
    assert len(cases) == number
    for case in cases:
        reached = any(outcome["status"] == "reached" for outcome in case["verdict"].values())
        undecided = "could not decide" in case["stop"]["detail"]
        assert reached or case["abstentions"] or undecided
        seen = {ballot["juror"] for ballot in case["ballots"]} | {a["juror"] for a in case["abstentions"]}
        assert seen >= {"a", "b", "c"}
    recorded = sum(case["calls"] for case in cases)
    abstained = sum(len(case["abstentions"]) for case in cases)
    # No request is sent more than SENDS times; with these shares the average is well below two.
    assert stats["calls"] <= 2 * recorded + SENDS * abstained
    assert stats["calls"] >= recorded


def test_throughput_recovers_when_the_faults_stop(tmp_path: Path) -> None:
    latency, in_flight, faulty, cases = 0.1, 16, 60, 180
    heard: list[float] = []

    with FaultyProvider(latency=latency, seed=2, **FAULTS) as server:

        def listener(case: str, entry: Entry) -> None:
            heard.append(time.monotonic())
            if len(heard) == faulty:
                server.change(latency=latency)

        wanted = session(tmp_path, server.url, "panel", cases)
        held(replace(wanted, in_flight=in_flight, at_once=2 * in_flight), listener=listener)

    last = heard[-340:-40]
    assert len(last) / (last[-1] - last[0]) > 2 * faulty / (heard[faulty] - heard[0])


def test_a_provider_that_comes_back_is_used_again_in_the_same_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pacing, "STREAK", 1.0)
    monkeypatch.setattr(pacing, "PROBE_EVERY", 0.5)
    told = io.StringIO()
    given_up, heard = threading.Event(), set[str]()

    def listener(case: str, entry: Entry) -> None:
        heard.add(case)
        if len(heard) == 4:
            given_up.set()

    with socket.socket() as taken:
        # Bound and deaf, it refuses connections and leaves the port to nobody but the server.
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        server = FaultyProvider(port=port)
        back = threading.Thread(target=lambda: given_up.wait() and server.__enter__())
        back.start()
        try:
            wanted = replace(
                session(tmp_path, f"http://127.0.0.1:{port}/v1", "panel", 200),
                at_once=4,
                preflight=AskNobody(),
            )
            run_session(wanted, Console(file=told, width=300), quiet=True, listener=listener)
        finally:
            given_up.set()
            back.join()
            server.__exit__(None, None, None)

    lines = [line.split("/v1 ")[1][:12] for line in told.getvalue().splitlines() if "/v1 " in line]
    assert lines == ["does not ans", "answers agai"]
    cases = document(tmp_path)
    lost = [case for case in cases if case["abstentions"]]
    assert len(cases) == 200
    assert 4 <= len(lost) <= 80
    assert not cases[-1]["abstentions"]


class Counted(BaseHTTPRequestHandler):
    """Refuses every request, and counts the connections that are open at the same time."""

    protocol_version = "HTTP/1.1"
    now = most = 0
    lock = threading.Lock()

    def setup(self) -> None:
        with self.lock:
            Counted.now += 1
            Counted.most = max(Counted.most, Counted.now)
        super().setup()

    def finish(self) -> None:
        super().finish()
        with self.lock:
            Counted.now -= 1

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(0.01)
        self.send_response(400)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        return None


def test_there_are_never_more_connections_than_calls_in_flight(tmp_path: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Counted) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        url = f"http://127.0.0.1:{server.server_port}/v1"
        held(replace(session(tmp_path, url, "panel"), in_flight=5, at_once=40, preflight=AskNobody()))
        server.shutdown()
        serving.join()

    assert Counted.most == 5


@pytest.mark.parametrize("status", [200, 429, 500, 503, 401])
def test_a_key_that_the_provider_repeats_is_in_no_abstention_and_on_no_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv("CANARY_KEY", "sk-canary-0123456789")
    monkeypatch.setattr(pacing, "STREAK", 0.1)
    monkeypatch.setattr(pacing, "PROBE_EVERY", 0.1)
    monkeypatch.setattr(pacing, "LONGEST_BACKOFF", 0.05)

    def repeats(call: Any) -> Fault:
        return Fault(status, {"Retry-After": "0"}, f"your key is {call.headers['Authorization']}")

    told = io.StringIO()
    with ProviderServer(repeats) as server:
        wanted = session(tmp_path, server.url, "panel", 3)
        (jury,) = wanted.juries
        keyed = tuple(seat.model_copy(update={"api_key_env": "CANARY_KEY"}) for seat in jury.seats)
        wanted = replace(wanted, juries=[jury.model_copy(update={"seats": keyed})], preflight=AskNobody())
        with pytest.raises(ModelUnreachable) if status == 401 else nullcontext() as refused:
            run_session(wanted, Console(file=told), quiet=True)

    assert "canary-" not in str(refused)
    assert "canary" not in told.getvalue() + json.dumps(document(tmp_path))
    assert not any(b"canary" in path.read_bytes() for path in (tmp_path / "run").iterdir())
