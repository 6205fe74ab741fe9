"""The default protocol, over real sockets: who is asked, in which order, and why it ends."""

from __future__ import annotations

import pytest
from openai_server import Fault, ProviderServer, Refusal, filled, jury_of
from server_juries import jury_at

from venire import Case, Limits, Rubric, deliberate_sync
from venire.orchestration.reading.export import case_json


def steps(server: ProviderServer) -> list[str]:
    return [call.model for call in server.calls]


def test_agreement_at_once_asks_nobody_else(rubric: Rubric, case: Case) -> None:
    with ProviderServer(jury_of({"a": 4, "b": 4, "c": 4})) as server:
        verdict = deliberate_sync(case, rubric, jury_at(server.url, "a", "b", "c"))

    assert verdict.stop.reason == "consensus"
    assert verdict["accurate"].value == 4
    assert verdict["accurate"].method == "consensus"
    assert len(server.calls) == 3


def test_jurors_of_one_round_are_asked_at_the_same_time(rubric: Rubric, case: Case) -> None:
    answers = jury_of({"a": [5, 4], "b": [2, 3], "c": [3, 3], "boss": 3})
    with ProviderServer(answers, latency=0.1) as server:
        verdict = deliberate_sync(
            case, rubric, jury_at(server.url, "a", "b", "c", limits=Limits(max_rounds=2))
        )

    assert server.most_in_flight == 3
    assert verdict.transcript.steps <= 2 * 2 + 1
    assert verdict.stop.reason == "rounds"
    assert verdict.stop.limit == "max_rounds"


def test_round_one_is_blind(rubric: Rubric, case: Case) -> None:
    def told(call: object) -> dict[str, object]:
        return filled(call.schema, lambda _: 3, rationale="SECRET-REASON")  # type: ignore[attr-defined]

    with ProviderServer(jury_of({"a": told, "b": told, "c": told})) as server:
        deliberate_sync(case, rubric, jury_at(server.url, "a", "b", "c"))

    assert not any("SECRET-REASON" in call.prompt for call in server.calls)


@pytest.mark.parametrize("limit", [3, 4, 5, 6])
def test_max_turns_is_the_exact_number_of_juror_turns(rubric: Rubric, case: Case, limit: int) -> None:
    answers = jury_of({"a": [5, 4, 5, 4], "b": [2, 1, 2, 1], "c": [3, 4, 3, 4], "boss": 3})
    limits = Limits(max_turns=limit, max_rounds=None, max_stalls=None, max_replans=None)
    with ProviderServer(answers) as server:
        verdict = deliberate_sync(case, rubric, jury_at(server.url, "a", "b", "c", limits=limits))

    assert sum(call.model != "boss" for call in server.calls) == limit
    assert verdict.transcript.turns == limit
    assert (verdict.stop.reason, verdict.stop.limit, verdict.stop.value) == ("turns", "max_turns", limit)


def test_max_turns_below_the_number_of_seats_records_who_was_not_heard(rubric: Rubric, case: Case) -> None:
    with ProviderServer(jury_of({"a": 5, "b": 2, "c": 3, "boss": 3})) as server:
        verdict = deliberate_sync(
            case, rubric, jury_at(server.url, "a", "b", "c", limits=Limits(max_turns=2))
        )

    (unheard,) = verdict.transcript.abstentions
    assert (unheard.speaker, unheard.abstention.reason) == ("c", "limit")
    assert verdict.transcript.turns == 2


def test_max_stalls_ends_after_that_many_rounds_without_movement(rubric: Rubric, case: Case) -> None:
    limits = Limits(max_rounds=9, max_stalls=1)
    with ProviderServer(jury_of({"a": 5, "b": 2, "c": 3, "boss": 2})) as server:
        verdict = deliberate_sync(case, rubric, jury_at(server.url, "a", "b", "c", limits=limits))

    assert (verdict.stop.reason, verdict.stop.limit) == ("stall", "max_stalls")
    assert verdict.transcript.rounds == 2
    assert verdict["accurate"].value == 2
    assert verdict["accurate"].method == "decision"
    assert {dissent.juror for dissent in verdict["accurate"].dissent} == {"a", "c"}


@pytest.mark.parametrize("protocol", ["orchestrated", "moderated"])
def test_a_stalled_jury_is_asked_anew_only_as_often_as_max_replans_allows(
    rubric: Rubric, case: Case, protocol: str
) -> None:
    limits = Limits(max_rounds=9, max_stalls=2, max_replans=2)
    with ProviderServer(jury_of({"a": 5, "b": 2, "boss": 2})) as server:
        verdict = deliberate_sync(
            case, rubric, jury_at(server.url, "a", "b", protocol=protocol, limits=limits)
        )

    assert (verdict.stop.reason, verdict.stop.limit) == ("replans", "max_replans")
    assert [e.round for e in verdict.transcript.entries if getattr(e, "replan", False)] == [4, 6]
    assert verdict.transcript.rounds == 7


def test_settled_attributes_are_not_argued_again(rubric: Rubric, case: Case) -> None:
    answers = jury_of({"a": {"accurate": 4, "thorough": 4}, "b": {"accurate": 2, "thorough": 4}, "boss": 3})
    with ProviderServer(answers) as server:
        deliberate_sync(case, rubric, jury_at(server.url, "a", "b"))

    later = [call for call in server.calls if call.model == "a"][1:]
    assert later
    assert all(set(call.schema["properties"]) == {"accurate"} for call in later if call.schema)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("certainly! a solid 4/5", "unparsable"),
        (Refusal(), "refused"),
        ("I'm sorry, I cannot judge patient records.", "refused"),
        (9, "out_of_scale"),
        ("4", "unparsable"),
        (Fault(hang=True), "timeout"),
        (Fault(status=401), "unavailable"),
        (Fault(status=500, headers={"Retry-After": "0"}), "unavailable"),
        (Fault(drop=True), "unavailable"),
    ],
)
def test_a_failing_juror_abstains_with_its_reason_and_the_rest_go_on(
    rubric: Rubric, case: Case, answer: object, reason: str
) -> None:
    with ProviderServer(jury_of({"a": 4, "b": 4, "c": answer})) as server:
        jury = jury_at(server.url, "a", "b", "c", quorum=2)
        if reason == "timeout":
            *others, last = jury.seats
            quick = last.model_copy(update={"timeout": 0.3})
            jury = jury.model_copy(update={"seats": (*others, quick)})
        verdict = deliberate_sync(case, rubric, jury)

    (abstained,) = verdict.transcript.abstentions
    assert abstained.abstention.reason == reason
    assert verdict["accurate"].value == 4
    assert verdict["accurate"].votes == 2


def test_garbage_is_shown_its_own_error_once(rubric: Rubric, case: Case) -> None:
    with ProviderServer(jury_of({"a": ["garbage", 4], "b": 4})) as server:
        verdict = deliberate_sync(case, rubric, jury_at(server.url, "a", "b"))

    assert not verdict.transcript.abstentions
    repair = server.calls[-1].body["messages"]
    assert [message["role"] for message in repair] == ["system", "user", "assistant", "user"]
    assert "cannot be used" in repair[-1]["content"]


def test_below_quorum_the_attribute_is_hung_and_says_so(rubric: Rubric, case: Case) -> None:
    with ProviderServer(jury_of({"a": 4, "b": "garbage", "c": "garbage"})) as server:
        verdict = deliberate_sync(case, rubric, jury_at(server.url, "a", "b", "c", quorum=2))

    assert verdict["accurate"].status == "hung"
    assert verdict["accurate"].value is None
    assert "1 of the 2 that are needed" in verdict["accurate"].why


@pytest.mark.parametrize(
    "boss", [Fault(status=500, headers={"Retry-After": "0"}), "two {} blocks {}", Refusal()]
)
def test_without_an_orchestrator_code_asks_everyone_and_the_standing_votes_are_counted(
    rubric: Rubric, case: Case, boss: object
) -> None:
    with ProviderServer(jury_of({"a": 5, "b": 2, "boss": boss})) as server:
        verdict = deliberate_sync(case, rubric, jury_at(server.url, "a", "b"))

    assert (verdict["accurate"].value, verdict["accurate"].method) == (3.5, "median")
    assert "the orchestrator did not decide" in verdict["accurate"].why
    assert verdict.stop.reason == "stall"
    assert "could not decide" in verdict.stop.detail
    assert verdict.transcript.turns == 4


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=500, headers={"Retry-After": "0"}),
        Fault(status=404),
        Fault(status=401),
        Refusal(),
        "two {} blocks {}",
        '{"accurate": {"score": 99}}',
    ],
)
def test_where_a_model_fails_its_alternate_answers_and_is_named(
    rubric: Rubric, case: Case, fault: object
) -> None:
    answers = jury_of({"a": 5, "b": fault, "boss": fault, "spare": [2, 2], "deputy": [3, 3]})
    with ProviderServer(answers) as server:
        jury = jury_at(server.url, "a", "b")
        seat = jury.seats[1].model_copy(update={"alternates": ("server/spare",)})
        chair = jury.orchestrator.model_copy(update={"alternates": ("server/deputy",)})
        deputised = jury.model_copy(update={"seats": (jury.seats[0], seat), "orchestrator": chair})
        verdict = deliberate_sync(case, rubric, deputised)

    by = {(entry.speaker, entry.spent.by) for entry in verdict.transcript.entries}
    assert {("a", ""), ("b", "server/spare"), ("orchestrator", "server/deputy")} <= by
    assert (verdict["accurate"].value, verdict["accurate"].method) == (3, "decision")
    assert not verdict.transcript.abstentions
    answered = [call for call in server.calls if call.model in ("a", "spare", "deputy")]
    assert verdict.transcript.cost.calls >= len(answered)
    assert {ballot["juror"]: ballot["alternate"] for ballot in case_json(verdict)["ballots"]} == {
        "a": None,
        "b": "server/spare",
    }


def test_an_instant_unanimous_extreme_is_challenged_once(rubric: Rubric, case: Case) -> None:
    answers = jury_of({"a": 5, "b": 5, "c": [5, 2], "boss": 2})
    with ProviderServer(answers) as server:
        jury = jury_at(server.url, "a", "b", "c")
        challenged = deliberate_sync(case, rubric, jury)
        unchallenged = deliberate_sync(case, rubric, jury_at(server.url, "a", "b", challenge=False))

    assert unchallenged["accurate"].value == 5
    assert challenged["accurate"].value == 2
    purposes = [entry.purpose for entry in challenged.transcript.ballots]
    assert purposes.count("challenge") == 1


def test_a_change_that_names_nothing_is_sent_back_and_then_does_not_count(rubric: Rubric, case: Case) -> None:
    def conforms(call: object) -> dict[str, object]:
        first = call.number == 0  # type: ignore[attr-defined]
        return filled(call.schema, lambda _: 2 if first else 4, moved_by="")  # type: ignore[attr-defined]

    with ProviderServer(jury_of({"a": 4, "b": conforms, "boss": 3})) as server:
        verdict = deliberate_sync(case, rubric, jury_at(server.url, "a", "b", limits=Limits(max_rounds=2)))

    (abstained,) = verdict.transcript.abstentions
    assert "moved_by" in abstained.abstention.detail
    assert {dissent.juror: dissent.value for dissent in verdict["accurate"].dissent} == {"a": 4, "b": 2}
