"""A decompose-verify run that is killed in mid-verification: what was answered is not asked, nor paid, again."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from claim_server import claim_provider, sentences
from command_line import Started, venire
from openai_server import Fault, ProviderServer
from rich.console import Console

from venire import load_jury, load_rubric
from venire.agents import pacing
from venire.orchestration.reading.status import unreached_at
from venire.orchestration.run_session import RunSession, run_session

CASES, CLAIMS, VERIFIERS = 8, 5, 2
CALLS = CASES * (1 + CLAIMS * VERIFIERS)
COMMAND = [
    "run",
    "cases.jsonl",
    "--rubric",
    "claims",
    "--jury",
    "jury.yaml",
    "-o",
    "run",
    "--in-flight",
    "4",
    "--quiet",
]


def write_files(folder: Path, url: str) -> None:
    rows = [
        {"id": f"case-{n}", "output": f"Case {n}. " + " ".join(sentences(CLAIMS)), "reference": f"Text {n}."}
        for n in range(CASES)
    ]
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    seats = [{"name": "extractor", "extracts": True}, *({"name": f"v{n}"} for n in range(VERIFIERS))]
    jury = {
        "name": "claims",
        "protocol": "decompose-verify",
        "seats": [{**seat, "model": f"server/{seat['name']}", "base_url": url} for seat in seats],
    }
    (folder / "jury.yaml").write_text(json.dumps(jury))


def committed(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "run" / "record.sqlite")) as record:
        ((number,),) = record.execute("SELECT count(*) FROM calls")
    return int(number)


def test_a_run_killed_in_mid_verification_pays_for_nothing_twice(tmp_path: Path) -> None:
    provider = claim_provider(sentences(CLAIMS), lambda model, claim: "supported")
    with ProviderServer(provider, latency=0.03) as server:
        write_files(tmp_path, server.url)
        started = Started(*COMMAND, cwd=tmp_path)
        while len(server.calls) < CALLS // 2 and started.poll() is None:
            time.sleep(0.01)
        started.kill()
        started.wait()
        time.sleep(0.1)
        kept = committed(tmp_path)
        server.calls.clear()
        ended = venire(*COMMAND, "--json", cwd=tmp_path)
        again = len(server.calls)

        assert ended.returncode == 0, ended.stderr
        assert 0 < kept < CALLS
        assert again == CALLS - kept
        assert {case["verdict"]["support"]["value"] for case in json.loads(ended.stdout)["cases"]} == {1.0}


def test_another_share_threshold_weight_or_verifier_asks_nothing_that_was_asked(tmp_path: Path) -> None:
    provider = claim_provider(sentences(CLAIMS), lambda model, claim: "supported")
    with ProviderServer(provider) as server:
        write_files(tmp_path, server.url)
        assert venire(*COMMAND, cwd=tmp_path).returncode == 0
        jury = json.loads((tmp_path / "jury.yaml").read_text())
        for options in ({"share": "all"}, {"threshold": 0.3}, {"central_weight": 2}):
            server.calls.clear()
            (tmp_path / "jury.yaml").write_text(json.dumps({**jury, "claims": options}))
            assert venire(*COMMAND, cwd=tmp_path).returncode == 0
            assert server.calls == []
        more = {**jury["seats"][-1], "name": "another", "model": "server/another"}
        (tmp_path / "jury.yaml").write_text(json.dumps({**jury, "seats": [*jury["seats"], more]}))
        assert venire(*COMMAND, cwd=tmp_path).returncode == 0

        assert {call.model for call in server.calls} == {"another"}
        assert len(server.calls) == CASES * CLAIMS


@pytest.mark.parametrize("dead", ["extractor", "v1"])
def test_a_seat_that_cannot_be_reached_is_named_and_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dead: str
) -> None:
    for name, value in (("FAILURES", 1), ("WAITS", 0)):
        monkeypatch.setattr(pacing, name, value)
    provider = claim_provider(sentences(CLAIMS), lambda model, claim: "supported")
    broken = [True]
    with ProviderServer(
        lambda call: Fault() if broken[0] and call.model == dead else provider(call)
    ) as server:
        write_files(tmp_path, server.url)
        session = RunSession(
            tmp_path / "cases.jsonl",
            load_rubric("claims"),
            [load_jury(tmp_path / "jury.yaml")],
            tmp_path / "run",
        )
        run_session(session, Console(quiet=True), quiet=True)
        (lacking,) = unreached_at(tmp_path / "run")
        broken[0] = False
        server.calls.clear()
        run_session(replace(session, retry=True), Console(quiet=True), quiet=True)

    assert (lacking.model, lacking.seats, lacking.cases) == (f"server/{dead}", (dead,), CASES)
    assert unreached_at(tmp_path / "run") == []
    asked = {call.model for call in server.calls}
    assert asked == ({"v1"} if dead == "v1" else {"extractor", "v0", "v1"})
