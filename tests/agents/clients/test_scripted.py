"""`scripted/`: what a seat says in which round, and what it says without a script."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from talk_traces import CASE, RICH

from venire.agents.clients.lens import ClaimLensClient, LensClient
from venire.agents.clients.scripted import Script, ScriptedClient, connect
from venire.agents.model import Message, ModelFailure, Reply, Request, Sampling, Subject, TransientFailure
from venire.agents.model_client import ModelClient
from venire.personas.jury import ModelSettings
from venire.rubrics import ballot_schema
from venire.rubrics.ballot import Schema
from venire.rubrics.case import Case, Exhibit, is_swapped
from venire.rubrics.claim import Claim
from venire.rubrics.rubric import Rubric, load_rubric

SCRIPT = {
    "seats": {
        "a": [{"accurate": 1, "thorough": {"score": 2, "rationale": "One.", "confidence": "low"}}, {"accurate": 3}, "garbage", {"thorough": 5}],
        "b": ["refuse"],
    },
    "orchestrator": {"accurate": {"score": 4, "weighed": ["a"]}},
}  # fmt: skip


def asked(client: ModelClient, seat: str, round: int, rubric: Rubric = RICH, *names: str) -> Any:
    names = names or ("accurate", "thorough")
    subject = Subject("c1", seat, rubric, rubric.exhibits(CASE), names, round)
    schema = Schema(ballot_schema(rubric, names, confidence=True))
    request = Request("scripted/x", (), schema, Sampling(), 0, 9.0, subject)
    reply = asyncio.run(client.complete(request))
    return json.loads(reply.text) if reply.text.startswith("{") else reply.finish


@pytest.fixture
def scripted(tmp_path: Path) -> ModelClient:
    (tmp_path / "script.yaml").write_text(yaml.safe_dump(SCRIPT))
    return connect(ModelSettings(model=f"scripted/{tmp_path / 'script.yaml'}"))


def test_a_seat_says_in_each_round_what_is_written_and_what_it_said_last(scripted: ModelClient) -> None:
    said = [asked(scripted, "a", round) for round in (1, 2, 3, 4, 7)]

    scores = [each if isinstance(each, str) else (each["accurate"]["score"], each["thorough"]["score"]) for each in said]  # fmt: skip
    assert scores == [(1, 2), (3, 2), "stop", (3, 5), (3, 5)]
    assert (said[1]["thorough"]["rationale"], said[1]["thorough"]["confidence"]) == ("One.", "low")
    assert asked(scripted, "b", 1) == "refusal"


def test_without_lines_a_legal_score_is_drawn_and_always_the_same(scripted: ModelClient) -> None:
    drawn = [asked(client, "z", 1)["accurate"]["score"] for client in (scripted, connect(ModelSettings(model="scripted")))]  # fmt: skip
    assert drawn[0] == drawn[1]
    assert drawn[0] in range(1, 6)


@pytest.mark.parametrize(("better", "score"), [("high", 10.0), ("low", 0.0)])
def test_a_lens_places_full_merit_at_the_better_end_of_any_scale(better: str, score: float) -> None:
    rubric = Rubric.model_validate(
        {
            "name": "open",
            "version": 1,
            "scales": {"any": {"level": "interval", "minimum": 0, "maximum": 10}},
            "attributes": [{"name": "stigmatizing", "question": "?", "scale": "any", "better": better}],
        }
    )
    assert asked(LensClient("loaded"), "a", 1, rubric, "stigmatizing")["stigmatizing"]["score"] == score


def free(messages: tuple[Message, ...], schema: dict[str, Any] | None, script: Script | None = None) -> Reply:
    request = Request("scripted/x", messages, schema and Schema(schema), Sampling(), 0, 9.0)
    return asyncio.run(ScriptedClient(script).complete(request))


def test_whoever_calls_on_the_jurors_calls_each_once_in_order_and_is_satisfied_then() -> None:
    parts = ("is_request_satisfied", "is_in_loop", "is_progress_being_made", "instruction_or_question")
    schema = {
        "properties": {
            "next_speaker": {"properties": {"answer": {"enum": ["a", "b"]}}},
            **dict.fromkeys(parts),
        }
    }
    ledgers = [
        json.loads(free((Message("assistant", "plan"),) * spoken, schema).text) for spoken in (1, 2, 3)
    ]

    assert [each["next_speaker"]["answer"] for each in ledgers[:2]] == ["a", "b"]
    assert [each["is_request_satisfied"]["answer"] for each in ledgers] == [False, False, True]
    assert {each["is_in_loop"]["answer"] for each in ledgers} == {False}
    assert free((Message("user", "x" * 40),), None).usage.prompt == 10


@pytest.mark.parametrize(("fault", "reason"), [("timeout", "timeout"), ("down", "unavailable")])
def test_a_scripted_failure_may_pass_and_is_tried_again_at_once(fault: Any, reason: str) -> None:
    with pytest.raises(TransientFailure) as failed:
        free((), None, Script(orchestrator=fault))
    assert (failed.value.reason, failed.value.retry_after, failed.value.busy) == (reason, 0.0, False)


def test_whom_a_line_names_is_named_and_without_names_everybody_is() -> None:
    seats = {"items": {"enum": ["a", "b"]}}
    schema = {"properties": {name: {"properties": {"to": seats, "weighed": seats, "score": {"enum": [1, 2]}}} for name in "xy"}}  # fmt: skip
    script = Script.model_validate(
        {"orchestrator": {"x": {"score": 2, "to": ["b"], "weighed": ["a"]}, "y": 1}}
    )

    assert json.loads(free((), schema, script).text) == {
        "x": {"to": ["b"], "weighed": ["a"], "score": 2},
        "y": {"to": ["a", "b"], "weighed": ["a", "b"], "score": 1},
    }


def test_claims_are_those_that_are_written_of_a_text_and_else_its_clauses() -> None:
    client = ScriptedClient(Script(claims={"reference": ["Written."]}))

    def claims(name: str) -> list[str]:
        exhibits = (Exhibit(name=name, text="Fever on Monday. Rest was advised."),)
        subject = Subject("c1", "a", RICH, exhibits, (), 1, "extraction")
        reply = asyncio.run(client.complete(Request("scripted/x", (), None, Sampling(), 0, 9.0, subject)))
        return [claim["text"].rstrip(".") for claim in json.loads(reply.text)["claims"]]

    assert claims("reference") == ["Written"]
    assert claims("output") == ["Fever on Monday", "Rest was advised"]


def test_a_lens_reads_every_source_and_the_output_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[tuple[Any, ...]] = []
    monkeypatch.setattr("venire.agents.clients.lens.reading_for", lambda *given: read.append(given))
    names = ("question", "source 1", "source 2", "reference", "output")
    subject = Subject("c1", "a", RICH, tuple(Exhibit(name=n, text=n) for n in names), ("accurate",), 1)

    assert LensClient("numbers").answers_for(subject) == ()
    assert read == [("numbers", "accurate", ["source 1", "source 2"], "output")]


def test_a_lens_compares_no_outputs_and_says_so() -> None:
    pair = Case(id="c1", output="x", output_b="y", swapped=is_swapped("c1"))
    rubric = load_rubric("preference")
    subject = Subject("c1", "a", rubric, rubric.exhibits(pair), rubric.names, 1)
    request = Request("lens/numbers", (), Schema(ballot_schema(rubric)), Sampling(), 0, 9.0, subject)

    assert LensClient("numbers").answers_for(subject) == rubric.names
    with pytest.raises(
        ModelFailure, match="refused: lens/numbers measures one output; it cannot compare two"
    ):
        asyncio.run(LensClient("numbers").complete(request))


def test_the_lens_of_claims_quotes_what_it_found_them_in() -> None:
    exhibits = (
        Exhibit(name="source 1", text="Slept well."),
        Exhibit(name="source 2", text="Fever of 38.4 on Monday."),
    )
    claims = (Claim(id="c1", text="The fever was 38.4 on Monday."),)
    subject = Subject("c1", "a", RICH, exhibits, (), 1, "verification", claims)
    reply = asyncio.run(
        ClaimLensClient().complete(Request("lens/claims", (), None, Sampling(), 0, 9.0, subject))
    )
    (check,) = json.loads(reply.text)["checks"]

    assert (check["claim"], check["verdict"]) == ("c1", "supported")
    assert check["evidence"] and check["evidence"] in exhibits[1].text
    with pytest.raises(ModelFailure, match="it can do nothing else"):
        asyncio.run(ClaimLensClient().complete(Request("lens/claims", (), None, Sampling(), 0, 9.0)))
