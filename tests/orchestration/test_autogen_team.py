"""AutoGen both ways: any jury as an AutoGen team, any AutoGen agent as a juror; and the page that shows it."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from checkout import SUPPORT
from command_line import venire
from openai_server import ProviderServer, jury_of
from run_files import RUBRIC
from server_juries import jury_at

from venire import Case, Jury, Limits, Rubric, VenireError, deliberate_sync, load_jury

pytest.importorskip("autogen_agentchat", reason="interop with AutoGen needs venire[autogen]")

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import TaskResult
from autogen_agentchat.conditions import MaxMessageTermination
from autogen_agentchat.messages import StructuredMessage, TextMessage
from autogen_agentchat.teams import MagenticOneGroupChat, RoundRobinGroupChat
from autogen_model import ScriptedModel, ledger_script
from doc_blocks import blocks
from magentic_scripts import boss, in_turn

from venire.orchestration.autogen_team import VerdictMessage, case_of, jury_team

AGENTS = """
import json
from autogen_agentchat.agents import AssistantAgent
from autogen_model import ScriptedModel

made = []

def nurse():
    model = ScriptedModel(lambda *_: json.dumps({"accurate": {"rationale": "Seen.", "evidence": [], "score": 4},
                                         "thorough": {"rationale": "Seen.", "evidence": [], "score": 2}}))
    made.append(model)
    return AssistantAgent("nurse", model_client=model, system_message="You are a ward nurse.")

async def late():
    return nurse()

def mumbling():
    return AssistantAgent("nurse", model_client=ScriptedModel(lambda *_: "a solid four"))

def broken():
    raise OSError("no such ward")

agent = AssistantAgent("nurse", model_client=ScriptedModel(lambda *_: "x"))
"""


@pytest.fixture
def wards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module that a user has written, importable."""
    (tmp_path / "wards.py").write_text(AGENTS)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("wards", None)
    import wards  # type: ignore[import-not-found]

    yield wards
    sys.modules.pop("wards")


def with_agent(url: str, name: str, **fields: Any) -> Jury:
    jury = jury_at(url, "a", protocol="panel", **fields)
    agent = jury.seats[0].model_copy(
        update={"name": "nurse", "model": f"autogen/wards:{name}", "base_url": None}
    )
    return jury.model_copy(update={"seats": (*jury.seats, agent)})


@pytest.mark.parametrize("name", ["nurse", "late"])
def test_an_autogen_agent_sits_on_a_jury(rubric: Rubric, case: Case, wards: Any, name: str) -> None:
    with ProviderServer(jury_of({"a": 4})) as server:
        verdict = deliberate_sync(case, rubric, with_agent(server.url, name))

    theirs = next(cast for cast in verdict.transcript.ballots if cast.speaker == "nurse")
    assert [vote.value for vote in theirs.ballot.votes] == [4, 2]
    # Seven tokens cannot be right for a prompt of this length, so they are counted anew.
    assert theirs.spent.prompt > 7 and len(theirs.spent.calls) == 1
    assert case.output in wards.made[0].prompts[0]
    assert "You are a ward nurse." in wards.made[0].prompts[0]


def test_the_agent_is_made_anew_for_every_question(rubric: Rubric, case: Case, wards: Any) -> None:
    other = case.model_copy(update={"id": "c2", "output": "SECOND-CASE"})
    with ProviderServer(jury_of({"a": 4})) as server:
        for one in (case, other):
            deliberate_sync(one, rubric, with_agent(server.url, "nurse"))

    assert len(wards.made) == 2
    assert case.output not in "".join(wards.made[1].prompts)


@pytest.mark.parametrize(("name", "reason"), [("mumbling", "unparsable"), ("broken", "unavailable")])
def test_an_agent_that_fails_abstains(rubric: Rubric, case: Case, wards: Any, name: str, reason: str) -> None:
    with ProviderServer(jury_of({"a": 4})) as server:
        verdict = deliberate_sync(case, rubric, with_agent(server.url, name))

    (abstained,) = verdict.transcript.abstentions
    assert (abstained.speaker, abstained.abstention.reason) == ("nurse", reason)
    assert verdict["accurate"].value == 4


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        ("autogen/wards", "does not say which agent to use"),
        ("autogen/wards:nobody", "was not found"),
        ("autogen/wards:agent", "is not a function"),
        ("autogen/no_such_ward:nurse", "no module named 'no_such_ward'"),
    ],
)
def test_a_wrong_address_is_the_users_mistake(
    rubric: Rubric, case: Case, wards: Any, model: str, problem: str
) -> None:
    jury = Jury.model_validate({"name": "j", "protocol": "panel", "seats": [{"name": "a", "model": model}]})
    with pytest.raises(VenireError, match=problem):
        deliberate_sync(case, rubric, jury)


def test_a_jury_answers_like_an_autogen_team(rubric: Rubric, case: Case) -> None:
    async def streamed(url: str) -> list[Any]:
        team = jury_team(jury_at(url, "a", "b", limits=Limits(max_rounds=2)), rubric)
        task = StructuredMessage[Case](content=case, source="user")
        return [message async for message in team.run_stream(task=task, output_task_messages=False)]

    with ProviderServer(jury_of({"a": 5, "b": 2, "boss": 3})) as server:
        *said, answer, result = asyncio.run(streamed(server.url))

    assert isinstance(result, TaskResult)
    assert [message.source for message in said] == ["a", "b", "orchestrator", "a", "b", "orchestrator"]
    assert "accurate: 5." in said[0].content
    assert isinstance(answer.content, VerdictMessage)
    assert (answer.content.case, answer.content.outcomes["accurate"].value) == ("c1", 3)
    assert answer.content.stop.reason in ("stall", "rounds")


def test_a_jury_remembers_nothing_between_tasks(rubric: Rubric) -> None:
    async def twice(url: str) -> None:
        team = jury_team(jury_at(url, "a", protocol="panel"), rubric)
        await team.run(task="FIRST-TEXT")
        await team.run(task="second text")

    with ProviderServer(jury_of({"a": 4})) as server:
        asyncio.run(twice(server.url))

    assert "FIRST-TEXT" in server.calls[0].prompt
    assert "FIRST-TEXT" not in server.calls[1].prompt


def test_a_jury_sits_in_a_larger_team_and_judges_the_last_message_against_those_before(
    rubric: Rubric,
) -> None:
    async def judged(url: str) -> TaskResult:
        writer = AssistantAgent("writer", ScriptedModel(lambda *_: "SUMMARY of the note"))
        jury = jury_team(jury_at(url, "a", protocol="panel"), rubric)
        team = RoundRobinGroupChat([writer, jury], termination_condition=MaxMessageTermination(4))
        return await team.run(task="NOTE to be summarised")

    with ProviderServer(jury_of({"a": 4})) as server:
        result = asyncio.run(judged(server.url))

    assert isinstance(result.messages[-1].content, VerdictMessage)  # type: ignore[union-attr]
    prompt = server.calls[0].prompt
    assert prompt.index('"source" begins') < prompt.index("NOTE to be") < prompt.index("SUMMARY of")


def test_a_jury_answers_in_text_where_a_team_takes_nothing_else(rubric: Rubric) -> None:
    async def judged(url: str) -> TaskResult:
        jury = jury_team(jury_at(url, "a", protocol="panel"), rubric, as_text=True)
        script = ledger_script(in_turn("bench", rounds=1))
        return await MagenticOneGroupChat([jury], ScriptedModel(script)).run(task="NOTE")

    with ProviderServer(jury_of({"a": 4})) as server:
        result = asyncio.run(judged(server.url))

    spoken = [message for message in result.messages if message.source == "bench"]
    assert json.loads(spoken[-1].content)["outcomes"]["accurate"]["value"] == 4  # type: ignore[union-attr]


def test_a_magentic_jury_is_a_team_too(rubric: Rubric) -> None:
    with ProviderServer(jury_of({"a": 4, "b": 4, "boss": boss(in_turn("a", "b", rounds=1))})) as server:
        team = jury_team(jury_at(server.url, "a", "b", protocol="magentic-one"), rubric)
        result = asyncio.run(team.run(task="TEXT"))

    assert result.messages[-1].content.stop.reason == "consensus"  # type: ignore[union-attr]


def test_nothing_to_judge_is_an_error() -> None:
    with pytest.raises(VenireError, match="no text to judge"):
        case_of([])
    assert (
        case_of([TextMessage(content="x", source="user")]).id
        == case_of([TextMessage(content="x", source="u")]).id
    )


def test_the_page_shows_what_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = [text for kind, text in blocks("docs/autogen.md") if kind == "python"]
    files = [text for kind, text in blocks("docs/autogen.md") if kind == "yaml"]
    namespace: dict[str, Any] = {}
    exec(compile(python[0], "docs/autogen.md", "exec"), namespace)
    outcome = asyncio.run(namespace["judge"]("Monday: fever 38.4.", "Fever of 39.4 on Monday."))
    assert outcome.status in ("reached", "hung")
    for text in files:
        name = text.partition("\n")[0].removeprefix("# ")
        (tmp_path / name).write_text(text)
    assert load_jury(tmp_path / "magentic.yaml").protocol == "magentic-one"
    client = "from autogen_model import ScriptedModel\n\n\ndef client():\n    return ScriptedModel(lambda *_: VOTE)\n"
    vote = json.dumps({"accurate": {"rationale": "Seen.", "evidence": [], "score": 2}})
    (tmp_path / "wards.py").write_text(f"VOTE = {vote!r}\n{client}{python[1]}")
    (tmp_path / "cases.jsonl").write_text('{"id": "1", "source": "Fever 38.4.", "output": "Fever 39.4."}\n')
    (tmp_path / "rubric.yaml").write_text(RUBRIC)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{SUPPORT}")
    ended = venire(
        "run", "cases.jsonl", "--rubric", "rubric.yaml", "--jury", "mixed.yaml", "-o", "out", "--json", cwd=tmp_path
    )  # fmt: skip

    assert ended.returncode == 0, ended.stderr
    ballots = json.loads(ended.stdout)["cases"][0]["ballots"]
    assert {ballot["juror"] for ballot in ballots} == {"nurse", "counts"}
