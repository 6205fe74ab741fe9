"""`scripted/`: what a seat says in which round, and what it says without a script."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from talk_traces import CASE, RICH

from venire.agents.clients.lens import LensClient
from venire.agents.clients.scripted import connect
from venire.agents.model import Request, Sampling, Subject
from venire.agents.model_client import ModelClient
from venire.personas.jury import ModelSettings
from venire.rubrics import ballot_schema
from venire.rubrics.ballot import Schema
from venire.rubrics.rubric import Rubric

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
