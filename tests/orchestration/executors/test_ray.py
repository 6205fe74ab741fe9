"""`--executor ray`: the same run on a cluster. One record, one set of limits, and a node that dies in the middle."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import jsonschema
import pytest
import yaml
from canary_run import KEY, canary_answer, leaks, write_canary_run
from checkout import ROOT
from command_line import Started, venire
from comparable_runs import questions, steady_answer, verdicts, write_long_run
from openai_server import ProviderServer
from ray_nodes import Nodes

pytestmark = pytest.mark.skipif(
    find_spec("ray") is None, reason="ray is not installed: pip install 'venire[ray]'"
)


@pytest.fixture(scope="module", autouse=True)
def _fair_share() -> Iterator[None]:
    """Ray's workers are as important as other tests: at Ray's own niceness of 15 they wait until those are done."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_worker_niceness", "0")
        yield


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CANARY_KEY", KEY)
        with Nodes() as started:
            yield started


def test_the_example_of_a_cluster_file_is_one_to_ray() -> None:
    ray = find_spec("ray")
    assert ray is not None and ray.submodule_search_locations
    described = Path(ray.submodule_search_locations[0]) / "autoscaler" / "ray-schema.json"
    cluster = yaml.safe_load((ROOT / "examples/cluster/ray.yaml").read_text(encoding="utf-8"))
    jsonschema.validate(cluster, json.loads(described.read_text(encoding="utf-8")))


def on(nodes: Nodes) -> list[str]:
    return ["--executor", "ray", "--ray-address", nodes.address]


def started(command: list[object], folder: Path) -> Started:
    """The command at work; what it says on stderr goes into the file `told`."""
    with (folder / "told").open("w") as told:
        return Started(*command, cwd=folder, stdout=subprocess.PIPE, stderr=told.fileno())


def wait_for(calls: int, server: ProviderServer, run: Started, folder: Path) -> None:
    while len(server.calls) < calls:
        assert run.poll() is None, (folder / "told").read_text()
        time.sleep(0.02)


def kept(record: Path) -> set[str]:
    """The questions whose answers the record holds: each a model, and what it was told."""
    with closing(sqlite3.connect(record)) as connection:
        texts = {name: json.loads(text) for name, text in connection.execute("SELECT hash, text FROM texts")}
        texts[""] = ""
        rows = [json.loads(request) for (request,) in connection.execute("SELECT request FROM calls")]
    return {
        json.dumps(
            [row["model"].partition("/")[2], *(texts[one] + texts[two] for _, one, two in row["parts"])]
        )
        for row in rows
    }


def asked(server: ProviderServer) -> list[str]:
    return [json.dumps([call.model, *(m["content"] for m in call.body["messages"])]) for call in server.calls]


def test_no_key_and_no_word_of_a_redacted_run_is_in_any_file_of_the_cluster(
    tmp_path: Path, nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY_KEY", KEY)
    with ProviderServer(canary_answer) as server:
        command = write_canary_run(tmp_path, server.url)
        plain = venire(*command[:-1], "plain", "--json", cwd=tmp_path)
        server.calls.clear()
        # Two arms with the same seats: what both ask in the first round is asked once.
        panel = json.loads((tmp_path / "jury.yaml").read_text()) | {"name": "blind", "protocol": "panel"}
        (tmp_path / "panel.yaml").write_text(json.dumps(panel))
        ended = venire(*command, "--jury", "panel.yaml", "--redact", "--json", *on(nodes), cwd=tmp_path)
        document = json.loads(ended.stdout)

    assert ended.returncode == 4, ended.stderr
    assert any(call.headers.get("Authorization") == f"Bearer {KEY}" for call in server.calls)
    paid = [json.dumps(call.body) for call in server.calls if call.model != "fails"]
    assert len(set(paid)) == len(paid)
    for ours, theirs in zip(
        [case for case in document["cases"] if case["arm"] == "bench"],
        json.loads(plain.stdout)["cases"],
        strict=True,
    ):
        assert ours["stop"] == theirs["stop"]
        assert {n: o["value"] for n, o in ours["verdict"].items()} == {
            n: o["value"] for n, o in theirs["verdict"].items()
        }
    logs = [path for path in nodes.folder.rglob("worker-*") if path.is_file()]
    assert logs, "there is something to search"
    assert leaks(nodes.folder) + leaks(tmp_path / "out", ended.stdout, ended.stderr) == []


def test_a_run_that_was_stopped_on_a_cluster_goes_on_elsewhere_without_paying_twice(
    tmp_path: Path, nodes: Nodes
) -> None:
    with ProviderServer(steady_answer, latency=0.1) as server:
        command = write_long_run(tmp_path, server.url, "out", 12)
        run = started([*command, "--in-flight", "4", *on(nodes)], tmp_path)
        wait_for(15, server, run, tmp_path)
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=60)
        paid = len(server.calls)
        record = kept(tmp_path / "out" / "record.sqlite")
        finished = venire(*command, "--json", cwd=tmp_path)

    assert run.returncode == 130
    assert "the calls that were already sent are being finished" in (tmp_path / "told").read_text()
    assert record == set(asked(server)[:paid]), "what was in flight is finished and kept"
    assert len(verdicts(finished.stdout)) == 12
    assert paid < len(server.calls) == len(set(questions(server)))


def test_what_a_node_does_not_have_is_two_lines_before_any_call(
    tmp_path: Path, nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONLY_HERE", KEY)
    with ProviderServer(steady_answer) as server:
        command = write_long_run(tmp_path, server.url, "out", 4)
        jury = json.loads((tmp_path / "jury.yaml").read_text())
        jury["seats"][0]["api_key_env"] = "ONLY_HERE"
        (tmp_path / "jury.yaml").write_text(json.dumps(jury))
        ended = venire(*command, *on(nodes), cwd=tmp_path)

    assert ended.returncode == 2
    problem, remedy = ended.stderr.splitlines()[-2:]
    assert "the environment variable ONLY_HERE is not set" in problem and "before `ray start`" in remedy
    assert not server.calls
    assert not (tmp_path / "out").exists()


def test_a_node_dies_in_the_middle_and_the_run_ends_as_if_nothing_had_happened(
    tmp_path: Path, nodes: Nodes
) -> None:
    with ProviderServer(steady_answer, latency=0.1) as server:
        command = write_long_run(tmp_path, server.url, "calm", 24)
        calm = venire(*command, "--json", cwd=tmp_path)
        sent = questions(server)
        server.calls.clear()
        server.most_in_flight = 0
        run = started([*command[:-1], "ray", "--json", "--in-flight", "6", *on(nodes)], tmp_path)
        wait_for(len(sent) // 3, server, run, tmp_path)
        nodes.kill_second()
        held = kept(tmp_path / "ray" / "record.sqlite")
        before = len(server.calls)
        document, _ = run.communicate(timeout=120)

    assert run.returncode == 0, (tmp_path / "told").read_text()
    assert "was lost; other processes continue with its cases" in (tmp_path / "told").read_text()
    assert verdicts(document) == verdicts(calm.stdout)
    assert len(held) > len(sent) // 6
    assert held.isdisjoint(asked(server)[before:]), "a committed call was sent again"
    assert set(questions(server)) == set(sent)
    assert len(server.calls) - len(sent) <= 6, "only what was in flight is paid for twice"
    assert server.most_in_flight <= 6


def test_a_cluster_of_its_own_is_made_for_a_run_and_is_gone_with_it(tmp_path: Path) -> None:
    """With the clients that need no network: their files are found where the run was started."""
    command = write_long_run(tmp_path, "", "out", 6)
    (tmp_path / "script.yaml").write_text("seats: {s: [{accurate: 3}]}\n")
    rows = [f"case-{n},r,accurate,{1 + n % 3}" for n in range(6)]
    (tmp_path / "table.csv").write_text("\n".join(["case,juror,attribute,value", *rows]))
    models = {"s": "scripted/script.yaml", "r": "recorded/table.csv#r", "l": "lens/length"}
    seats = [{"name": name, "model": model} for name, model in models.items()]
    jury = {"name": "bench", "protocol": "panel", "seats": seats}
    (tmp_path / "jury.yaml").write_text(json.dumps(jury))
    here = venire(*command, "--json", cwd=tmp_path)
    ray = ("--executor", "ray", "--workers", "2")
    ended = venire(*command[:-1], "ray", "--json", *ray, cwd=tmp_path)

    assert here.returncode == 0, here.stderr
    assert ended.returncode == 0, ended.stderr
    assert verdicts(ended.stdout) == verdicts(here.stdout)
    assert len(verdicts(here.stdout)) == 6
