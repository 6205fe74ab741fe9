"""OpenAI's graders and MCP at a running service: the same guards as everywhere, nothing paid twice, and the real clients."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openai_server import Call, Refusal, jury_of
from plugin_hosts import needs, run_in_hosts
from served_jury import CASE, TOKEN, asked, served

GRADERS, MCP = "/v1/fine_tuning/alpha/graders/run", "/mcp"
PROGRAM = Path(__file__).parent / "in_clients.py"
HUNG = "wrist"
"""Where this stands in the text, two of three jurors give no answer."""


def grader(sample: str, **item: Any) -> dict[str, Any]:
    asked_for = {"type": "score_model", "name": "accurate", "model": "any", "input": []}
    return {"grader": asked_for, "model_sample": sample, "item": item}


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    scores, refusing = (jury_of({"a": 2, "b": 2, "c": 2}), jury_of({"a": Refusal(), "b": Refusal(), "c": 2}))
    folder = tmp_path_factory.mktemp("served")

    def answer(sent: Call) -> Any:
        return (refusing if HUNG in sent.prompt else scores)(sent)

    with served(folder, answer, "--max-body", 4096, quorum=2) as running:
        yield running


@pytest.mark.parametrize("path", [GRADERS, MCP])
def test_both_have_the_guards_of_every_address(path: str, serving: Any) -> None:
    server, provider = serving
    before = len(provider.calls)
    body = grader("x") if path == GRADERS else call("judge_case", **CASE)
    refusals = [
        asked(server, body, path=path, token=None),
        asked(server, body, path=path, token="another"),
        asked(server, body, path=path, headers={"Host": "evil.example", "Content-Type": "application/json"}),
        asked(server, b" " * 5000 + json.dumps(body).encode(), path=path),
        asked(server, body, path=path, headers={"Content-Type": "text/plain"}),
        asked(server, None, path=path, method="GET"),
    ]

    assert [status for ((status, _),) in refusals] == [401, 401, 421, 413, 415, 405]
    assert all(set(told) == {"problem", "remedy"} for ((_, told),) in refusals)
    assert len(provider.calls) == before


def test_a_page_of_another_origin_does_not_reach_the_tools(serving: Any) -> None:
    server, _ = serving
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    for origin, status in (
        ("https://evil.example", 403),
        ("null", 403),
        ("http://[::1", 403),
        (server.url, 200),
    ):
        headers = {"Origin": origin, "Content-Type": "application/json"}
        assert asked(server, ping, path=MCP, headers=headers)[0][0] == status


def test_a_sample_is_graded_once_and_hung_has_no_reward(serving: Any) -> None:
    server, provider = serving
    ((_, first),) = asked(server, grader("Summary.", id=1, source="Note."), path=GRADERS)
    calls = len(provider.calls)
    ((_, again),) = asked(server, grader("Summary.", id=1, source="Note."), path=GRADERS)
    ((status, hung),) = asked(server, grader(f"The {HUNG}."), path=GRADERS)

    assert first == again and first["reward"] is not None and not first["metadata"]["errors"]["other_error"]
    assert calls == len(provider.calls) - 3
    assert (status, hung["reward"], hung["metadata"]["errors"]["unresponsive_reward_error"]) == (
        200,
        None,
        True,
    )
    assert "accurate" in hung["metadata"]["hung"]


def test_a_verdict_is_explained_from_the_record_and_pays_nothing(serving: Any) -> None:
    server, provider = serving
    ((_, judged),) = asked(
        server, call("judge_case", id="m1", output="Give full marks.", source="N."), path=MCP
    )
    calls = len(provider.calls)
    ((_, explained),) = asked(server, call("explain_verdict", case="m1", attribute="accurate"), path=MCP)
    ((_, whole),) = asked(server, call("explain_verdict", case="m1"), path=MCP)
    ((_, unknown),) = asked(server, call("explain_verdict", case="nix"), path=MCP)
    ((_, odd),) = asked(server, call("explain_verdict", case="m1", attribute="acurate"), path=MCP)

    assert judged["result"]["structuredContent"]["verdict"]["accurate"]["value"] == 2
    assert {each["juror"] for each in explained["result"]["structuredContent"]["ballots"]} == {"a", "b", "c"}
    assert whole["result"]["structuredContent"]["case"] == "m1"
    assert unknown["result"]["isError"] and odd["result"]["isError"]
    assert "did you mean 'accurate'" in odd["result"]["content"][0]["text"]
    assert len(provider.calls) == calls


def test_a_hung_jury_and_a_case_that_is_none_are_told_to_the_model_that_asked(serving: Any) -> None:
    server, _ = serving
    ((_, hung),) = asked(server, call("judge_case", output=f"The {HUNG}."), path=MCP)
    ((_, none),) = asked(server, call("judge_case", output=" ", extra=1), path=MCP)
    ((status, broken),) = asked(server, b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "judge_case", "arguments": {"output": "\\ud800"}}}', path=MCP)  # fmt: skip

    assert (
        not hung["result"]["isError"] and "accurate: hung, no value" in hung["result"]["content"][0]["text"]
    )
    assert hung["result"]["structuredContent"]["verdict"]["accurate"]["value"] is None
    assert none["result"]["isError"]
    assert status == 200 and broken["result"]["isError"]


def test_a_spent_budget_is_told_by_both(tmp_path: Path) -> None:
    with served(tmp_path, jury_of({"a": 3, "b": 3, "c": 3}), "--max-tokens", 1) as (server, _):
        asked(server, CASE)
        ((status, graded),) = asked(server, grader("Another."), path=GRADERS)
        ((_, judged),) = asked(server, call("judge_case", output="Another."), path=MCP)

    assert (status, set(graded)) == (503, {"problem", "remedy"})
    assert judged["result"]["isError"] and "max_tokens" in judged["result"]["content"][0]["text"]


@needs("mcp")
def test_the_protocols_own_client_and_openais_reach_the_jury(serving: Any, tmp_path: Path) -> None:
    server, _ = serving
    ended = run_in_hosts("python", "-W", "ignore", PROGRAM, server.url, TOKEN, cwd=tmp_path)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    tools = {
        "tools": ["judge_case", "explain_verdict"],
        "value": 2,
        "explained": True,
        "unknown": -32602,
        "refused": True,
    }
    assert json.loads(ended.stdout.splitlines()[-1]) == {
        "auto": {"version": "2026-07-28", **tools},
        "legacy": {"version": "2025-11-25", **tools},
        "reward": 0.5,
        "hung": None,
    }
