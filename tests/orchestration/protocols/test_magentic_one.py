"""`magentic-one` over real sockets: AutoGen's own team, our jurors, our record and our limits."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import venire
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from magentic_scripts import (
    DOWN,
    ENDLESS,
    FINAL,
    UNUSABLE,
    WORDS,
    boss,
    deliberate_magentic,
    in_turn,
    ledger,
    speakers,
)
from openai_server import Call, Fault, ProviderServer, Refusal, jury_of
from run_files import write_run
from server_juries import jury_at

from venire import Case, Jury, Limits, Rubric, deliberate, deliberate_sync
from venire.orchestration.bench import Court
from venire.orchestration.deliberate import hear
from venire.orchestration.protocols import protocol
from venire.orchestration.reading.show import deliberation_text
from venire.orchestration.transcript import Transcript

pytest.importorskip("autogen_agentchat", reason="the magentic-one protocol needs venire[autogen]")


def test_three_jurors_in_two_rounds_make_2rn_plus_4_calls_one_after_the_other(
    rubric: Rubric, case: Case
) -> None:
    answers = {"a": [5, 4], "b": 2, "c": 3, "boss": boss(in_turn("a", "b", "c", rounds=2))}
    with ProviderServer(jury_of(answers)) as server:
        verdict = deliberate_magentic(case, rubric, server.url, "a", "b", "c", limits=Limits(max_rounds=3))

    transcript = verdict.transcript
    assert len(server.calls) == transcript.cost.calls == transcript.steps == 2 * 2 * 3 + 4
    assert server.most_in_flight == 1
    assert (verdict.stop.reason, verdict.stop.limit) == ("complete", None)
    assert speakers(verdict) == [
        "facts", "plan", "ledger", "a", "ledger", "b", "ledger", "c",
        "ledger", "a", "ledger", "b", "ledger", "c", "ledger", "final", "orchestrator",
    ]  # fmt: skip
    assert transcript.rounds == 2
    assert len({entry.id for entry in transcript.entries}) == len(transcript.entries)


def test_max_rounds_saves_the_ledger_that_could_change_nothing(rubric: Rubric, case: Case) -> None:
    answers = {"a": [5, 4], "b": 2, "c": 3, "boss": boss(in_turn("a", "b", "c"))}
    with ProviderServer(jury_of(answers)) as server:
        verdict = deliberate_magentic(case, rubric, server.url, "a", "b", "c", limits=Limits(max_rounds=2))

    assert len(server.calls) == verdict.transcript.steps == 2 * 2 * 3 + 3
    assert (verdict.stop.reason, verdict.stop.limit, verdict.stop.value) == ("rounds", "max_rounds", 2)


def test_the_documented_most_calls_are_never_passed(rubric: Rubric, case: Case) -> None:
    def stuck_once(number: int) -> Any:
        return ledger("a", progress=False) if number == 6 else ledger("abc"[number % 3])

    most = protocol("magentic-one").most
    assert most is not None
    with ProviderServer(jury_of({"a": [5, 4], "b": 2, "c": 3, "boss": boss(stuck_once)})) as server:
        limits = Limits(max_rounds=3, max_replans=1)
        deliberate_magentic(case, rubric, server.url, "a", "b", "c", limits=limits)

    assert 2 * 3 * 3 < len(server.calls) <= most(3, 3)[0]


def test_the_final_answer_decides_and_every_entry_says_what_it_had_seen(rubric: Rubric, case: Case) -> None:
    answers = {"a": [5, 4], "b": 2, "boss": boss(in_turn("a", "b", rounds=2))}
    with ProviderServer(jury_of(answers)) as server:
        verdict = deliberate_magentic(case, rubric, server.url, "a", "b")

    assert (verdict["accurate"].value, verdict["accurate"].method) == (4, "decision")
    assert (verdict["thorough"].value, verdict["thorough"].why) == (2, "Gap.")
    first, second, third, _ = verdict.transcript.ballots
    facts, plan, first_ledger = (entry.id for entry in verdict.transcript.entries[:3])
    assert first.ballot.saw == (facts, plan, first_ledger)
    assert first.id in second.ballot.saw
    assert second.id in third.ballot.saw
    assert first.id not in third.ballot.saw, "its own ballot is not the others'"
    prompt = next(call for call in server.calls if call.model == "b").prompt
    assert "PLANNING-WORDS" in prompt
    assert "Tell us, b." in prompt
    assert "a gave 5" in prompt
    assert prompt.count(case.output) == 1, "the case is not repeated"


def test_every_call_of_the_orchestrator_is_metered(rubric: Rubric, case: Case) -> None:
    with ProviderServer(jury_of({"a": 4, "b": 4, "boss": boss(in_turn("a", "b", rounds=1))})) as server:
        verdict = deliberate_magentic(case, rubric, server.url, "a", "b")

    usage = verdict.transcript.cost.usage
    assert usage.prompt == sum(len(call.prompt) // 4 for call in server.calls)
    assert all(entry.spent.prompt for entry in verdict.transcript.entries if entry.kind == "said")
    assert verdict.stop.reason == "consensus"


def test_seats_that_are_no_python_names_are_called_by_ones_that_are(rubric: Rubric, case: Case) -> None:
    names = ("high-scoring", "high_scoring", "MagenticOneOrchestrator")
    agents = ("high_scoring", "high_scoring_", "MagenticOneOrchestrator_")
    answers = {**dict.fromkeys(names, 4), "boss": boss(in_turn(*agents, rounds=1))}
    with ProviderServer(jury_of(answers)) as server:
        verdict = deliberate_magentic(case, rubric, server.url, *names)

    assert [cast.speaker for cast in verdict.transcript.ballots] == list(names)


@pytest.mark.parametrize(
    ("final", "repair", "value"),
    [
        ("All in all a four.", FINAL, 4),
        (json.dumps({"accurate": FINAL["accurate"]}), FINAL, 4),
        (WORDS.replace('"score": 4', '"score": 9'), FINAL, 4),
        (WORDS.replace('"score": 4', '"score": true'), FINAL, 4),
        ("All in all a four.", "Still a four.", 3.5),
        ("All in all a four.", DOWN, 3.5),
    ],
)
def test_a_final_answer_that_cannot_be_read_is_asked_for_once_more(
    rubric: Rubric, case: Case, final: Any, repair: Any, value: float
) -> None:
    presides = boss(in_turn("a", "b", rounds=1), final=final, repair=repair)
    answers = {"a": {"accurate": 5, "thorough": 3}, "b": {"accurate": 2, "thorough": 3}, "boss": presides}
    with ProviderServer(jury_of(answers)) as server:
        verdict = deliberate_magentic(case, rubric, server.url, "a", "b")

    assert verdict["accurate"].value == value
    assert verdict["accurate"].status == "reached"
    assert verdict["thorough"].value == (3 if value == 3.5 else 2), (
        "where the jurors agree, their value stands"
    )
    assert len([call for call in server.calls if "cannot be used" in call.prompt]) in (1, 4)


def test_a_hard_limit_stops_it_and_says_which(rubric: Rubric, case: Case) -> None:
    with ProviderServer(jury_of({"a": 4, "b": 4, "boss": boss(in_turn("a", "b"))})) as server:
        verdict = deliberate_magentic(
            case, rubric, server.url, "a", "b", limits=Limits(max_tokens=4000, max_rounds=9)
        )

    assert (verdict.stop.reason, verdict.stop.limit) == ("budget", "max_tokens")
    assert sum(len(call.prompt) // 4 for call in server.calls[:-1]) < 4000, (
        "passed by the call in flight at the most"
    )


def test_time_is_a_hard_limit_too(rubric: Rubric, case: Case) -> None:
    answers = jury_of({"a": 4, "b": Fault(hang=True), "boss": boss(in_turn("a", "b"))})
    with ProviderServer(answers) as server:
        verdict = deliberate_magentic(case, rubric, server.url, "a", "b", limits=Limits(max_seconds=1.5))

    assert (verdict.stop.reason, verdict.stop.limit) == ("time", "max_seconds")
    assert [(a.speaker, a.abstention.reason) for a in verdict.transcript.abstentions] == [("b", "limit")]


def test_a_long_conversation_is_cut_to_scores_oldest_first(rubric: Rubric, case: Case) -> None:
    def wordy(call: Call) -> Any:
        assert call.schema is not None
        score = {"rationale": "LONG " * 400, "evidence": [], "moved_by": "m", "score": 3}
        return {
            name: {key: value for key, value in score.items() if key in asked["properties"]}
            for name, asked in call.schema["properties"].items()
        }

    with ProviderServer(jury_of({"a": wordy, "b": wordy, "boss": boss(in_turn("a", "b"))})) as server:
        jury = jury_at(server.url, "a", "b", protocol="magentic-one", limits=Limits(max_rounds=6))
        small = jury.orchestrator.model_copy(update={"context": 16_000})
        verdict = deliberate_sync(case, rubric, jury.model_copy(update={"orchestrator": small}))

    prompts = [call.prompt for call in server.calls if call.model == "boss"]
    assert max(len(prompt) for prompt in prompts) < 3 * 16_000
    assert 'a gave {"accurate": 3, "thorough": 3}' in prompts[-1]
    assert "LONG LONG" in prompts[-1]
    assert verdict.transcript.turns == 12


def test_a_case_that_the_orchestrator_cannot_read_ends_at_once(rubric: Rubric, case: Case) -> None:
    with ProviderServer(jury_of({"a": 4, "boss": "words"})) as server:
        jury = jury_at(server.url, "a", protocol="magentic-one")
        small = jury.orchestrator.model_copy(update={"context": 300})
        verdict = deliberate_sync(case, rubric, jury.model_copy(update={"orchestrator": small}))

    assert not server.calls
    assert (verdict.stop.reason, verdict["accurate"].status) == ("orchestrator", "hung")
    assert "too_long" in verdict.stop.detail


def test_a_cancelled_deliberation_lets_go_at_once(rubric: Rubric, case: Case) -> None:
    async def cancelled(server: ProviderServer) -> float:
        jury = jury_at(server.url, "a", "b", protocol="magentic-one")
        sitting = asyncio.ensure_future(deliberate(case, rubric, jury))
        while not any(call.model == "a" for call in server.calls):
            assert not sitting.done()
            await asyncio.sleep(0.01)
        sitting.cancel()
        started = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await sitting
        return time.monotonic() - started

    answers = jury_of({"a": Fault(hang=True), "b": 4, "boss": boss(in_turn("a", "b"))})
    with ProviderServer(answers) as server:
        took = asyncio.run(cancelled(server))

    assert took < 10
    assert [call.model for call in server.calls][-1] == "a"


def test_what_autogen_logs_of_a_case_is_not_logged(
    rubric: Rubric, case: Case, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        caplog.at_level(logging.DEBUG),
        ProviderServer(jury_of({"a": 4, "b": 4, "boss": boss(in_turn("a", "b", rounds=1))})) as server,
    ):
        deliberate_magentic(case, rubric, server.url, "a", "b")

    assert not [record for record in caplog.records if record.name.startswith("autogen")]


LEDGERS = st.one_of(
    st.builds(
        ledger,
        st.sampled_from(["a", "b", "c", "nobody"]),
        satisfied=st.sampled_from([False] * 6 + [True, "False"]),
        progress=st.booleans(),
        loop=st.booleans(),
    ),
    st.sampled_from(["no JSON", DOWN, Refusal()]),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    script=st.lists(LEDGERS, min_size=1, max_size=12),
    ballots=st.lists(st.sampled_from([1, 3, 5, 9, "garbage", Fault(status=401)]), min_size=3, max_size=3),
    final=st.sampled_from([WORDS, "no JSON", DOWN]),
    limits=st.builds(
        Limits,
        max_rounds=st.integers(1, 4),
        max_turns=st.none() | st.integers(1, 6),
        max_stalls=st.none() | st.integers(0, 2),
        max_replans=st.none() | st.integers(0, 2),
    ),
)
def test_whatever_happens_it_ends_within_its_limits_and_no_seat_is_forgotten(
    rubric: Rubric, case: Case, script: list[Any], ballots: list[Any], final: Any, limits: Limits
) -> None:
    presides = boss(lambda number: script[number % len(script)], final=final)
    with ProviderServer(jury_of({**dict(zip("abc", ballots, strict=True)), "boss": presides})) as server:
        verdict = deliberate_magentic(case, rubric, server.url, "a", "b", "c", limits=limits)

    transcript = verdict.transcript
    assert transcript.turns <= (limits.max_turns or transcript.turns)
    assert transcript.rounds <= (limits.max_rounds or transcript.rounds)
    if limits.max_replans is not None:
        assert speakers(verdict).count("replan") <= limits.max_replans
    assert {entry.speaker for entry in transcript.heard} == {"a", "b", "c"}
    assert len({(entry.speaker, entry.round) for entry in transcript.heard}) == len(transcript.heard)
    assert verdict.stop.limit is None or getattr(limits, verdict.stop.limit) == verdict.stop.value


def run_it(folder: Path, presides: Any, status: int = 0, **jury: Any) -> dict[str, Any]:
    answers = {"a": 3, "b": 1, "c": 2, "boss": presides}
    with ProviderServer(jury_of(answers)) as server:
        command = write_run(folder, server.url, protocol="magentic-one", **jury)
        ended = venire(*command, "--json", "--in-flight", 1, cwd=folder)
    assert ended.returncode == status, ended.stderr
    assert "Traceback" not in ended.stderr
    document: dict[str, Any] = json.loads(ended.stdout)["cases"][0]
    return document


@pytest.mark.parametrize("name", ["always stalled", *UNUSABLE])
def test_a_broken_orchestrator_ends_with_a_stop_reason_and_one_not_reached_with_exit_4(
    tmp_path: Path, name: str
) -> None:
    document = run_it(tmp_path, {**UNUSABLE, **ENDLESS}[name](), 4 if name == "down" else 0)

    assert document["stop"]["reason"] == ("orchestrator" if name in UNUSABLE else "stall")
    assert {part["status"] for part in document["verdict"].values()} <= {"reached", "hung"}
    heard = {ballot["juror"] for ballot in document["ballots"]}
    assert heard | {abstained["juror"] for abstained in document["abstentions"]} == {"a", "b", "c"}


def test_a_run_that_its_budget_stopped_is_continued_without_paying_twice(tmp_path: Path) -> None:
    presides = {"a": 3, "b": 1, "c": 2, "boss": lambda call: boss(_by_thread(call))(call)}
    with ProviderServer(jury_of(presides)) as server:
        command = [*write_run(tmp_path, server.url, protocol="magentic-one"), "--in-flight", 1]
        stopped = venire(*command, "--max-tokens", 6000, cwd=tmp_path)
        paid = len(server.calls)
        ended = venire(*command, "--json", cwd=tmp_path)

        calls = sum(case["calls"] for case in json.loads(ended.stdout)["cases"])
        assert len(server.calls) == calls
    assert stopped.returncode == 3, stopped.stderr
    assert 0 < paid < calls
    assert ended.returncode == 0, ended.stderr


def _by_thread(call: Call) -> Callable[[int], Any]:
    """Ledgers that depend on the conversation alone, so that a continued run is asked the same questions."""
    heard = sum(
        message["role"] == "user" and " gave " in message["content"] for message in call.body["messages"]
    )
    return lambda _: ledger("abc"[heard % 3], satisfied=heard >= 3)


def test_without_autogen_the_protocol_says_how_to_get_it(tmp_path: Path) -> None:
    command = [str(part) for part in write_run(tmp_path, "http://127.0.0.1:9/v1", protocol="magentic-one")]
    code = f"import sys; sys.modules['autogen_agentchat'] = None; from venire.cli import main; sys.argv[1:] = {command}; main()"
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )

    assert ended.returncode == 2, ended.stderr
    assert "pip install 'venire[autogen]'" in ended.stderr


def test_a_first_turn_asks_for_a_first_ballot_and_a_second_for_a_revision(rubric: Rubric, case: Case) -> None:
    answers = {"a": [5, 4], "b": 2, "boss": boss(in_turn("a", "b", rounds=2))}
    with ProviderServer(jury_of(answers)) as server:
        verdict = deliberate_magentic(case, rubric, server.url, "a", "b")

    first, second = (call for call in server.calls if call.model == "a")
    assert "this is your first ballot" in first.prompt
    assert "Judge again" not in first.prompt
    assert "Judge again" in second.prompt
    assert [cast.purpose for cast in verdict.transcript.ballots] == ["vote", "vote", "revision", "revision"]


class KeptCalls:
    """A record of calls in memory: what was asked before is not asked again."""

    def __init__(self) -> None:
        self.replies: dict[str, Any] = {}

    async def get(self, key: str) -> Any:
        return self.replies.get(key)

    async def put(self, key: str, request: Any, reply: Any) -> None:
        self.replies[key] = reply

    def forgo(self, key: str) -> None:
        pass


async def _heard_once(case: Case, rubric: Rubric, jury: Jury) -> Transcript:
    court = Court(calls=KeptCalls())
    try:
        return await hear(case, rubric, jury, court)
    finally:
        await court.close()


def test_the_same_question_after_a_new_plan_is_answered_anew(rubric: Rubric, case: Case) -> None:
    """Plan, conversation and question are the same: only a new sample can get the jury unstuck."""
    ledgers = [ledger("a"), ledger("a", progress=False), ledger("b"), ledger(satisfied=True)]
    answers = {"a": 3, "b": 3, "boss": boss(lambda number: ledgers[min(number, 3)])}
    with ProviderServer(jury_of(answers)) as server:
        jury = jury_at(
            server.url, "a", "b", protocol="magentic-one", limits=Limits(max_rounds=9, max_replans=1)
        )
        transcript = asyncio.run(_heard_once(case, rubric, jury))

    asked = [call.prompt for call in server.calls if call.model == "boss" and call.schema]
    assert asked[0] == asked[2], "the first ledger under either plan is asked for in the same words"
    assert [cast.speaker for cast in transcript.ballots] == ["a", "b"]


def test_a_juror_whom_a_satisfied_orchestrator_never_called_met_no_limit(rubric: Rubric, case: Case) -> None:
    with ProviderServer(jury_of({"a": 4, "b": 4, "boss": boss(in_turn("a", rounds=1))})) as server:
        verdict = deliberate_magentic(case, rubric, server.url, "a", "b")

    assert verdict.stop.reason == "complete"
    assert [(entry.speaker, entry.abstention.reason) for entry in verdict.transcript.abstentions] == [
        ("b", "not_called")
    ]
    assert verdict.transcript.turns == 1


def test_a_scripted_orchestrator_calls_on_each_seat_once_and_lenses_may_sit(
    rubric: Rubric, case: Case
) -> None:
    seats = [{"name": name, "model": f"lens/{name}"} for name in ("length", "support")]
    jury = {"name": "m", "protocol": "magentic-one", "count": "median", "seats": seats}
    sits = Jury.model_validate({**jury, "orchestrator": {"model": "scripted"}})

    verdict = deliberate_sync(case, rubric, sits)

    assert speakers(verdict) == ["facts", "plan", "ledger", "length", "ledger", "support", "ledger", "final", "orchestrator"]  # fmt: skip
    assert verdict.stop.reason in ("complete", "consensus")
    told = deliberation_text(verdict, 80)
    assert "orchestrator ledger: length speaks next: Please give your ballot." in told
    assert "is_request_satisfied" not in told
