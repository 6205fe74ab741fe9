"""Agent Framework in both directions, by the examples of its docs page: its agents as jurors, a jury as its agent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from command_line import venire
from doc_blocks import blocks
from openai_server import ProviderServer, jury_of
from run_files import RUBRIC
from server_juries import jury_at

from venire import Rubric

pytest.importorskip("agent_framework", reason="needs venire[agent-framework]")

from agent_framework import Agent, BaseChatClient, ChatResponse, Message

from venire.orchestration.agent_framework_agent import jury_agent
from venire.orchestration.jury_room import VerdictMessage

PYTHON = [text for kind, text in blocks("docs/agent-framework.md") if kind == "python"]
CLIENT = """
import json
from agent_framework import BaseChatClient, ChatResponse, Message, UsageDetails

class Scripted(BaseChatClient):
    async def _inner_get_response(self, *, messages, stream, options, **_):
        assert "You are a midwife." in str(options.get("instructions")) + "".join(m.text for m in messages)
        vote = {"accurate": {"rationale": "Seen.", "evidence": [], "score": 2}}
        return ChatResponse(messages=[Message("assistant", [json.dumps(vote)])],
                            usage_details=UsageDetails(input_token_count=1234, output_token_count=56))

def client():
    return Scripted()

def broken():
    raise OSError("no such ward")
"""


class Writer(BaseChatClient[Any]):
    async def _inner_get_response(self, *, messages: Sequence[Message], **_: Any) -> ChatResponse:
        return ChatResponse(messages=[Message("assistant", ["SUMMARY of the note"])])


def test_the_pages_jury_judges_alone_and_after_a_writer_in_a_workflow() -> None:
    namespace: dict[str, Any] = {}
    exec(compile(PYTHON[0], "docs/agent-framework.md", "exec"), namespace)

    outcome = asyncio.run(namespace["judge_alone"]("Monday: fever 38.4.", "Fever of 39.4 on Monday."))
    assert outcome.status in ("reached", "hung")
    told = asyncio.run(namespace["write_and_judge"](Agent(client=Writer(), name="writer"), "NOTE"))
    assert set(json.loads(told)) == {"case", "stop", "outcomes", "derived"}


def test_a_jury_reads_what_was_said_before_streams_its_ballots_and_forgets(rubric: Rubric) -> None:
    async def streamed(url: str) -> tuple[list[tuple[str | None, str]], Any]:
        agent = jury_agent(jury_at(url, "a", "b", protocol="panel"), rubric)
        stream = agent.run(["NOTE to be summarised", "SUMMARY"], stream=True)
        updates = [(update.author_name, update.text) async for update in stream]
        await agent.run("second text")
        return updates, await stream.get_final_response()

    with ProviderServer(jury_of({"a": 4, "b": 4})) as server:
        updates, response = asyncio.run(streamed(server.url))

    assert [name for name, _ in updates] == ["a", "b", "bench"]
    assert "accurate: 4" in updates[0][1]
    assert isinstance(response.value, VerdictMessage)
    assert response.value.outcomes["accurate"].value == 4
    assert json.loads(response.text)["outcomes"]["accurate"]["value"] == 4
    prompt = server.calls[0].prompt
    assert prompt.index('"source" begins') < prompt.index("NOTE to be") < prompt.index("SUMMARY")
    assert not any("NOTE to be" in call.prompt for call in server.calls[2:])


@pytest.mark.parametrize("function", ["midwife", "broken"])
def test_the_pages_agent_sits_on_a_jury_and_abstains_where_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    (jury,) = (text for _, text in blocks("docs/agent-framework.md") if text.startswith("# delivery.yaml"))
    (tmp_path / "delivery.yaml").write_text(jury.replace("delivery:midwife", f"delivery:{function}"))
    (tmp_path / "delivery.py").write_text(CLIENT + PYTHON[1])
    (tmp_path / "cases.jsonl").write_text('{"id": "1", "source": "Fever 38.4.", "output": "Fever 39.4."}\n')
    (tmp_path / "rubric.yaml").write_text(RUBRIC)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    ended = venire(
        "run", "cases.jsonl", "--rubric", "rubric.yaml", "--jury", "delivery.yaml", "-o", "out", "--json", cwd=tmp_path
    )  # fmt: skip

    (document,) = json.loads(ended.stdout)["cases"]
    values = {ballot["juror"]: ballot for ballot in document["ballots"]}
    assert ("midwife" in values) == (function == "midwife"), ended.stderr
    if function == "midwife":
        assert document["tokens"] == {"prompt": 1234, "completion": 56, "cached": 0}
    else:
        assert document["abstentions"][0]["reason"] == "unavailable"
