"""`magentic` over real sockets: Agent Framework's own workflow, our jurors, our record and our limits."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from command_line import venire
from magentic_scripts import ENDLESS, UNUSABLE, boss, deliberate_magentic, in_turn, ledger, speakers
from openai_server import Call, ProviderServer, jury_of
from run_files import write_run

from venire import Case, Limits, Rubric

pytest.importorskip("agent_framework", reason="the magentic protocol needs venire[agent-framework]")

from agent_framework import AgentResponse, BaseAgent, Message
from agent_framework.exceptions import WorkflowConvergenceException
from agent_framework_orchestrations import MagenticBuilder

ORCHESTRATORS = {
    **UNUSABLE,
    **ENDLESS,
    "no final answer": lambda: boss(in_turn("a", "b", "c", rounds=1), final="A four.", repair="A four."),
}


@pytest.mark.parametrize(
    ("limits", "stalled", "unsatisfied"),
    [
        ({"max_turns": 5, "max_rounds": 9, "max_stalls": 9}, ("max_turns", 5, 5), ("max_turns", 5, 5)),
        ({"max_rounds": 2, "max_stalls": 9}, ("max_rounds", 2, 2), ("max_rounds", 2, 6)),
        ({"max_rounds": 4, "max_stalls": 2, "max_replans": 0}, ("max_stalls", 2, 1), ("max_rounds", 4, 12)),
        ({"max_rounds": 4, "max_stalls": 1, "max_replans": 2}, ("max_replans", 2, 3), ("max_rounds", 4, 12)),
    ],
    ids=["turns", "rounds", "stalls", "replans"],
)
def test_ten_bad_orchestrators_stop_at_exact_limits_with_every_call_counted(
    tmp_path: Path,
    limits: dict[str, int],
    stalled: tuple[str, int, int],
    unsatisfied: tuple[str, int, int],
) -> None:
    """Ten cases at the same time, each with an orchestrator of its own. Of those that only a limit stops: the limit, its
    value, and the turns of jurors."""
    presides = {f"SUMMARY-{name}.": make() for name, make in ORCHESTRATORS.items()}
    calls: dict[str, list[Call]] = defaultdict(list)

    def answer(call: Call) -> Any:
        match = re.search(r"SUMMARY-[\w ]+\.", call.prompt)
        assert match is not None
        calls[match[0]].append(call)
        return jury_of({"a": 3, "b": 1, "c": 2, "boss": presides[match[0]]})(call)

    with ProviderServer(answer) as server:
        command = write_run(tmp_path, server.url, protocol="magentic", limits=limits)
        cases = [{"id": name, "source": "Note.", "output": f"SUMMARY-{name}."} for name in ORCHESTRATORS]
        (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
        ended = venire(*command, "--json", cwd=tmp_path)
    assert "Traceback" not in ended.stderr
    documents = {document["case"]: document for document in json.loads(ended.stdout)["cases"]}
    assert ended.returncode == 4, "one orchestrator could not be reached"
    assert len(documents) == 10
    for name, document in documents.items():
        stop, turns = document["stop"], sum(call.model != "boss" for call in calls[f"SUMMARY-{name}."])
        if name in UNUSABLE:
            assert (stop["reason"], turns) == ("orchestrator", 0), name
        elif name in ENDLESS:
            expected = stalled if name == "always stalled" else unsatisfied
            assert (stop["limit"], stop["value"], turns) == expected, name
        else:
            assert (stop["reason"], stop["detail"], turns) == (
                "complete",
                "the orchestrator's final answer could not be read",
                3,
            )
        heard = [entry["juror"] for entry in (*document["ballots"], *document["abstentions"])]
        assert set(heard) == {"a", "b", "c"}, name
        answered = calls[f"SUMMARY-{name}."] if name != "down" else []
        assert document["calls"] == len(answered), name
        if name == "refuses":
            assert document["estimated_calls"] == 1, "the server says that a refusal has no tokens"
        else:
            assert document["tokens"]["prompt"] == sum(len(call.prompt) // 4 for call in answered), name


def test_votes_survive_a_re_plan_and_are_shown_when_it_is_made(rubric: Rubric, case: Case) -> None:
    ledgers = [ledger("a"), ledger("b"), ledger("a", progress=False), ledger("a"), ledger(satisfied=True)]
    answers = {"a": [5, 4], "b": 2, "boss": boss(lambda number: ledgers[min(number, 4)])}
    limits = Limits(max_rounds=9, max_stalls=1, max_replans=1)
    with ProviderServer(jury_of(answers)) as server:
        verdict = deliberate_magentic(case, rubric, server.url, "a", "b", protocol="magentic", limits=limits)

    assert speakers(verdict) == [
        "facts", "plan", "ledger", "a", "ledger", "b", "ledger",
        "facts", "replan", "ledger", "a", "ledger", "final", "orchestrator",
    ]  # fmt: skip
    assert [cast.ballot.votes[0].value for cast in verdict.transcript.ballots] == [5, 2, 4]
    first, other, revised = verdict.transcript.ballots
    presided = [call.prompt for call in server.calls if call.model == "boss"]
    for replanning in presided[5:7]:
        assert "a gave 5" in replanning
        assert "b gave 2" in replanning
    assert "b gave 2" not in presided[7], "the new conversation begins with the new plan"
    assert "b gave 2" in presided[-1], "a vote from before the new plan still stands when it is decided"
    assert "a gave 5" not in presided[-1], "an overtaken one does not"
    assert "accurate: 5." in [call for call in server.calls if call.model == "a"][1].prompt
    entries = verdict.transcript.entries
    assert entries[7].saw == (first.id, other.id)
    assert entries[8].saw == (first.id, other.id, entries[7].id)
    assert first.ballot.saw == (entries[2].id,), "a juror hears what it is asked, and neither facts nor plan"
    assert other.ballot.saw == (first.id, entries[4].id)
    assert revised.ballot.saw == (entries[9].id,)


def test_more_turns_than_the_workflow_has_supersteps(rubric: Rubric, case: Case) -> None:
    with pytest.raises(WorkflowConvergenceException):
        stock(in_turn("a", "b", rounds=30))

    limits = Limits(max_turns=60, max_rounds=None)
    with ProviderServer(jury_of({"a": 5, "b": 2, "boss": boss(in_turn("a", "b"))})) as server:
        verdict = deliberate_magentic(case, rubric, server.url, "a", "b", protocol="magentic", limits=limits)
    assert sum(call.model != "boss" for call in server.calls) == 60
    assert (verdict.stop.limit, verdict["accurate"].value) == ("max_turns", 4)


class Scripted(BaseAgent):
    """A manager's agent that gives the ledgers of a script, and words for the rest; or a juror, who gives a vote."""

    def __init__(self, name: str, ledgers: Callable[[int], Any] | None = None) -> None:
        super().__init__(name=name, description="an agent")
        self.heard: list[str] = []
        self._ledgers = ledgers
        self._asked = iter(range(10_000))

    async def run(self, messages: Sequence[Message], **_: Any) -> AgentResponse:
        self.heard.append("\n".join(message.text for message in messages))
        text = f"VOTE of {self.name}"
        if self._ledgers is not None:
            asked = "pure JSON" in messages[-1].text
            text = json.dumps(self._ledgers(next(self._asked))) if asked else "Words."
        return AgentResponse(messages=[Message("assistant", [text], author_name=self.name)])


def stock(ledgers: Callable[[int], Any], **limits: int) -> tuple[str, int, list[str]]:
    """Agent Framework's workflow as it comes: its output, the turns of two jurors, what its manager was asked."""
    manager, jurors = Scripted("boss", ledgers), [Scripted("a"), Scripted("b")]
    workflow = MagenticBuilder(participants=jurors, manager_agent=manager, **limits).build()
    (output,) = asyncio.run(workflow.run("Judge it.")).get_outputs()
    return output.text, sum(len(juror.heard) for juror in jurors), manager.heard


def test_what_agent_framework_does_by_itself() -> None:
    """Each fault in the docs' table, seen in the workflow as it comes."""
    assert stock(in_turn("a", "b"), max_round_count=3)[:2] == (
        "Workflow terminated due to reaching maximum round count.",
        3,
    )
    assert stock(lambda _: ledger(progress=False), max_stall_count=1, max_reset_count=1)[:2] == (
        "Workflow terminated due to reaching maximum reset count.",
        1,
    )
    assert stock(lambda _: ledger("nobody"))[:2] == ("Words.", 0)
    assert stock(lambda _: ledger(satisfied="False"))[:2] == ("Words.", 0)
    with pytest.raises(RecursionError):
        stock(lambda _: ledger(progress=False), max_stall_count=0)
    stuck_once = [ledger("a"), ledger(progress=False), ledger(satisfied=True)]
    _, turns, asked = stock(lambda number: stuck_once[number], max_stall_count=0)
    assert turns == 1
    assert ["VOTE of a" in question for question in asked] == [False, False, False, True, *[False] * 4]


def test_what_agent_framework_logs_of_a_case_is_not_logged(
    rubric: Rubric, case: Case, caplog: pytest.LogCaptureFixture
) -> None:
    answers = {"a": 4, "b": 4, "boss": boss(in_turn("a", "b", rounds=1))}
    with caplog.at_level(logging.DEBUG), ProviderServer(jury_of(answers)) as server:
        verdict = deliberate_magentic(case, rubric, server.url, "a", "b", protocol="magentic")

    assert verdict.stop.reason == "consensus"
    assert not [record for record in caplog.records if record.name.startswith("agent_framework")]


def test_without_agent_framework_the_protocol_is_refused_in_two_lines(tmp_path: Path) -> None:
    command = [str(part) for part in write_run(tmp_path, "http://127.0.0.1:9/v1", protocol="magentic")]
    code = f"import sys; sys.modules['agent_framework'] = None; from venire.cli import main; sys.argv[1:] = {command}; main()"
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )

    assert ended.returncode == 2, ended.stderr
    assert ended.stderr.splitlines() == [
        "the magentic protocol needs Microsoft Agent Framework (agent_framework is not installed)",
        "  -> pip install 'venire[agent-framework]'",
    ]
