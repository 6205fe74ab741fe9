"""Whatever jurors and orchestrator do, and whatever the limits: it ends, within them, with everyone accounted for."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openai_server import filled

from venire import Case, Court, Jury, Rubric, Transcript, recount
from venire.agents.model import ModelFailure, Reply, Request, TransientFailure, Usage
from venire.agents.model_client import ModelClient
from venire.agents.providers import RateLimitedClient
from venire.orchestration import hear
from venire.orchestration.transcript import Ledger, Said
from venire.personas import ModelSettings

NAMES = ("single", "panel", "orchestrated", "moderated", "debate", "delphi", "escalate")
RULES = ("mean", "median", "mode", "trimmed", "weighted", "dawid-skene", "decision", "escalated")

RUBRIC = Rubric.model_validate(
    {
        "name": "mixed",
        "version": 1,
        "scales": {
            "five": {"level": "ordinal", "anchors": {n: f"level {n}" for n in range(1, 6)}},
            "two": {"level": "binary", "anchors": {0: "no", 1: "yes"}},
            "kinds": {"level": "nominal", "anchors": {"red": "r", "blue": "b"}},
        },
        "attributes": [
            {"name": "accurate", "question": "?", "scale": "five", "may_not_apply": True},
            {"name": "safe", "question": "?", "scale": "two"},
            {"name": "kind", "question": "?", "scale": "kinds"},
        ],
    }
)
CASE = Case(id="c", source=("One. Two.",), output="Three.")


class Whim(ModelClient):
    """A provider that answers by the hash of what it is asked: any legal answer, or any way to fail."""

    def __init__(self, seed: int, faults: float, scores: int) -> None:
        self._seed, self._faults, self._scores = seed, faults, scores

    async def complete(self, request: Request) -> Reply:
        rng = random.Random(hashlib.sha256(f"{self._seed}{request.key}".encode()).digest())
        if rng.random() < self._faults:
            return self._failing(rng)
        assert request.schema is not None
        options = request.schema["properties"]

        def score(name: str) -> Any:
            node = options[name]["properties"]["score"]
            return rng.choice(node["enum"][: self._scores])

        words = {
            "moved_by": rng.choice(["", "a reason", "a reason", "a reason"]),
            "evidence": rng.choice([[], ["One."], ["never said"]]),
            "finding": rng.choice(["disputed", "consensus"]),
            "confidence": rng.choice(["low", "medium", "high"]),
            "question": "",
            "to": rng.choice([[], ["s0"], ["s0", "s1"], ["s0", "s1"], ["nobody"]]),
        }
        answer = filled(dict(request.schema), score, **words)
        return Reply(text=json.dumps(answer), usage=Usage(prompt=100, completion=20), usd=0.01)

    def _failing(self, rng: random.Random) -> Reply:
        match rng.randrange(4):
            case 0:
                return Reply(text="garbage", usage=Usage(prompt=100, completion=1), usd=0.01)
            case 1:
                return Reply(text="I cannot.", finish="refusal", usd=0.0)
            case 2:
                raise TransientFailure("down", retry_after=0.0)
            case _:
                raise ModelFailure("unavailable", "gone")

    async def close(self) -> None:
        return None


class Whims:
    """In place of a court's providers: one whimsical model for every seat."""

    def __init__(self, whim: Whim) -> None:
        self._queued = RateLimitedClient(whim, 64)

    def get(self, _: ModelSettings) -> RateLimitedClient:
        return self._queued

    async def close(self) -> None:
        return None


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), values)


LIMITS = st.builds(
    dict,
    max_rounds=st.integers(1, 4),
    max_turns=maybe(st.integers(1, 24)),
    max_stalls=maybe(st.integers(0, 2)),
    max_replans=maybe(st.integers(0, 2)),
    max_tokens=maybe(st.integers(1, 20_000)),
    # A limit in dollars on models without a price is refused before anything is asked.
    max_usd=st.none(),
)
WHIMS = st.builds(Whim, st.integers(0, 10**6), st.sampled_from([0.0, 0.02, 0.2, 1.0]), st.integers(1, 6))


@st.composite
def juries(draw: st.DrawFn) -> Jury:
    seats = draw(st.integers(2, 4))
    return Jury.model_validate(
        {
            "name": "j",
            "limits": draw(LIMITS),
            "tolerance": draw(st.sampled_from([0, 1])),
            "quorum": draw(st.integers(1, 2)),
            "challenge": draw(st.booleans()),
            "escalation": {"repeats": draw(st.integers(1, 3))},
            "stop": {"stable_rounds": draw(maybe(st.integers(1, 2))), "ks": draw(maybe(st.just(0.2)))},
            "seats": [{"name": f"s{n}", "model": "scripted"} for n in range(seats)],
            "orchestrator": {"model": "scripted"},
        }
    )


def deliberated(jury: Jury, whim: Whim) -> Transcript:
    async def heard() -> Transcript:
        court = Court()
        court.providers = Whims(whim)  # type: ignore[assignment]
        return await hear(CASE, RUBRIC, jury, court)

    return asyncio.run(heard())


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(jury=juries(), whim=WHIMS)
def test_it_ends_within_its_limits_with_every_seat_accounted_for(name: str, jury: Jury, whim: Whim) -> None:
    jury = jury.model_copy(update={"protocol": name})
    transcript = deliberated(jury, whim)
    limits, entries = jury.limits, transcript.entries

    assert transcript.stop is not None
    if transcript.stop.limit in type(limits).model_fields:
        assert transcript.stop.value == getattr(limits, transcript.stop.limit)
    assert limits.max_turns is None or transcript.turns <= limits.max_turns
    assert transcript.rounds <= (limits.max_rounds or 0)
    if limits.max_replans is not None:
        assert sum(isinstance(e, Ledger) and e.replan for e in entries) <= limits.max_replans
    if limits.max_tokens is not None:
        # A call whose usage is not told is counted by its texts, which are longer than what the others tell.
        each = 1_000 if transcript.cost.estimated else 120
        assert transcript.cost.usage.total <= limits.max_tokens + each * max(
            len(jury.seats), jury.escalation.repeats
        )

    ids = [entry.id for entry in entries]
    assert len(ids) == len(set(ids))
    steps = {entry.id: entry.step for entry in entries}
    for entry in transcript.ballots:
        assert all(steps[seen] < entry.step for seen in entry.ballot.saw)

    heard = {entry.speaker.partition("#")[0] for entry in transcript.heard}
    if name == "single":
        assert heard == {"s0"}
    elif name == "escalate" and heard != set(jury.seat_names):
        # Not asked, because the judge was sure or nothing was left to ask with: the clerk says which.
        notes = [e.text for e in entries if isinstance(e, Said) and e.about == "escalation"]
        assert heard == {"s0"} and len(notes) == 1
        assert "decided without the panel" in notes[0] or transcript.stop.reason in ("budget", "time")
    else:
        assert heard == set(jury.seat_names)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(jury=juries(), whim=WHIMS, seed=st.integers(0, 999))
def test_a_recount_does_not_depend_on_the_order_of_jurors(
    name: str, jury: Jury, whim: Whim, seed: int
) -> None:
    jury = jury.model_copy(update={"protocol": name})
    transcript = deliberated(jury, whim)
    rng = random.Random(seed)
    by_step: dict[int, list[Any]] = {}
    for entry in transcript.entries:
        by_step.setdefault(entry.step, []).append(entry)
    shuffled = tuple(e for step in by_step.values() for e in rng.sample(step, len(step)))
    reseated = jury.model_copy(update={"seats": tuple(reversed(jury.seats))})
    other = transcript.model_copy(update={"entries": shuffled, "seats": reseated.seat_names})
    for rule in RULES:
        first, second = recount(transcript, RUBRIC, jury, rule), recount(other, RUBRIC, reseated, rule)
        for attribute in RUBRIC.names:
            a, b = first[attribute], second[attribute]
            assert (a.status, a.value, a.support, a.method) == (b.status, b.value, b.support, b.method)
