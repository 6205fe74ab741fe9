"""`venire mcp` by the SDK's own client, over stdio and HTTP: tools, a verdict, a hung one, errors; and what it refuses."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mixed_rubric import RUBRIC
from openai_server import Call, ProviderServer, Refusal, jury_of
from run_files import write_run
from served_jury import TOKEN, Served, asked, served, venire_program
from written_transcripts import abstained, cast, transcript_of

from venire import Jury, Stop
from venire.evals.plugins.judgement import Judgement
from venire.evals.service.judging import CaseRequest, RequestError
from venire.evals.service.mcp import EXPLAIN, JUDGE, ExplainRequest, explained_answer, judged_answer
from venire.orchestration.reading.export import case_json
from venire.orchestration.verdict import verdict

HUNG = "wrist"
"""Where this stands in the text, two of three jurors give no answer."""
CASE = {"id": "one", "output": "Summary.", "source": "Note: fever."}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
SCORES, REFUSALS = {"a": 2, "b": 2, "c": 2}, {"a": Refusal(), "b": Refusal(), "c": 2}


def answer(sent: Call) -> Any:
    return jury_of(REFUSALS if HUNG in sent.prompt else SCORES)(sent)


@asynccontextmanager
async def http_client(server: Served, mode: str) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60) as http,
        Client(streamable_http_client(server.url, http_client=http), mode=mode) as client,
    ):
        yield client


@asynccontextmanager
async def stdio_client(folder: Path, *options: str) -> AsyncIterator[Client]:
    program, *words = [*venire_program("mcp"), *options]
    process = StdioServerParameters(command=program, args=words, cwd=folder, env=dict(os.environ))
    async with Client(process, mode="auto") as client:
        yield client


async def conversation(client: Client) -> dict[str, Any]:
    """What an agent does with the tools, and what it hears."""
    listed = await client.list_tools()
    calls = {
        "judged": ("judge_case", CASE),
        "hung": ("judge_case", {"id": "two", "output": f"The {HUNG}."}),
        "explained": ("explain_verdict", {"case": "one", "attribute": "accurate"}),
        "whole": ("explain_verdict", {"case": "two"}),
        "no_case": ("judge_case", {"output": " ", "extra": 1}),
        "unknown_case": ("explain_verdict", {"case": "nix"}),
        "misspelt": ("explain_verdict", {"case": "one", "attribute": "acurate"}),
        "no_arguments": ("explain_verdict", {}),
    }
    results = {name: await client.call_tool(tool, arguments) for name, (tool, arguments) in calls.items()}
    with pytest.raises(MCPError) as unknown:
        await client.call_tool("nix", {})
    return {"tools": listed.tools, "unknown_tool": unknown.value.error, **results}


def assert_jury_is_heard(heard: dict[str, Any]) -> None:
    judge, explain = heard["tools"]
    assert (judge.name, judge.description, judge.input_schema) == (
        "judge_case",
        JUDGE,
        CaseRequest.model_json_schema(),
    )
    assert (explain.name, explain.description, explain.input_schema) == (
        "explain_verdict",
        EXPLAIN,
        ExplainRequest.model_json_schema(),
    )
    assert explain.annotations.read_only_hint and not judge.annotations.read_only_hint

    assert heard["judged"].structured_content["verdict"]["accurate"]["value"] == 2
    assert "accurate: 2" in heard["judged"].content[0].text and not heard["judged"].is_error
    verdict = heard["hung"].structured_content["verdict"]["accurate"]
    assert (verdict["status"], verdict["value"]) == ("hung", None) and not heard["hung"].is_error
    assert "accurate: hung, no value" in heard["hung"].content[0].text
    ballots = heard["explained"].structured_content["ballots"]
    assert {ballot["juror"] for ballot in ballots} == {"a", "b", "c"}
    assert heard["whole"].structured_content["case"] == "two"

    assert heard["unknown_tool"].code == -32602
    for name, words in (
        ("no_case", "output: "),
        ("unknown_case", "no case with this id has a verdict"),
        ("misspelt", "did you mean 'accurate'"),
        ("no_arguments", "case: Field required"),
    ):
        assert heard[name].is_error and heard[name].structured_content is None
        assert words in heard[name].content[0].text and "Traceback" not in heard[name].content[0].text


def test_an_explanation_of_a_composite_has_the_votes_on_what_its_reversed_parts_are_made_from() -> None:
    """`overall` is half of `accurate` and half of `safety`, which is `risk` turned round; of `risk` one of two votes is missing."""
    jury = Jury.model_validate({"name": "readers", "protocol": "panel", "quorum": 2, "seats": [{"name": name, "model": "scripted/none"} for name in "abc"]})  # fmt: skip
    whole = {"accurate": 4, "tone": "plain", "plan": "not_applicable"}
    ballots = [cast("a", {**whole, "risk": 2}), cast("b", {**whole, "accurate": 1}, abstained=("risk",)), abstained("c", *RUBRIC.names)]  # fmt: skip
    counted = verdict(transcript_of(ballots).with_stop(Stop(reason="complete")), RUBRIC, jury, count="median")
    judged = Judgement(counted, RUBRIC, fresh=True)

    risk = [("a", "risk", 2)]
    accurate = [("a", "accurate", 4), ("b", "accurate", 1)]
    lost = [("b", "risk"), ("c", None)]
    for name, votes, abstentions in (("overall", accurate + risk, lost), ("safety", risk, lost), ("risk", risk, lost), ("accurate", accurate, lost[1:])):  # fmt: skip
        text, document = explained_answer(judged, name)
        assert sorted((vote["juror"], vote["attribute"], vote["value"]) for vote in document["ballots"]) == sorted(votes), name  # fmt: skip
        assert sorted((row["juror"], row["attribute"]) for row in document["abstentions"]) == abstentions
        assert text.startswith(f"{name}: ") and text.count(" gave ") >= len(votes)
        assert text.count(" abstained: ") == len(abstentions)
    assert len(explained_answer(judged, None).document["ballots"]) == 7
    with pytest.raises(RequestError, match="no attribute 'safty' was asked"):
        explained_answer(judged, "safty")
    lines = judged_answer(case_json(counted)).text.splitlines()
    assert lines[1] == "accurate: 2.5 by median; a gave 4; b gave 1"
    assert (
        lines[2].startswith("risk: hung, no value (too few jurors voted")
        and lines[4] == "plan: not applicable, no value"
    )


def test_over_stdio(tmp_path: Path) -> None:
    async def talk() -> dict[str, Any]:
        async with stdio_client(tmp_path) as client:
            return await conversation(client)

    with ProviderServer(answer) as provider:
        write_run(tmp_path, provider.url, protocol="panel", count="median", quorum=2)
        heard = asyncio.run(talk())
        calls = len(provider.calls)
        again = asyncio.run(talk())

    assert_jury_is_heard(heard)
    assert again["judged"].structured_content["verdict"] == heard["judged"].structured_content["verdict"]
    assert len(provider.calls) == calls, "what the record holds is not paid for again"


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("served")
    with served(folder, answer, "--http", "--max-body", 4096, command="mcp", quorum=2) as running:
        yield running


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_over_http(mode: str, serving: Any) -> None:
    server, _ = serving

    async def talk() -> dict[str, Any]:
        async with http_client(server, mode) as client:
            return await conversation(client)

    assert_jury_is_heard(asyncio.run(talk()))


def test_http_has_the_guards_of_serve(serving: Any) -> None:
    server, provider = serving
    before, json_type = len(provider.calls), {"Content-Type": "application/json"}
    accept = json_type | {"Accept": "application/json, text/event-stream"}
    refusals = [
        asked(server, PING, path="", token=None),
        asked(server, PING, path="", token="another"),
        asked(server, PING, path="", headers=json_type | {"Host": "evil.example"}),
        *(
            asked(server, PING, path="", headers=json_type | {"Origin": origin})
            for origin in ("https://evil.example", "null", "http://[::1")
        ),
    ]

    assert [status for ((status, _),) in refusals] == [401, 401, 421, 403, 403, 403]
    assert all(set(problem) == {"problem", "remedy"} for ((_, problem),) in refusals)
    origin = server.url.removesuffix("/mcp")
    ((status, _),) = asked(server, PING, path="", headers=accept | {"Origin": origin})
    assert status == 200
    with pytest.raises(Exception, match=r"413|text/plain"):
        asked(server, b" " * 5000 + json.dumps(PING).encode(), path="", headers=accept)
    assert len(provider.calls) == before


def test_a_spent_budget_is_told_to_the_model_that_asked(tmp_path: Path) -> None:
    async def talk() -> Any:
        async with stdio_client(tmp_path, "--max-tokens", "1") as client:
            await client.call_tool("judge_case", CASE)
            return await client.call_tool("judge_case", {"output": "Another."})

    with ProviderServer(jury_of(SCORES)) as provider:
        write_run(tmp_path, provider.url, protocol="panel", count="median")
        spent = asyncio.run(talk())
    assert spent.is_error and "max_tokens was reached: raise the limit" in spent.content[0].text


def test_stdout_has_nothing_but_messages(tmp_path: Path) -> None:
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    }
    judge = {"jsonrpc": "2.0", "id": 2, "method": "tools/call"}
    judge["params"] = {"name": "judge_case", "arguments": CASE}
    with ProviderServer(answer) as provider:
        write_run(tmp_path, provider.url, protocol="panel", count="median")
        process = subprocess.Popen(
            venire_program("mcp"),
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdin and process.stdout
        lines = []
        for message, replies in ((hello, 1), (judge, 1), (b"no json", 0)):
            words = "no json" if isinstance(message, bytes) else json.dumps(message)
            process.stdin.write(words + "\n")
            process.stdin.flush()
            lines += [process.stdout.readline() for _ in range(replies)]
        rest, _ = process.communicate(timeout=60)

    assert process.returncode == 0
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in [*lines, *rest.splitlines()])
    assert json.loads(lines[1])["result"]["structuredContent"]["verdict"]["accurate"]["value"] == 2


def test_a_signal_ends_it_in_order(tmp_path: Path) -> None:
    with served(tmp_path, answer, "--http", command="mcp") as (server, _):
        said = server.stop(signal.SIGTERM)
    assert server.process.returncode == 0 and "Traceback" not in said and TOKEN not in server.told + said


def test_without_the_extra_there_are_two_lines(tmp_path: Path) -> None:
    program = (
        "import importlib.util as u, sys\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name, *more: None if name == 'mcp' else find(name, *more)\n"
        "from venire.cli import main\nmain()"
    )
    jury = ["--rubric", "clinical-note", "--jury", "lens-jury", "-o", "out"]
    ended = subprocess.run(
        [sys.executable, "-c", program, "mcp", *jury],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 2 and not ended.stdout
    assert len(ended.stderr.strip().splitlines()) == 2 and "pip install 'venire[mcp]'" in ended.stderr
    assert not (tmp_path / "out").exists()
