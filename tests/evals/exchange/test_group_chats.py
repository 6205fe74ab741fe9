"""Deliberations as documents: out of a run and back, what the validator refuses, and the chats that AutoGen and Agent Framework really save."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import pickle
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner
from inspector_server import InspectorServer
from planted_run import planted_run

from venire.cli import app
from venire.commands.file_schemas import file_schema
from venire.evals.exchange.group_chats import _seats
from venire.evals.exchange.import_format import import_format
from venire.rubrics.errors import InvalidFile, VenireError


def invoke(*arguments: object) -> str:
    ended = CliRunner().invoke(app, [*map(str, arguments)])
    if ended.exception is not None:
        raise ended.exception
    return ended.stdout


def test_a_run_goes_out_and_comes_back_with_every_verdict_and_every_word(tmp_path: Path) -> None:
    run = planted_run(tmp_path / "run")
    invoke("export", run, "--to", "transcript", "-o", tmp_path / "t.jsonl")

    invoke("import", "transcript", tmp_path / "t.jsonl", "-o", tmp_path / "again")

    lines = (tmp_path / "t.jsonl").read_text().splitlines()
    for line in lines:
        jsonschema.validate(json.loads(line), file_schema("transcript"))
    assert invoke("export", tmp_path / "again", "--to", "transcript").splitlines() == lines
    before, after = (
        json.loads(invoke("show", each, "--json"))["cases"] for each in (run, tmp_path / "again")
    )
    assert before == after
    with pytest.raises(VenireError, match="there is already a run here"):
        invoke("import", "transcript", tmp_path / "t.jsonl", "-o", tmp_path / "again")


SAID = {"kind": "said", "id": "1/ana", "step": 1, "round": 1, "who": "ana", "about": "claim", "text": "No."}
VOTE = {"attribute": "conclusion", "value": 1, "rationale": "r", "evidence": []}
CAST = {"kind": "ballot", "id": "2/ana", "round": 1, "purpose": "vote", "ballot": {"juror": "ana", "round": 1, "votes": [VOTE], "asked": ["conclusion"], "saw": ["1/ana"]}}  # fmt: skip


def document(*entries: dict[str, Any], **changes: Any) -> dict[str, Any]:
    transcript = {
        "case": "c",
        "arm": "ours",
        "protocol": "debate",
        "seats": ["ana"],
        "entries": list(entries),
    }
    case = {"id": "c", "output": "x"}
    return {"format": "venire-transcript", "version": 1, "case": case, "transcript": transcript} | changes


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({}, "not a transcript in the format venire-transcript"),
        (document(version=2), "version 2, but this venire reads version 1"),
        (document(case={"id": "c"}), "output: Field required"),
        (document(case={"id": "d", "output": "x"}), "names the case 'c', but the case beside it has the id 'd'"),
        (document(notes="x"), "notes: Extra inputs are not permitted"),
        (document({**SAID, "kind": "shout"}), "transcript.entries.0"),
        (document(SAID, SAID), "two entries have the id '1/ana'"),
        (document({**SAID, "id": ""}), "an entry has no id"),
        (document({**SAID, "saw": ["2/ben"]}), "entry '1/ana' saw '2/ben'"),
        (document(SAID, {**CAST, "ballot": {**CAST["ballot"], "votes": [{**VOTE, "value": 7}]}}), "gives conclusion the value 7, which is not on its scale"),
        (document(SAID, {**CAST, "ballot": {**CAST["ballot"], "votes": [{**VOTE, "attribute": "tone"}]}}), "votes on 'tone'"),
    ],
)  # fmt: skip
def test_what_is_no_transcript_is_refused_with_its_line_and_a_remedy(
    tmp_path: Path, wrong: dict[str, Any], problem: str
) -> None:
    (tmp_path / "t.jsonl").write_text(json.dumps(document(SAID, CAST)) + "\n" + json.dumps(wrong) + "\n")

    with pytest.raises(VenireError) as error:
        import_format("transcript")(tmp_path / "t.jsonl")

    assert "t.jsonl:2: " in error.value.problem and problem in error.value.problem
    assert error.value.remedy


def shown(run: Path, case: str, arm: str) -> str:
    with InspectorServer(run) as server:
        return invoke("show", run, case) + server.ask(f"case?id={case}&in_arm={arm}").text


def test_an_autogen_team_s_state_is_shown_as_a_deliberation(tmp_path: Path) -> None:
    from autogen_agentchat.agents import AssistantAgent
    from autogen_agentchat.conditions import MaxMessageTermination
    from autogen_agentchat.teams import RoundRobinGroupChat
    from autogen_ext.models.replay import ReplayChatCompletionClient

    async def saved() -> Any:
        words = ["Four: the dose is right.", "Two: <b>no return advice</b>.", "Three, then."]
        client = ReplayChatCompletionClient(words)
        agents: Any = [AssistantAgent("ana", client), AssistantAgent("ben", client)]
        team = RoundRobinGroupChat(agents, termination_condition=MaxMessageTermination(4))
        await team.run(task="Judge this note: take 5 mg.")
        return await team.save_state()

    (tmp_path / "team.json").write_text(json.dumps(asyncio.run(saved())))
    invoke("import", "autogen", tmp_path / "team.json", "-o", tmp_path / "run")

    [case] = json.loads(invoke("show", tmp_path / "run", "--json"))["cases"]
    assert (case["case"], case["protocol"], case["ballots"]) == ("team", "autogen", [])
    assert (
        case["verdict"]["conclusion"]["status"] == "hung" and case["verdict"]["conclusion"]["value"] is None
    )
    page = shown(tmp_path / "run", "team", "autogen")
    for words in ("Four: the dose is right.", "no return advice", "Three, then.", "take 5 mg"):
        assert words in page
    assert "<b>no return" not in page.partition("<html")[2]
    [found] = import_format("autogen")(tmp_path / "team.json").deliberations
    spoken = [(entry.speaker, entry.round) for entry in found.transcript.entries]
    assert spoken == [("ana", 1), ("ben", 1), ("ana", 2)]


def test_agent_framework_s_checkpoints_are_shown_and_run_nothing(tmp_path: Path) -> None:
    pytest.importorskip("agent_framework_orchestrations", reason="needs venire[agent-framework]")
    from agent_framework import (
        Agent,
        BaseChatClient,
        ChatResponse,
        ChatResponseUpdate,
        Content,
        FileCheckpointStorage,
        Message,
    )
    from agent_framework_orchestrations import GroupChatBuilder

    class Fixed(BaseChatClient):
        def __init__(self, words: str) -> None:
            super().__init__()
            self.words = words

        def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_: Any) -> Any:
            async def whole() -> ChatResponse:
                return ChatResponse(messages=[Message("assistant", [self.words])])

            async def parts() -> Any:
                yield ChatResponseUpdate(role="assistant", contents=[Content.from_text(self.words)])

            return self._build_response_stream(parts()) if stream else whole()

    async def chat() -> None:
        agents = [Agent(client=Fixed(f"I say {name}."), name=name) for name in ("ana", "護士")]
        builder = GroupChatBuilder(
            participants=agents,
            selection_func=lambda state: agents[state.current_round % 2].name or "",
            max_rounds=3,
            checkpoint_storage=FileCheckpointStorage(str(tmp_path / "saved")),
        )
        await builder.build().run("Judge this note: take 5 mg.")

    asyncio.run(chat())
    [found] = import_format("agent-framework")(tmp_path / "saved").deliberations
    assert found.case["output"] == "Judge this note: take 5 mg."
    spoken = [(entry.speaker, entry.text) for entry in found.transcript.entries]  # type: ignore[union-attr]
    assert spoken[:3] == [("ana", "I say ana."), ("agent", "I say 護士."), ("ana", "I say ana.")]
    invoke("import", "agent-framework", tmp_path / "saved", "-o", tmp_path / "run")
    page = shown(tmp_path / "run", found.transcript.case, "agent-framework")
    assert "I say 護士." in page and "take 5 mg" in page

    class Harm:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "harmed"),)

    harm = {"__pickled__": base64.b64encode(pickle.dumps(Harm())).decode(), "__type__": "x"}
    (tmp_path / "bad.json").write_text(json.dumps({"conversation": [harm]}))
    with pytest.raises(InvalidFile, match="mkdir is no part of a message"):
        import_format("agent-framework")(tmp_path / "bad.json")
    assert not (tmp_path / "harmed").exists()


@pytest.mark.parametrize(
    ("kind", "state"),
    [
        ("autogen", {"agent_states": {"m": {"message_thread": [
            {"source": "clinician", "content": ["Look:", {"data": "iVBOR"}]}, {"content": "Fine."}, {"source": "ben", "content": {"score": 4}},
        ]}}}),
        ("agent-framework", {"messages": [
            {"role": "user", "contents": [{"type": "text", "text": "Look:"}, {"type": "data", "uri": "data:image/png;base64,AA"}]},
            {"role": "assistant", "contents": ["Fine."]}, {"role": "assistant", "contents": None, "text": '{"score": 4}'},
        ]}),
    ],
)  # fmt: skip
def test_a_chat_with_pictures_objects_and_nameless_speakers_is_read(
    tmp_path: Path, kind: str, state: Any
) -> None:
    (tmp_path / "x.json").write_text(json.dumps(state))

    [found] = import_format(kind)(tmp_path / "x.json").deliberations

    assert found.case["output"].startswith("Look:") and "not shown" in found.case["output"]
    assert [entry.text for entry in found.transcript.entries] == ["Fine.", '{"score": 4}']  # type: ignore[union-attr]


def test_of_the_threads_of_one_checkpoint_the_longest_is_the_chat(tmp_path: Path) -> None:
    """Each agent keeps what it was sent, from the moment at which it joined."""
    said = [{"role": "user", "contents": ["Judge this."]}] + [{"role": "assistant", "author_name": name, "contents": ["Two."]} for name in ("ana", "ben")]  # fmt: skip
    threads = {str(number): {"messages": said[:number]} for number in (1, 3, 2)}
    (tmp_path / "x.json").write_text(json.dumps({"messages": [], "state": threads}))

    [found] = import_format("agent-framework")(tmp_path / "x.json").deliberations
    assert [entry.speaker for entry in found.transcript.entries] == ["ana", "ben"]


def test_two_speakers_never_share_a_seat_though_their_plain_names_are_one() -> None:
    assert _seats(["Ann-2", "Ann", "Ann!", "Ann", "Dr. Müller", "7", "王"]) == {
        "Ann-2": "Ann-2", "Ann": "Ann", "Ann!": "Ann-3", "Dr. Müller": "Dr-M-ller", "7": "agent-7", "王": "agent",
    }  # fmt: skip


def test_another_agents_message_is_an_agents_and_no_task_though_it_is_passed_on_as_the_users(tmp_path: Path) -> None:  # fmt: skip
    """Agent Framework hands each agent the others' messages with the role of the user, under their names."""
    said = [("user", "moderator", "Begin."), ("user", None, "Judge this note."), ("user", "ana", "Two."), ("assistant", "ben", "Four."), ("user", "ana", "Three."), ("user", None, "Thank you.")]  # fmt: skip
    messages = [{"role": role, "author_name": name, "contents": [text]} for role, name, text in said]
    (tmp_path / "x.json").write_text(json.dumps({"messages": messages}))

    [found] = import_format("agent-framework")(tmp_path / "x.json").deliberations

    assert found.case["output"] == "Judge this note."
    assert found.transcript.seats == ("moderator", "ana", "ben"), "and the user has no seat"
    spoken = [(entry.speaker, entry.round) for entry in found.transcript.entries]
    assert spoken == [("moderator", 1), ("ana", 1), ("ben", 1), ("ana", 2), ("user", 1)]


@pytest.mark.parametrize(
    ("kind", "state"),
    [
        ("autogen", {"type": "TeamState", "agent_states": {}}),
        ("autogen", [1]),
        ("autogen", {"agent_states": {"m": {"message_thread": [{"source": "user", "content": "hi"}]}}}),
        ("agent-framework", {"messages": {}}),
        ("agent-framework", {"conversation": [{"__pickled__": "?"}]}),
    ],
)
def test_a_file_without_a_chat_is_two_lines(tmp_path: Path, kind: str, state: Any) -> None:
    (tmp_path / "x.json").write_text(json.dumps(state))

    with pytest.raises(InvalidFile) as error:
        import_format(kind)(tmp_path / "x.json")

    assert "x.json" in error.value.problem and error.value.remedy
