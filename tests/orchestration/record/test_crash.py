"""The record under attack: killed processes, a full disk, a database that restarts. Nothing lost, nothing paid twice."""

from __future__ import annotations

import json
import resource
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from checkout import ROOT
from command_line import Started, venire
from comparable_runs import questions, steady_answer, verdicts, write_long_run
from openai_server import ProviderServer
from postgres_cluster import PASSWORD, Cluster

from venire.orchestration.record.store import open_database


def test_a_run_killed_again_and_again_ends_as_if_nothing_had_happened() -> None:
    script = [sys.executable, ROOT / "benchmarks/crash.py", "--cases", "30", "--kills", "2", "--seed", "1"]
    ended = subprocess.run(script, capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "verdicts the same as undisturbed: True" in ended.stdout
    assert "sent again although committed: 0" in ended.stdout


@pytest.fixture(params=["full disk", "file limit"])
def narrow(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[Path, Callable[[], None], Callable[[], None]]]:
    """A directory with little room, what a process there does first, and what makes more room."""
    place = tmp_path / "narrow"
    place.mkdir()
    if request.param == "file limit":
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        room = {"bytes": 400_000}

        def first() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room["bytes"], limit))

        yield place, first, lambda: room.update(bytes=10**9)
        return
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=640k", "venire-test", place], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("a small file system cannot be mounted here")
    try:
        yield (
            place,
            lambda: None,
            lambda: subprocess.run(["mount", "-o", "remount,size=64m", place], check=True) and None,
        )
    finally:
        subprocess.run(["umount", place], check=True)


def test_a_disk_that_fills_up_is_two_lines_and_the_run_continues_when_there_is_room(
    tmp_path: Path, narrow: tuple[Path, Callable[[], None], Callable[[], None]]
) -> None:
    place, first, make_room = narrow
    with ProviderServer(steady_answer) as server:
        calm = venire(*write_long_run(tmp_path, server.url, "calm", 60), "--json", cwd=tmp_path)
        server.calls.clear()
        command = write_long_run(tmp_path, server.url, str(place / "run"), 60)

        def run() -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [sys.executable, "-m", "venire.cli", *map(str, command), "--json", "--quiet"],
                cwd=tmp_path, preexec_fn=first, capture_output=True, text=True, check=False,
            )  # fmt: skip

        full = run()
        assert full.returncode == 2, full.stderr
        assert len(full.stderr.splitlines()) == 2
        assert "the record cannot be" in full.stderr
        assert "everything that was saved before is kept" in full.stderr
        with closing(sqlite3.connect(place / "run/record.sqlite")) as record:
            assert record.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            (kept,) = record.execute("SELECT count(*) FROM calls").fetchone()
        # How many fit depends on how many come in one commit.
        assert kept > 0
        sent = len(server.calls)

        make_room()
        finished = run()

    assert finished.returncode == 0, finished.stderr
    assert verdicts(finished.stdout) == verdicts(calm.stdout)
    # What was in flight when the disk was full could not be kept, and is sent again; nothing else is.
    assert len(server.calls) - len(set(questions(server))) == sent - kept


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_database_that_restarts_in_the_middle_is_waited_for(
    tmp_path: Path, request: pytest.FixtureRequest, mode: str
) -> None:
    database: Cluster = request.getfixturevalue("cluster")
    with ProviderServer(steady_answer, latency=0.02) as server:
        calm = venire(*write_long_run(tmp_path, server.url, "calm", 40), "--json", cwd=tmp_path)
        server.calls.clear()
        command = write_long_run(tmp_path, server.url, database.url(f"restarted_{mode}"), 40)

        def restart() -> None:
            while len(server.calls) < 60:
                time.sleep(0.01)
            database.stop(mode)
            time.sleep(0.5)
            database.start()

        restarting = threading.Thread(target=restart)
        restarting.start()
        ended = venire(*command, "--json", "--in-flight", "8", cwd=tmp_path)
        restarting.join()

    assert ended.returncode == 0, ended.stderr
    assert verdicts(ended.stdout) == verdicts(calm.stdout)
    assert len(set(questions(server))) == len(questions(server))
    assert PASSWORD not in ended.stdout + ended.stderr


def test_a_database_that_stays_away_is_two_lines_and_the_run_continues_later(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    database: Cluster = request.getfixturevalue("cluster")
    with ProviderServer(steady_answer, latency=0.02) as server:
        command = write_long_run(tmp_path, server.url, database.url("away"), 30)
        killed = Started(*command, cwd=tmp_path)
        while len(server.calls) < 60:
            time.sleep(0.01)
        killed.kill()
        killed.wait()
        database.stop("fast")
        away = venire(*command, cwd=tmp_path)
        database.start()
        sent = len(server.calls)
        finished = venire(*command, "--json", "--in-flight", "4", cwd=tmp_path)

    assert away.returncode == 2
    assert len(away.stderr.splitlines()) == 2
    assert "the database cannot be reached" in away.stderr
    assert PASSWORD not in away.stderr
    assert finished.returncode == 0, finished.stderr
    assert 0 < sent < len(server.calls)
    assert json.loads(finished.stdout)["run"] == database.url("away").replace(PASSWORD, "***")


def test_several_processes_share_a_run_in_a_database_and_one_is_killed(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    database: Cluster = request.getfixturevalue("cluster")
    with ProviderServer(steady_answer, latency=0.05) as server:
        alone = venire(*write_long_run(tmp_path, server.url, "alone", 30), "--json", cwd=tmp_path)
        undisturbed = len(server.calls)
        command = write_long_run(tmp_path, server.url, database.url("team"), 30)
        processes = [
            Started(*command, "--quiet", "--in-flight", 2, cwd=tmp_path, stderr=subprocess.PIPE)
            for _ in range(3)
        ]
        while len(server.calls) < undisturbed * 1.4:
            time.sleep(0.01)
        before_the_kill = len(server.calls)
        processes[0].kill()
        processes[0].wait()
        committed = committed_questions(database.url("team"))
        committed_by = len(server.calls)
        told = [process.communicate()[1] for process in processes]
        team = venire("show", database.url("team"), "--json", cwd=tmp_path)

    assert [process.returncode for process in processes[1:]] == [0, 0], told
    assert verdicts(team.stdout) == verdicts(alone.stdout)
    asked = [
        (call.model, *(message["content"] for message in call.body["messages"])) for call in server.calls
    ]
    shared = asked[undisturbed:before_the_kill]
    assert len(set(shared)) == len(shared), "two processes asked the same"
    # What the killed process had sent and not yet committed is asked again, and nothing else.
    assert set() < committed <= set(asked[undisturbed:committed_by])
    assert not committed & set(asked[committed_by:])


def committed_questions(run: str) -> set[tuple[str, ...]]:
    """Model and messages of each call that the record holds."""
    with closing(open_database(run, write=False)) as database:
        # In this order: a call that is committed after the first of two questions may have words that the second does not know.
        requests = [json.loads(request) for (request,) in database.rows("SELECT request FROM calls")]
        texts = {
            "": "",
            **{name: json.loads(text) for name, text in database.rows("SELECT hash, text FROM texts")},
        }
    return {
        (asked["model"].partition("/")[2], *(texts[part[1]] + texts[part[2]] for part in asked["parts"]))
        for asked in requests
    }
