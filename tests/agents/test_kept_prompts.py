"""Every question that a juror or whoever presides is asked: its parts in order, what stands beside it for those who read no prompt, and its answer."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from kept_figures import check_kept
from openai_server import Call
from talk_traces import CASE, RICH, marks, spoken

from venire import Case, Rubric
from venire.agents.budget import Budget, Meter
from venire.agents.gateway import ModelGateway, Unrecorded
from venire.agents.juror import Juror, OrchestratorQuestion, Turn
from venire.agents.model import Reply, Request, Usage
from venire.agents.model_client import ModelClient
from venire.agents.orchestrator import Orchestrator
from venire.agents.prompting import PROMPTS, Brief, Statement, brief
from venire.agents.providers import RateLimitedClient
from venire.personas.jury import ModelSettings, Seat
from venire.personas.options import Limits
from venire.personas.persona import Persona
from venire.rubrics.ballot import Quote, Vote

KEPT = Path(__file__).parent / "kept"
VIEW = Persona(name="view", version=1, attends_to="zq-view", voice="zq-voice\n")
ASKED = ("accurate", "thorough", "plan")


class Answering(ModelClient):
    """A model that keeps what it was asked and fills every form with the usual scores; with less room where told."""

    def __init__(self, window: int | None = 128_000, said: Callable[[Call], Any] | None = None) -> None:
        self.context_window = window
        self.asked: list[Request] = []
        self._said = said or (lambda call: spoken(call, {}))

    async def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        body = {"messages": [], "response_format": {"json_schema": {"schema": dict(request.schema or {})}}}
        answer = self._said(Call("m", body, {}, len(self.asked) - 1))
        text = answer if isinstance(answer, str) else json.dumps(answer)
        return Reply(text, Usage(3000, 900), 0.01, 2.0)


def gateway(client: ModelClient) -> ModelGateway:
    settings = ModelSettings(model="server/m", seed=4, timeout=9)
    provider = RateLimitedClient(client, 1)
    return ModelGateway(provider, settings, calls=Unrecorded(), meter=Meter(Limits(), Budget()), rng=random.Random(1))  # fmt: skip


def vote(name: str, value: Any, who: str, *, found: bool = True, moved: str = "") -> Vote:
    quote = Quote(text=f"zq-quote-{who}", exhibit="source 1" if found else None)
    return Vote(attribute=name, value=value, rationale=f"zq-why-{who}-{name}", evidence=(quote,), moved_by=moved)  # fmt: skip


OWN = {name: vote(name, value, "own") for name, value in (("accurate", 4), ("thorough", 2), ("risk", 5))}
HEARD = [
    Statement("1/b", "b", vote("accurate", 2, "b", moved="zq-moved-b")),
    Statement("1/c", "c", vote("accurate", 2, "c", found=False)),
    Statement("1/b", "b", vote("thorough", 5, "b")),
    Statement("1/c", "c", vote("risk", 1, "c")),
]
QUESTIONS = [OrchestratorQuestion("accurate", "zq-asked [[words \"x\" ends]]"), OrchestratorQuestion("plan", "zq-asked-2")]  # fmt: skip


def told(request: Request) -> dict[str, Any]:
    """A request's parts, and its subject for those who read no prompt."""
    subject = request.subject
    made: dict[str, Any] = {
        "messages": [f"{m.role}: {marks(m.content)}".replace(" ", "_") for m in request.messages],
        "form": ",".join((request.schema or {}).get("properties", {})),
        "parts": ",".join(next(iter((request.schema or {})["properties"].values()))["properties"]) if request.schema else "",
        "request": [request.repeat, request.timeout, request.max_reply, json.dumps(request.settings).replace(" ", "")],
    }  # fmt: skip
    if subject is not None:
        context = subject.context
        made["subject"] = [subject.case, subject.seat, ",".join(subject.asked), subject.round, subject.kind, len(subject.exhibits), context.first]  # fmt: skip
        made["own"] = [f"{v.attribute}={v.value}" for v in context.own]
        made["heard"] = [f"{label}:{v.attribute}={v.value}".replace(" ", "_") for label, v in context.heard]
        made["notes"] = [
            marks(note).replace(" ", "_") or f"words{len(context.notes)}" for note in context.notes
        ]
    return made


Asks = Callable[[Juror, Brief], Awaitable[Any]]
JUROR: dict[str, Asks] = {
    "cast": lambda j, b: j.cast(b, ASKED, examples="\n# Worked examples\nzq-example\n", confidence=True, repeat=2, name="j#3"),
    "cast bare": lambda j, b: j.cast(b, b.rubric.names),
    "revise": lambda j, b: j.revise(b, ASKED, round=2, own=OWN, heard=HEARD, questions=QUESTIONS, notice="zq-notice"),
    "revise alone": lambda j, b: j.revise(b, ASKED, round=3, own={}, heard=[], repeat=1),
    "join": lambda j, b: j.join(b, ASKED, round=2, heard=HEARD, notice="zq-notice", examples="zq-example", repeat=1),
    "argue high": lambda j, b: j.argue(b, ASKED, side="high", round=1, own={}, heard=[]),
    "argue low": lambda j, b: j.argue(b, ASKED, side="low", round=2, own=OWN, heard=HEARD),
    "vote": lambda j, b: j.vote(b, ASKED, round=2, heard=HEARD),
    "challenge": lambda j, b: j.challenge(b, ("accurate", "thorough"), round=2, own=OWN, saw=("1/b", "1/c")),
    "ask": lambda j, b: j.ask(b, ASKED, PROMPTS, "revision", round=2, own=OWN, heard=HEARD, parts={"questions": "zq-part [[words"}, quotes={"more": "zq-quoted"}, notes=("zq-note",), repeat=1),
}  # fmt: skip
PAIR = Rubric.model_validate(
    {
        "name": "pair",
        "version": 1,
        "kind": "pair",
        "scales": {"which": {"level": "ordinal", "anchors": {-1: "zq-A", 0: "zq-tie", 1: "zq-B"}}},
        "attributes": [{"name": name, "question": f"zq-{name}", "scale": "which"} for name in ASKED],
    }
)
PAIRED = Case.from_row({"id": "p3", "output_a": "zq-first", "output_b": "zq-second", "question": "zq-asked"})
PREFERS = {name: vote(name, 1, "own") for name in ASKED}


def answered(turn: Turn) -> list[str]:
    answer = turn.answer
    votes = [f"{v.attribute}={v.value}/{v.confidence}/{v.orders}" for v in getattr(answer, "votes", ())]
    gone = [f"{part.attribute}:{part.reason}" for part in getattr(answer, "abstained", ())]
    facts = [type(answer).__name__, answer.juror, answer.round, getattr(answer, "reason", ""), ",".join(answer.saw), turn.first, len(turn.spent.calls), turn.spent.seconds]  # fmt: skip
    return ["/".join(map(str, facts)), *votes, *gone]


def plain(value: Any) -> Any:
    return json.loads(json.dumps(value, separators=(",", ":")).replace(" ", "_"))


def asked_of_a_juror(ask: Asks, client: Answering, made: Brief, **seat: Any) -> dict[str, Any]:
    turn = asyncio.run(ask(Juror("j", VIEW, gateway(client), **seat), made))
    return {"asked": [told(request) for request in client.asked], "answered": answered(turn)}


def test_what_a_juror_is_asked_is_what_it_was() -> None:
    made = {name: asked_of_a_juror(ask, Answering(), brief(CASE, RICH)) for name, ask in JUROR.items()}
    for room in (6000, 2600, 1500, 300):
        # With less room reasons are left out, then no question is asked at all.
        client = Answering(room)
        long = [Statement(s.entry, s.label, s.vote.model_copy(update={"rationale": f"{s.vote.rationale} " + "word " * 200 * n})) for n, s in enumerate(HEARD * 2, 1)]  # fmt: skip
        turn = asyncio.run(Juror("j", None, gateway(client)).revise(brief(CASE, RICH), ASKED, round=2, own=OWN, heard=long))  # fmt: skip
        made[f"room for {room}"] = {"asked": [told(request) for request in client.asked], "answered": answered(turn)}  # fmt: skip
    check_kept(KEPT / "juror.json", plain(made))


def test_what_a_juror_is_asked_of_a_pair_is_what_it_was() -> None:
    def undecided(call: Call) -> Any:
        """In one order an output is preferred that in the other is not, or less."""
        scores = ({"accurate": 1, "thorough": 1, "plan": 0}, {"accurate": 1, "thorough": -1, "plan": 1})
        return spoken(call, scores[call.number % 2])

    pair, made = brief(PAIRED, PAIR), {}
    for order in ("balanced", "fixed", "both"):
        for place in (0, 1):
            ask: Asks = lambda j, b: j.revise(b, ASKED, round=2, own=PREFERS, heard=HEARD[:2])  # noqa: E731
            made[f"{order} {place}"] = asked_of_a_juror(ask, Answering(said=undecided), pair, place=place, order=order)  # fmt: skip
    for side in ("high", "low"):
        made[f"argue {side}"] = asked_of_a_juror(lambda j, b, side=side: j.argue(b, ASKED, side=side, round=1, own={}, heard=[]), Answering(), pair)  # type: ignore[misc]  # fmt: skip
    check_kept(KEPT / "pair.json", plain(made))


CHAIR: dict[str, Callable[[Orchestrator, Brief], Awaitable[Any]]] = {
    "disputes": lambda o, b: o.name_disputes(b, ASKED[:2], HEARD, round=2, replan=False),
    "new disputes": lambda o, b: o.name_disputes(b, ASKED[:1], HEARD, round=3, replan=True),
    "moderation": lambda o, b: o.moderate(b, ASKED[:2], HEARD, round=2, replan=True),
    "decision": lambda o, b: o.decide(b, ASKED[:2], HEARD, round=3, why="zq-stopped"),
}


def test_what_whoever_presides_is_asked_is_what_it_was() -> None:
    seats = [Seat(name="a", persona=VIEW), Seat(name="b")]
    made: dict[str, Any] = {}
    for name, ask in CHAIR.items():
        for stance in ("", " zq-stance\n"):
            client = Answering()
            result = asyncio.run(ask(Orchestrator(gateway(client), seats, stance), brief(CASE, RICH)))  # type: ignore[arg-type]
            parts = [part.model_dump() for part in (*getattr(result, "disputes", ()), *getattr(result, "findings", ()))]  # fmt: skip
            made[f"{name}{stance}"] = {"asked": [told(r) for r in client.asked], "parts": parts, "declared": list(getattr(result, "declared", ()))}  # fmt: skip
    made["pair"] = [told(r) for r in _presided(brief(PAIRED, PAIR), seats)]
    check_kept(KEPT / "chair.json", plain(made))


def _presided(pair: Brief, seats: list[Seat]) -> list[Request]:
    client = Answering()
    asyncio.run(Orchestrator(gateway(client), seats).decide(pair, ASKED[:1], HEARD[:1], round=1, why="x"))
    return client.asked
