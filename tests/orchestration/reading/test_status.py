"""`venire status`: a run seen from another terminal, and what a run says when it is not what it was."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from command_line import Started, venire
from openai_server import ProviderServer, jury_of
from postgres_cluster import Cluster
from run_files import CASES, RUBRIC, write_run
from written_transcripts import abstained, transcript_of

from venire.orchestration.reading.status import _failures
from venire.orchestration.record.manifest import manifest_changes

ANSWERS = {"a": 3, "b": 3, "c": 3, "boss": 2}


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_status_tells_of_a_run_in_progress_and_of_one_that_ended(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    run = "out"
    if kind == "postgresql":
        database: Cluster = request.getfixturevalue("cluster")
        run = database.url("status")
    with ProviderServer(jury_of(ANSWERS), hold_from=7) as server:
        command = [*write_run(tmp_path, server.url, timeout=300, protocol="panel")[:-1], run]
        started = time.time()
        going = Started(*command, "--in-flight", 1, "--quiet", cwd=tmp_path)
        while len(server.calls) < 7:
            time.sleep(0.01)
        during = venire("status", run, "--json", cwd=tmp_path)
        told = venire("status", run, cwd=tmp_path)
        server.release()
        assert going.wait() == 0
    after = json.loads(venire("status", run, "--json", cwd=tmp_path).stdout)

    assert during.returncode == 0, during.stderr
    seen = json.loads(during.stdout)
    (arm,) = seen["arms"]
    assert seen["writing"] is True
    assert arm["arm"] == "bench"
    assert 1 <= arm["done"] < arm["total"] == 4
    assert arm["eta_seconds"] == pytest.approx((4 - arm["done"]) / arm["per_second"])
    assert 3 <= seen["calls"] < 12
    assert seen["tokens"]["prompt"] > 0
    assert seen["usd"] is None
    assert 0 <= seen["seconds_since_activity"] < time.time() - started
    assert ": running" in told.stdout
    assert "/4" in told.stdout
    assert (after["writing"], after["arms"][0]["done"], after["calls"]) == (False, 4, 12)
    assert after["arms"][0]["eta_seconds"] is None


def test_a_second_file_of_cases_is_added_to_the_total(tmp_path: Path) -> None:
    with ProviderServer(jury_of(ANSWERS)) as server:
        command = write_run(tmp_path, server.url, protocol="panel")
        assert venire(*command, cwd=tmp_path).returncode == 0
        cases = tmp_path / str(command[1])
        rows = [json.loads(line) for line in cases.read_text().splitlines()]
        cases.write_text("".join(json.dumps({**row, "id": f"{row['id']}-b"}) + "\n" for row in rows))
        assert venire(*command, cwd=tmp_path).returncode == 0
    (arm,) = json.loads(venire("status", str(command[-1]), "--json", cwd=tmp_path).stdout)["arms"]

    assert (arm["done"], arm["total"]) == (8, 8)


def test_status_of_no_run_is_two_lines(tmp_path: Path) -> None:
    ended = venire("status", "nowhere", cwd=tmp_path)

    assert ended.returncode == 2
    assert "there is no run" in ended.stderr


def test_a_changed_rubric_is_named_and_only_what_it_changes_is_asked(tmp_path: Path) -> None:
    with ProviderServer(jury_of(ANSWERS)) as server:
        command = write_run(tmp_path, server.url, protocol="panel")
        venire(*command, cwd=tmp_path)
        (tmp_path / "rubric.yaml").write_text(RUBRIC.replace("version: 1", "version: 2"))
        noted = venire(*command, cwd=tmp_path)
        first = len(server.calls)
        (tmp_path / "rubric.yaml").write_text(RUBRIC.replace("question: ", "question: Pray, "))
        asked = venire(*command, cwd=tmp_path)
        second = len(server.calls)
        back = (tmp_path / "rubric.yaml").write_text(RUBRIC)
        again = venire(*command, cwd=tmp_path)

    assert "rubric mine changed since this run began; the arm's cases will be judged again" in noted.stderr
    assert first == 12, "a version number is in no prompt"
    assert "rubric mine changed" in asked.stderr
    assert second == 24
    assert back
    assert "rubric mine changed" in again.stderr
    assert len(server.calls) == 24


def test_a_changed_persona_model_or_limit_is_named(tmp_path: Path) -> None:
    with ProviderServer(jury_of({**ANSWERS, "d": 3})) as server:
        command = write_run(tmp_path, server.url, protocol="panel")
        venire(*command, cwd=tmp_path)
        jury = json.loads((tmp_path / "jury.yaml").read_text())
        jury["seats"][0]["persona"] = "skeptic"
        jury["seats"][1]["model"] = "server/d"
        jury["quorum"] = 3
        (tmp_path / "jury.yaml").write_text(json.dumps(jury))
        ended = venire(*command, cwd=tmp_path)

    assert "bench: seat a has a different persona: skeptic since this run began" in ended.stderr
    assert "bench: model of seat b changed from server/b to server/d" in ended.stderr
    assert "bench: quorum changed" in ended.stderr
    assert len(server.calls) == 12 + 8, "seat c is asked nothing new"


def test_a_changed_case_is_named_and_heard_again_alone(tmp_path: Path) -> None:
    with ProviderServer(jury_of(ANSWERS)) as server:
        command = write_run(tmp_path, server.url, protocol="panel")
        venire(*command, cwd=tmp_path)
        changed = [{**case, "output": "Other words."} if case["id"] == "case-2" else case for case in CASES]
        (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in changed))
        other = venire(*command, "--json", cwd=tmp_path)
        write_run(tmp_path, server.url, protocol="panel")
        back = venire(*command, "--json", cwd=tmp_path)

    assert "case case-2: output changed since the case was judged; it will be judged again" in other.stderr
    assert other.stderr.count("changed") == 1
    assert len(server.calls) == 15
    assert "case case-2: output changed" in back.stderr
    assert len(json.loads(back.stdout)["cases"]) == 4


def test_every_part_of_a_manifest_that_differs_is_told() -> None:
    persona = {"name": "skeptic", "voice": "Doubt."}
    seat = {"name": "a", "persona": persona, "model": "m", "temperature": 0}
    jury = {
        "name": "j",
        "protocol": "panel",
        "seats": [seat],
        "orchestrator": {"model": "o"},
        "limits": {"max_rounds": 3},
    }
    before = {
        "venire": "1",
        "rubric": {"name": "r", "version": 1},
        "jury": jury,
        "prompts": "x",
        "examples": "",
        "seed": 0,
    }
    other = {
        "venire": "2", "rubric": {"name": "s", "version": 1}, "prompts": "y", "examples": "z", "seed": 1,
        "jury": {
            **jury, "protocol": "delphi", "limits": {"max_rounds": 2}, "orchestrator": {"model": "p"},
            "seats": [{**seat, "persona": {**persona, "voice": "Trust."}}, {**seat, "name": "b"}],
        },
    }  # fmt: skip

    assert manifest_changes(before, before) == []
    assert manifest_changes(before, other) == [
        "rubric r was replaced by s",
        "persona skeptic of seat a changed",
        "seat b is new",
        "model of the orchestrator changed from o to p",
        "protocol changed",
        "limits changed",
        "the prompts changed",
        "the worked examples changed",
        "the seed changed from 0 to 1",
        "venire changed from 1 to 2",
    ]
    assert manifest_changes(other, before)[1:3] == ["seat b was removed", "persona skeptic of seat a changed"]


def test_a_judges_repeats_are_the_judge_and_what_a_limit_kept_back_was_not_unreached() -> None:
    told = transcript_of(
        [abstained("judge", "x"), abstained("judge#2", "x"), abstained("judge#3", "x", reason="limit")]
    )

    assert list(_failures(told)) == [("judge", "down"), ("judge", "down")]
