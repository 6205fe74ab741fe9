"""`venire status`: a run seen from another terminal, and what a run says when it is not what it was."""

from __future__ import annotations

import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command_line import Started, venire
from openai_server import ProviderServer, jury_of
from postgres_cluster import Cluster
from run_files import CASES, RUBRIC, write_run
from written_transcripts import abstained, transcript_of

from venire.agents.cost import Cost
from venire.orchestration.reading import status as reading
from venire.orchestration.reading.status import (
    Status,
    UnreachedModel,
    _failures,
    going_words,
    status_json,
    unreached_lines,
    unreached_models,
)
from venire.orchestration.record import ArmProgress
from venire.orchestration.record.manifest import manifest_changes
from venire.orchestration.transcript import Said
from venire.personas.jury import Jury

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


def standing(writing: bool = True, **fields: Any) -> Status:
    """A run at second 1000: one arm for 30 s, the other for 500 s, 12 and 30 deliberations of them within the last minute."""
    arms = (ArmProgress("new", 12, 48, 970.0, 990.0, 12), ArmProgress("old", 100, None, 500.0, 999.0, 30))
    known = {"run": "r", "redacted": False, "arms": arms, "spent": Cost(), "recent": Cost(calls=90), "last_call": 998.0, "now": 1000.0}  # fmt: skip
    return Status(writing=writing, **{**known, **fields})


def test_pace_and_time_left_are_taken_over_a_minute_or_as_long_as_the_arm_sits() -> None:
    found = standing()
    new, old = found.arms

    assert (found.window(new), found.window(old)) == (30, 60)
    assert (found.pace(new), found.pace(old)) == (0.4, 0.5)
    assert (found.eta(new), found.eta(old)) == (90, None), "36 are left; of the other nobody knows how many"
    assert found.calls_per_second == 1.5 and found.last_activity == 999
    assert found.eta(new._replace(done=50)) == 0 and found.eta(new._replace(recent=0)) is None
    assert (
        standing(arms=()).calls_per_second == 1.5 and standing(arms=(), last_call=None).last_activity is None
    )
    assert standing(arms=(new._replace(last=None),), last_call=None).last_activity == 970
    ended = standing(writing=False)
    assert (ended.pace(new), ended.eta(new), ended.calls_per_second) == (None, None, None)
    told = status_json(found)
    assert [(arm["arm"], arm["done"], arm["total"], arm["per_second"], arm["eta_seconds"]) for arm in told["arms"]] == [("new", 12, 48, 0.4, 90), ("old", 100, None, 0.5, None)]  # fmt: skip
    assert (told["seconds_since_activity"], told["last_activity"]) == (1, "1970-01-01T00:16:39+00:00")
    assert status_json(standing(now=900.0))["seconds_since_activity"] == 0


def test_a_run_that_goes_on_says_how_far_it_is_and_how_long_all_its_arms_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    new, old = standing().arms
    writing: Any = SimpleNamespace(writing=lambda: True)

    def words(**fields: Any) -> str:
        monkeypatch.setattr(reading, "_status", lambda store: standing(**fields))
        return going_words(writing)

    assert words() == "112 finished, 54.0 per minute"
    # 36 and 5,400 are left, at 0.4 and 0.5 a second.
    assert words(arms=(new, old._replace(cases=5500))) == "112 of 5,548 finished, 54.0 per minute, about 1 h 40 min left"  # fmt: skip
    assert words(arms=(new._replace(recent=0),)) == "12 of 48 finished, 0.0 per minute"
    assert going_words(SimpleNamespace(writing=lambda: False)) == ""  # type: ignore[arg-type]
    assert [reading._span(each) for each in (0, 59.6, 61, 599, 600, 3599, 3660)] == ["0 s", "1 min 0 s", "1 min 1 s", "9 min 59 s", "10 min", "59 min", "1 h 1 min"]  # fmt: skip


@pytest.mark.parametrize(("starts", "since"), [((900.0, 970.0), 970.0), ((100.0, 900.0), 940.0), ((), 940.0)])
def test_what_is_recent_is_of_the_last_minute_and_of_the_last_sitting(
    monkeypatch: pytest.MonkeyPatch, starts: tuple[float, ...], since: float
) -> None:
    monkeypatch.setattr(reading, "time", SimpleNamespace(time=lambda: 1000.0))
    store: Any = SimpleNamespace(
        name="r", redacted=True, writing=lambda: True, last_call=lambda: 7.0, cost=lambda since: Cost(calls=int(since)),
        arm_progress=lambda since: [ArmProgress("a", 1, 2, start, None, int(since)) for start in starts],
    )  # fmt: skip
    found = reading._status(store)

    assert (found.recent.calls, found.now, found.last_call, found.redacted) == (since, 1000, 7, True)
    assert [(arm.started, arm.recent) for arm in found.arms] == [(start, since) for start in starts]


def test_a_model_that_two_seats_share_lacks_each_case_once_and_says_what_went_wrong_last() -> None:
    jury = Jury.model_validate({"name": "j", "seats": [{"name": "a", "model": "m"}, {"name": "b", "model": "m"}, {"name": "c"}], "orchestrator": {"model": "o"}})  # fmt: skip
    out = Said(round=1, who="orchestrator", about="silence", text="no\n answer", failed="timeout")
    by_seat, words = out.model_copy(update={"who": "a", "text": "", "failed": "unavailable"}), out.model_copy(update={"failed": None})  # fmt: skip
    assert list(_failures(transcript_of([by_seat, words, out], seats=("a",)))) == [("a", "unavailable"), ("orchestrator", "no answer")]  # fmt: skip
    heard = [
        transcript_of([abstained("a", "x"), abstained("b", "x")], seats=("a", "b", "c")),
        transcript_of([abstained("b", "x"), abstained("c", "x", reason="timeout"), out], seats=("a", "b", "c")).model_copy(update={"case": "d"}),
    ]  # fmt: skip
    heard[1] = heard[1].model_copy(update={"entries": tuple(e.model_copy(update={"abstention": e.abstention.model_copy(update={"detail": ""})}) if e.kind == "abstention" and e.speaker == "c" else e for e in heard[1].entries)})  # fmt: skip
    store: Any = SimpleNamespace(arms=lambda: [SimpleNamespace(name="j", jury=jury)], transcripts_without_a_model=lambda arm: heard)  # fmt: skip

    assert unreached_models(store) == [
        UnreachedModel("j", "m", ("a", "b"), 2, "down"), UnreachedModel("j", "local", ("c",), 1, "timeout"),
        UnreachedModel("j", "o", ("orchestrator",), 1, "no answer"),
    ]  # fmt: skip
    lines = [
        str(line)
        for line in unreached_lines([UnreachedModel("j", f"m{n}", ("a",), 1, "w") for n in range(11)])
    ]
    assert len(lines) == 10 and lines[-2] == "and 3 more models" and "--retry" in lines[-1]
    assert list(unreached_lines([])) == []
