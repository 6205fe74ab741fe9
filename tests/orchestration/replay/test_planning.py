"""The plan of a replay: what each seat is taken to answer, and how the plan is told."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from written_transcripts import abstained, cast, transcript_of

from venire.agents.cost import Receipt
from venire.agents.model import ModelFailure
from venire.agents.orchestrator import Dispute, Finding
from venire.orchestration.replay.planning import ReplayPlan, _RecordedAnswers
from venire.orchestration.transcript import Checked, Decided, Extracted, Ledger, Said
from venire.rubrics.claim import Check, Claim

DISPUTE = Dispute(attribute="x", dispute="D.", question="Q?", to=("a",))


def subject(seat: str, round: int = 1, **fields: Any) -> Any:
    return SimpleNamespace(seat=seat, round=round, **fields)


def test_a_seat_is_taken_to_answer_as_it_did_in_that_round_or_else_as_it_did_later() -> None:
    first = [cast("a", {"x": 5, "y": 4}), cast("b", {"x": 2}, moved_by="b's own")]
    then = [cast("a", {"x": 3}, round=2, purpose="revision", rationale="Anew."), cast("c", {"x": 1, "y": 1}, round=2), abstained("b", "x", round=2)]  # fmt: skip
    answers = _RecordedAnswers(transcript_of(first, then), (), lambda seat: False)

    def scores(seat: str, round: int) -> dict[str, Any]:
        return {name: part["score"] for name, part in answers._votes(subject(seat, round), "").items()}

    assert [scores("a", round) for round in (1, 2, 3)] == [{"x": 5, "y": 4}, {"x": 3, "y": 4}, {"x": 3, "y": 4}]  # fmt: skip
    assert scores("b", 1) == scores("b", 3) == {"x": 2}, "only in the second round did it say nothing"
    assert scores("c", 1) == {"x": 1, "y": 1}, "its first words came later"
    with pytest.raises(ModelFailure) as failed:
        scores("b", 2)
    assert (failed.value.reason, failed.value.detail) == ("unavailable", "down")
    told = answers._votes(subject("b"), "")["x"]
    assert (told["rationale"], told["moved_by"], told["confidence"]) == ("r", "b's own", "low")
    worded = answers._votes(subject("a", 2), "other words")
    assert {part["rationale"] for part in worded.values()} == {"other words"} and worded["x"]["moved_by"]


def test_an_orchestrator_is_taken_to_find_disputed_what_it_did_before_that_round() -> None:
    transcript = transcript_of(
        [cast("a", {"x": 5})],
        [Ledger(round=2, disputes=(DISPUTE,), author="orchestrator", declared=("y",))],
        [Ledger(round=3, disputes=(DISPUTE.model_copy(update={"question": "And now?"}),), author="orchestrator")],
        [Decided(round=3, findings=(Finding(attribute="x", value=4, rationale="Sound.", weighed=("a",)),))],
    )  # fmt: skip
    answers = _RecordedAnswers(transcript, (), lambda seat: False)
    told = answers._disputes(subject("orchestrator", 1), "")

    assert {name: (part["finding"], part.get("question")) for name, part in told.items()} == {"x": ("disputed", "Q?"), "y": ("consensus", None)}  # fmt: skip
    assert answers._disputes(subject("orchestrator", 2), "Other words?")["x"]["question"] == "Other words?"
    assert answers._disputes(subject("orchestrator", 3), "") == {}
    assert answers._findings() == {"x": {"score": 4, "rationale": "Sound.", "weighed": ("a",)}}


def test_claims_are_taken_to_be_those_of_the_same_text_and_checks_those_of_the_same_verifier() -> None:
    def listed(of: str, *ids: str) -> Extracted:
        claims = tuple(Claim(id=each, of=of, text=f"Text of {each}.", central=each == "c2") for each in ids)
        return Extracted(round=1, who="clerk", of=of, claims=claims)

    def checked(juror: str, **found: Any) -> Checked:
        checks = tuple(Check(claim=claim, verdict=verdict) for claim, verdict in found.items())
        return Checked(round=1, juror=juror, of="output", against="source", checks=checks)

    steps = ([listed("output", "c1", "c2"), listed("source", "s1")], [checked("a", c1="supported", c2="not_supported"), checked("b", c1="not_supported", c2=None)])  # fmt: skip
    answers = _RecordedAnswers(transcript_of(*steps), (), lambda seat: False)
    exhibit = SimpleNamespace(name="source 1")

    def claims(name: str) -> list[tuple[str, bool]]:
        asked = subject("x", kind="extraction", exhibits=[SimpleNamespace(name=name)])
        return [(claim["text"], claim["central"]) for claim in answers._claims(asked)["claims"]]

    assert claims("source 1") == [("Text of s1.", False)]
    assert claims("output") == [("Text of c1.", False), ("Text of c2.", True)]
    both = [SimpleNamespace(id=each) for each in ("c1", "c2", "new")]
    verdicts = {
        seat: [check["verdict"] for check in answers._claims(subject(seat, kind="verification", claims=both, exhibits=[exhibit]))["checks"]]
        for seat in "ab"
    }  # fmt: skip
    assert verdicts == {"a": ["supported", "not_supported", "not_addressed"], "b": ["not_supported", "not_addressed", "not_addressed"]}  # fmt: skip


def test_who_presides_over_magentic_one_says_again_only_what_no_record_has_answered() -> None:
    def ledger(speaker: str, *, done: bool = False) -> str:
        answers = {
            "is_request_satisfied": done,
            "next_speaker": speaker,
            "instruction_or_question": f"To {speaker}.",
        }
        return json.dumps({name: {"reason": "r", "answer": value} for name, value in answers.items()})

    def said(about: str, text: str, *calls: str) -> Said:
        return Said(round=1, who="orchestrator", about=about, text=text, spent=Receipt(calls=calls))

    entries = [said("facts", "Known.", "k1", "k2"), said("plan", "Half known.", "k1", "new"), said("ledger", ledger("gone"), "l1"), said("ledger", ledger("a"), "l2"),
               said("ledger", ledger("gone", done=True), "l3"), Said(round=1, who="a", about="plan", text="Not the chair's.")]  # fmt: skip
    answers = _RecordedAnswers(transcript_of(entries), {"k1", "k2"}, lambda seat: False)
    form = {"properties": {name: {"properties": {"answer": {"enum": ["a", "b"]}}} for name in ("next_speaker", "instruction_or_question", "is_request_satisfied")}}  # fmt: skip

    assert answers._conversation(None, " again") == "Half known. again"
    turns = [json.loads(answers._conversation(form, "!")) for _ in range(3)]
    assert [turn["next_speaker"]["answer"] for turn in turns] == ["a", "gone", "a"], "who left is passed over, unless all is done"  # fmt: skip
    assert [turn["instruction_or_question"]["answer"] for turn in turns] == ["To a.!", "To gone.!", "a"]
    assert [turn["is_request_satisfied"]["answer"] for turn in turns] == [False, True, True]


def test_a_plan_says_what_is_new_what_is_a_forecast_and_who_is_not_asked_again() -> None:
    told = str(ReplayPlan(2, reused=3, new=1, new_in_other_words=1))
    assert told == "2 deliberations: 3 of 4 calls are answered from the record (75%); 1 call is new if jurors answer as they did before"  # fmt: skip
    more = str(ReplayPlan(1, 0, 2, 5, ("a", "orchestrator"), ("ann",)))
    assert "1 deliberation: 0 of 2 calls are answered from the record (0%); 2 calls are new" in more
    assert ", or 5 calls if those jurors give the same scores with other reasons; this is a forecast" in more
    assert "unknown what a and orchestrator will say" in more and more.endswith("; ann is a person, and is not asked again")  # fmt: skip
    assert "%" not in str(ReplayPlan(1, 0, 0, 0))
