"""`scripted/FILE`: answers written down beforehand, faults included, for tests and rehearsals."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from ...personas.jury import ModelSettings
from ...rubrics.yaml_files import load_yaml
from ..cost import FREE, Price
from ..model import Reply, Request, Subject, TransientFailure, Usage
from ..model_client import ClientFactory, ModelClient
from .lens import listed_clauses

Fault = Literal["garbage", "refuse", "timeout", "down"]
_NEXT_SPEAKER = "next_speaker"
"""The field by which a progress ledger of Magentic-One is known."""


class Line(BaseModel):
    """One scripted vote: a score, and the words that go with it."""

    model_config = ConfigDict(extra="forbid")

    score: int | float | str
    rationale: str = "Scripted."
    evidence: list[str] = []
    moved_by: str = ""
    confidence: Literal["low", "medium", "high"] = "high"
    dispute: str = "The jurors differ."
    question: str = "Which reading do the exhibits bear out?"
    to: list[str] | None = None
    """Whom the orchestrator asks; everyone, unless it is said."""
    weighed: list[str] | None = None
    finding: Literal["disputed", "consensus"] = "consensus"
    """Of a moderator: whether it declares the jury agreed."""
    answering: str = ""
    """Of a moderator: whose argument is to be answered."""


class Script(BaseModel):
    """What each seat says, round by round; what it said last of an attribute it says again."""

    model_config = ConfigDict(extra="forbid")

    seats: dict[str, list[Fault | dict[str, Line | int | float | str]]] = {}
    claims: Fault | dict[str, list[str]] = {}
    """By text (`output`, `reference`): the claims that an extractor lists; without any, its clauses."""
    checks: dict[str, Fault | dict[str, str]] = {}
    """By seat: its verdicts by claim id; a claim that is not there is `not_addressed`."""
    orchestrator: Fault | dict[str, Line | int | float | str] = {}
    """Its decisions by attribute, or the way it fails."""


def connect(settings: ModelSettings) -> ScriptedClient:
    file = (settings.model or "").partition("/")[2]
    return ScriptedClient(load_yaml(Path(file), Script) if file else None)


class ScriptedClient(ModelClient):
    """Plays a script; a seat that has no lines, or no script at all, picks a score by the hash of the question."""

    def __init__(self, script: Script | None) -> None:
        self._script = script or Script()

    async def complete(self, request: Request) -> Reply:
        subject = request.subject
        if subject is not None and subject.kind in ("extraction", "verification"):
            return self._claims_reply(subject)
        # A conversation without a subject is the one that an orchestrator of Magentic-One holds.
        said = self._script.orchestrator if subject is None else self._script_for(subject)
        if isinstance(said, str):
            return _fault(said)
        fields = request.schema["properties"] if request.schema is not None else {}
        answer: Any
        if not fields:
            answer = "Scripted: every juror is heard once, in the order of the seats."
        elif _NEXT_SPEAKER in fields:
            answer = _ledger(request)
        else:
            answer = {
                name: _part(said.get(name), part["properties"], f"{request.key}{name}")
                for name, part in fields.items()
            }
        text = json.dumps(answer)
        prompt = sum(len(message.content) for message in request.messages) // 4
        return Reply(text=text, usage=Usage(prompt=prompt, completion=len(text) // 4), usd=0.0)

    def list_price(self, model: str) -> Price:
        return FREE

    def _claims_reply(self, subject: Subject) -> Reply:
        """Claims and checks as the script has them."""
        answer: dict[str, Any]
        if subject.kind == "extraction":
            if isinstance(self._script.claims, str):
                return _fault(self._script.claims)
            texts = self._script.claims.get(subject.exhibits[0].name)
            answer = (
                listed_clauses(subject)
                if texts is None
                else {"claims": [{"text": text, "quote": text, "central": False} for text in texts]}
            )
        else:
            verdicts = self._script.checks.get(subject.seat, {})
            if isinstance(verdicts, str):
                return _fault(verdicts)
            answer = {
                "checks": [
                    {
                        "claim": claim.id,
                        "reason": "Scripted.",
                        "evidence": "",
                        "verdict": verdicts.get(claim.id, "not_addressed"),
                    }
                    for claim in subject.claims
                ]
            }
        return Reply(text=json.dumps(answer), usd=0.0)

    def _script_for(self, subject: Subject) -> Any:
        if subject.kind != "ballot":
            return self._script.orchestrator
        lines = (self._script.seats.get(subject.seat) or [{}])[: subject.round]
        if isinstance(lines[-1], str):
            return lines[-1]
        return {
            name: line
            for lines_of_round in lines
            if isinstance(lines_of_round, dict)
            for name, line in lines_of_round.items()
        }


def _ledger(request: Request) -> dict[str, Any]:
    """A progress ledger of Magentic-One: calls on each juror once, in order, and is satisfied then."""
    assert request.schema is not None
    jurors = request.schema["properties"][_NEXT_SPEAKER]["properties"]["answer"]["enum"]
    # The orchestrator has spoken once to give the plan, and once before each turn.
    turns = sum(message.role == "assistant" for message in request.messages) - 1
    answers = {
        "is_request_satisfied": turns >= len(jurors),
        "is_in_loop": False,
        "is_progress_being_made": True,
        _NEXT_SPEAKER: jurors[turns % len(jurors)],
        "instruction_or_question": "Please give your ballot.",
    }
    return {name: {"reason": "Scripted.", "answer": answer} for name, answer in answers.items()}


def _fault(fault: str) -> Reply:
    match fault:
        case "refuse":
            return Reply(text="I cannot judge this.", finish="refusal", usd=0.0)
        case "timeout":
            raise TransientFailure("scripted to time out", reason="timeout", retry_after=0.0)
        case "down":
            raise TransientFailure("scripted to be down", retry_after=0.0)
        case _:
            return Reply(text="garbage, as scripted", usd=0.0)


def _part(line: Line | int | float | str | None, properties: dict[str, Any], key: str) -> dict[str, Any]:
    """One attribute's part of the answer: the scripted line, cut to the fields that were asked for."""
    said = (
        line if isinstance(line, Line) else Line(score=_pick_score(properties, key) if line is None else line)
    )
    fields: dict[str, Any] = said.model_dump()
    for name in ("to", "weighed"):
        if fields[name] is None and name in properties:
            fields[name] = _legal(properties[name]["items"])
    fields["moved_by"] = fields["moved_by"] or "Scripted."
    return {name: fields[name] for name in properties}


def _legal(node: dict[str, Any]) -> list[Any]:
    return [node["const"]] if "const" in node else node.get("enum", [])


def _pick_score(properties: dict[str, Any], key: str) -> Any:
    score = properties.get("score")
    if score is None:
        return 0
    legal = _legal(score) or [score.get("minimum", 0), score.get("maximum", 1)]
    return legal[int(hashlib.sha256(key.encode()).hexdigest(), 16) % len(legal)]


client_factory = ClientFactory(connect=connect, per_model=True)
