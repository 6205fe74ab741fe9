"""Each fault of AutoGen 0.7.5's MagenticOneGroupChat: first AutoGen alone, failing so; then `magentic-one`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from magentic_scripts import DOWN, boss, deliberate_magentic, in_turn, ledger, speakers
from openai_server import Call, Fault, ProviderServer, jury_of

from venire import Case, Limits, Rubric

pytest.importorskip("autogen_agentchat", reason="the faults are AutoGen's: needs venire[autogen]")

from autogen_agentchat.agents import AssistantAgent, BaseChatAgent
from autogen_agentchat.base import Response, TaskResult
from autogen_agentchat.messages import BaseChatMessage, StructuredMessage, TextMessage
from autogen_agentchat.teams import MagenticOneGroupChat
from autogen_core import CancellationToken
from autogen_model import ScriptedModel, ledger_script
from pydantic import BaseModel


class Talker(BaseChatAgent):
    """An agent that counts its turns and remembers what it was sent since it was last reset."""

    def __init__(self, name: str, fails: bool = False) -> None:
        super().__init__(name, "a juror")
        self.turns = 0
        self.memory: list[str] = []
        self._fails = fails

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (TextMessage,)

    async def on_messages(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> Response:
        self.memory += [message.to_model_text() for message in messages]
        if self._fails:
            raise ValueError("the provider is down")
        self.turns += 1
        text = f"MY-VOTE of {self.name}: {self.turns}"
        self.memory.append(text)
        return Response(chat_message=TextMessage(content=text, source=self.name))

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        self.memory.clear()


def stock(
    nth: Callable[[int], Any], agents: Sequence[Any] = (), task: str = "Judge it.", **limits: Any
) -> tuple[TaskResult, ScriptedModel, list[Talker]]:
    """One run of AutoGen's team as it comes."""
    model = ScriptedModel(ledger_script(nth))
    seated = list(agents) or [Talker("a"), Talker("b")]
    result = asyncio.run(MagenticOneGroupChat(seated, model, **limits).run(task=task))
    return result, model, seated


def turns(agents: Sequence[Talker]) -> int:
    return sum(agent.turns for agent in agents)


def test_calls_are_2nr_plus_4_in_both(rubric: Rubric, case: Case) -> None:
    seats = [Talker("a"), Talker("b"), Talker("c")]
    _, model, _ = stock(in_turn("a", "b", "c", rounds=2), seats)
    assert sum(model.asked.values()) + turns(seats) == 2 * 3 * 2 + 4

    with ProviderServer(
        jury_of({**dict.fromkeys("abc", 3), "boss": boss(in_turn(*"abc", rounds=2))})
    ) as server:
        deliberate_magentic(case, rubric, server.url, "a", "b", "c")
    assert len(server.calls) == 2 * 3 * 2 + 4


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_max_turns_allows_one_turn_too_many(rubric: Rubric, case: Case, limit: int) -> None:
    _, _, agents = stock(in_turn("a", "b"), max_turns=limit)
    assert turns(agents) == limit + 1

    with ProviderServer(jury_of({"a": 5, "b": 2, "boss": boss(in_turn("a", "b"))})) as server:
        verdict = deliberate_magentic(
            case, rubric, server.url, "a", "b", limits=Limits(max_turns=limit, max_rounds=None)
        )
    assert sum(call.model != "boss" for call in server.calls) == verdict.transcript.turns == limit
    assert (verdict.stop.reason, verdict.stop.limit, verdict.stop.value) == ("turns", "max_turns", limit)


def test_max_stalls_plans_anew_and_never_stops(rubric: Rubric, case: Case) -> None:
    _, model, _ = stock(lambda _: ledger(progress=False), max_stalls=1, max_turns=30)
    assert model.asked["plan"] > 2 * 30, "a re-plan for every ledger, until max_turns"

    limits = Limits(max_stalls=1, max_replans=2, max_rounds=30)
    with ProviderServer(jury_of({"a": 5, "b": 2, "boss": boss(lambda _: ledger(progress=False))})) as server:
        verdict = deliberate_magentic(case, rubric, server.url, "a", "b", limits=limits)
    assert speakers(verdict).count("replan") == 2
    assert (verdict.stop.reason, verdict.stop.limit, verdict.stop.value) == ("replans", "max_replans", 2)


def test_no_re_plan_means_that_stalls_end_it(rubric: Rubric, case: Case) -> None:
    limits = Limits(max_stalls=2, max_replans=0, max_rounds=30)
    with ProviderServer(jury_of({"a": 5, "b": 2, "boss": boss(lambda _: ledger(loop=True))})) as server:
        verdict = deliberate_magentic(case, rubric, server.url, "a", "b", limits=limits)
    assert "replan" not in speakers(verdict)
    assert (verdict.stop.reason, verdict.stop.limit, verdict.stop.value) == ("stall", "max_stalls", 2)


def test_the_stall_counter_survives_a_re_plan(rubric: Rubric, case: Case) -> None:
    """Stalled at 2, 3 and 5 only: after the re-plan at 3, one stall is one stall again."""

    def stuck(number: int) -> Any:
        return ledger("ab"[number % 2], progress=number not in (2, 3, 5), satisfied=number >= 8)

    _, model, _ = stock(stuck, max_stalls=2)
    assert model.asked["plan"] == 2 + 2 + 2, "the single stall at 5 plans anew once more"

    limits = Limits(max_stalls=2, max_replans=9, max_rounds=9)
    with ProviderServer(jury_of({"a": 5, "b": 2, "boss": boss(stuck)})) as server:
        verdict = deliberate_magentic(case, rubric, server.url, "a", "b", limits=limits)
    assert speakers(verdict).count("replan") == 1
    assert verdict.stop.reason == "complete"


def test_without_max_turns_it_recurses_until_python_gives_up(rubric: Rubric, case: Case) -> None:
    with pytest.raises(RecursionError):
        stock(lambda _: ledger(progress=False), max_turns=None, max_stalls=1)

    limits = Limits(max_turns=None, max_stalls=1, max_replans=40, max_rounds=50)
    with ProviderServer(jury_of({"a": 5, "b": 2, "boss": boss(lambda _: ledger(progress=False))})) as server:
        verdict = deliberate_magentic(case, rubric, server.url, "a", "b", limits=limits)
    assert speakers(verdict).count("replan") == 40
    assert verdict.stop.limit == "max_replans"


def test_with_max_stalls_0_no_juror_ever_speaks(rubric: Rubric, case: Case) -> None:
    _, _, agents = stock(in_turn("a", "b"), max_stalls=0, max_turns=10)
    assert turns(agents) == 0

    with ProviderServer(jury_of({"a": 5, "b": 2, "boss": boss(in_turn("a", "b", rounds=1))})) as server:
        verdict = deliberate_magentic(case, rubric, server.url, "a", "b", limits=Limits(max_stalls=0))
    assert verdict.transcript.turns == 2
    assert verdict.stop.reason == "complete"


def test_a_re_plan_loses_every_vote(rubric: Rubric, case: Case) -> None:
    def replanned(number: int) -> Any:
        return ledger("ab"[number % 2], progress=number != 2, satisfied=number == 3)

    _, model, agents = stock(replanned, max_stalls=1)
    assert turns(agents) == 2
    assert not any("MY-VOTE" in text for agent in agents for text in agent.memory)
    assert "MY-VOTE" not in model.prompts[-1], "the final answer is given without a vote in sight"

    with ProviderServer(jury_of({"a": 5, "b": 2, "boss": boss(replanned)})) as server:
        verdict = deliberate_magentic(
            case, rubric, server.url, "a", "b", limits=Limits(max_stalls=1, max_replans=1)
        )
    assert "replan" in speakers(verdict)
    assert {cast.speaker for cast in verdict.transcript.ballots} == {"a", "b"}
    assert verdict["accurate"].votes == 2
    final = server.calls[-1].prompt
    assert "a gave 5" in final
    assert "b gave 2" in final


def test_a_juror_still_knows_its_own_votes_after_a_re_plan(rubric: Rubric, case: Case) -> None:
    def stuck(number: int) -> Any:
        return ledger("a", progress=number != 1, satisfied=number == 3)

    with ProviderServer(jury_of({"a": [5, 4], "b": 2, "boss": boss(stuck)})) as server:
        verdict = deliberate_magentic(
            case, rubric, server.url, "a", "b", limits=Limits(max_stalls=1, max_replans=1)
        )
    first, second = verdict.transcript.ballots
    assert "accurate: 5." in [call for call in server.calls if call.model == "a"][1].prompt
    assert (first.round, second.round) == (1, 2)
    assert second.ballot.votes[0].moved_by


def test_the_final_answer_is_free_text(rubric: Rubric, case: Case) -> None:
    result, _, _ = stock(in_turn("a", "b", rounds=1))
    final = result.messages[-1]
    assert isinstance(final, TextMessage)
    assert final.content == "Words."

    with ProviderServer(jury_of({"a": 5, "b": 2, "boss": boss(in_turn("a", "b", rounds=1))})) as server:
        verdict = deliberate_magentic(case, rubric, server.url, "a", "b")
    decided = verdict.transcript.entries[-1]
    assert decided.kind == "decision"
    assert [(finding.attribute, finding.value) for finding in decided.findings] == [
        ("accurate", 4),
        ("thorough", 2),
    ]


MISSING = {key: part for key, part in ledger().items() if key != "next_speaker"}
TWO = "".join(f"```json\n{json.dumps(ledger(name))}\n```\n" for name in "ab")


@pytest.mark.parametrize(
    ("bad", "error", "told"),
    [
        (MISSING, KeyError, "next_speaker"),
        (ledger("nobody"), ValueError, "no juror is named 'nobody'; choose one of a, b"),
        (TWO, ValueError, "more than one JSON object fits"),
        ("Let a speak.", ValueError, "no JSON object of the required form"),
    ],
    ids=["missing key", "unknown speaker", "two blocks", "not JSON"],
)
def test_a_ledger_nobody_can_follow(
    rubric: Rubric, case: Case, bad: Any, error: type[Exception], told: str
) -> None:
    with pytest.raises(error):
        stock(lambda _: bad)

    def once(number: int) -> Any:
        return bad if number == 0 else ledger("ab"[(number - 1) % 2], satisfied=number > 2)

    with ProviderServer(jury_of({"a": 5, "b": 2, "boss": boss(once)})) as server:
        verdict = deliberate_magentic(case, rubric, server.url, "a", "b")
    repair = next(call for call in server.calls if "cannot be used" in call.prompt)
    assert told in repair.body["messages"][-1]["content"]
    assert verdict.stop.reason == "complete"
    assert verdict.transcript.turns == 2

    with ProviderServer(jury_of({"a": 5, "b": 2, "boss": boss(lambda _: bad)})) as server:
        verdict = deliberate_magentic(case, rubric, server.url, "a", "b")
    assert len(server.calls) == 2 + 3, "facts, plan and three tries"
    assert (verdict.stop.reason, verdict["accurate"].status) == ("orchestrator", "hung")
    assert {a.abstention.reason for a in verdict.transcript.abstentions} == {"limit"}


def test_the_string_false_counts_as_true(rubric: Rubric, case: Case) -> None:
    _, _, agents = stock(lambda _: ledger(satisfied="False"))
    assert turns(agents) == 0, "'False' was taken for satisfied"

    def once(number: int) -> Any:
        return (
            ledger(satisfied="False") if number == 0 else ledger("ab"[(number - 1) % 2], satisfied=number > 2)
        )

    with ProviderServer(jury_of({"a": 5, "b": 2, "boss": boss(once)})) as server:
        verdict = deliberate_magentic(case, rubric, server.url, "a", "b")
    assert verdict.transcript.turns == 2
    assert any("should be a valid boolean (given 'False')" in call.prompt for call in server.calls)


def test_a_broken_ledger_late_still_leaves_the_ballots_to_decide_from(rubric: Rubric, case: Case) -> None:
    presides = boss(lambda number: ledger("ab"[number]) if number < 2 else "no more JSON")
    with ProviderServer(jury_of({"a": 5, "b": 2, "boss": presides})) as server:
        verdict = deliberate_magentic(case, rubric, server.url, "a", "b")
    assert verdict.stop.reason == "orchestrator"
    assert (verdict["accurate"].value, verdict["accurate"].method) == (4, "decision")


class Score(BaseModel):
    score: int


def test_a_juror_with_a_structured_answer_hits_an_assertion(rubric: Rubric, case: Case) -> None:
    juror = AssistantAgent("a", ScriptedModel(lambda *_: '{"score": 4}'), output_content_type=Score)
    with pytest.raises(RuntimeError, match="AssertionError"):
        stock(in_turn("a", rounds=1), [juror], custom_message_types=[StructuredMessage[Score]])

    with ProviderServer(jury_of({"a": 4, "boss": boss(in_turn("a", rounds=1))})) as server:
        verdict = deliberate_magentic(case, rubric, server.url, "a")
    assert [vote.value for vote in verdict.transcript.ballots[0].ballot.votes] == [4, 4]


@pytest.mark.parametrize("fault", [DOWN, Fault(status=401), "garbage"], ids=["down", "no key", "garbage"])
def test_one_jurors_failure_ends_the_team(rubric: Rubric, case: Case, fault: Any) -> None:
    with pytest.raises(RuntimeError, match="the provider is down"):
        stock(in_turn("a", "b", rounds=1), [Talker("a", fails=True), Talker("b")])

    with ProviderServer(jury_of({"a": fault, "b": 2, "boss": boss(in_turn("a", "b", rounds=1))})) as server:
        verdict = deliberate_magentic(case, rubric, server.url, "a", "b")
    assert [abstained.speaker for abstained in verdict.transcript.abstentions] == ["a"]
    assert [cast.speaker for cast in verdict.transcript.ballots] == ["b"]
    assert verdict.stop.reason == "complete"


@pytest.mark.parametrize("since", [0, 1, 2, 3, 5], ids=["facts", "plan", "first ledger", "second", "final"])
def test_an_orchestrator_that_is_down_raises(rubric: Rubric, case: Case, since: int) -> None:
    def down(kind: str, number: int) -> str:
        raise OSError("connection refused")

    with pytest.raises(OSError, match="refused"):
        asyncio.run(MagenticOneGroupChat([Talker("a")], ScriptedModel(down)).run(task="Judge it."))

    presides = boss(in_turn("a", "b", rounds=1))

    def failing(call: Call) -> Any:
        return DOWN if call.number >= since else presides(call)

    with ProviderServer(jury_of({"a": 3, "b": 3, "boss": failing})) as server:
        verdict = deliberate_magentic(case, rubric, server.url, "a", "b")
    assert verdict.stop.reason == "orchestrator"
    assert "silence" in speakers(verdict)
    heard = {entry.speaker for entry in verdict.transcript.heard}
    assert heard == {"a", "b"}
    assert verdict["accurate"].status == ("hung" if since < 3 else "reached")


def test_orchestrator_calls_carry_no_usage(rubric: Rubric, case: Case) -> None:
    result, _, _ = stock(in_turn("a", "b", rounds=1))
    assert not any(message.models_usage for message in result.messages)

    with ProviderServer(jury_of({"a": 5, "b": 2, "boss": boss(in_turn("a", "b", rounds=1))})) as server:
        verdict = deliberate_magentic(case, rubric, server.url, "a", "b")
    spent = [entry.spent for entry in verdict.transcript.entries if entry.kind == "said"]
    assert all(part.prompt and len(part.calls) == 1 for part in spent)


def test_the_same_team_twice_leaks_the_first_case_into_the_second(rubric: Rubric, case: Case) -> None:
    agents = [Talker("a"), Talker("b")]
    team = MagenticOneGroupChat(list(agents), ScriptedModel(ledger_script(in_turn("a", "b"))), max_turns=3)

    async def twice() -> list[int]:
        counts = []
        for task in ("FIRST-CASE", "second case"):
            before = turns(agents)
            await team.run(task=task)
            counts.append(turns(agents) - before)
        return counts

    assert asyncio.run(twice()) == [4, 0], "the first case has used up the turns of the second"

    other = case.model_copy(update={"id": "c2", "output": "SECOND-CASE summary."})
    heard: list[int] = []
    with ProviderServer(jury_of({"a": 5, "b": 2, "boss": boss(in_turn("a", "b"))})) as server:
        for one in (case, other):
            verdict = deliberate_magentic(
                one, rubric, server.url, "a", "b", limits=Limits(max_turns=3, max_rounds=None)
            )
            heard.append(verdict.transcript.turns)
        second = server.calls[len(server.calls) // 2 :]
    assert heard == [3, 3]
    assert not any(case.output in call.prompt for call in second)
