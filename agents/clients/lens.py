"""`lens/NAME`: jurors that are not language models. They count words, quote what they counted, and say so; `lens/claims` lists and checks claims."""

from __future__ import annotations

import json
import time
from typing import Any

from ...personas.jury import ModelSettings
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ..cost import FREE, Price
from ..lenses import LENSES, SINGLE, LensReading, place, reading_for
from ..model import ModelFailure, Reply, Request, Subject
from ..model_client import ClientFactory, ModelClient

CLAIMS = "claims"
"""The lens that lists and checks claims, and casts no ballot."""


def connect(settings: ModelSettings) -> LensClient | ClaimLensClient:
    name = (settings.model or "").partition("/")[2]
    if name == CLAIMS:
        return ClaimLensClient()
    known = [*LENSES, SINGLE, CLAIMS]
    if name not in known:
        raise VenireError(f"no lens named {name!r}", remedy=nearest(name, known))
    return LensClient(name)


class LensClient(ModelClient):
    """One lens. Its answer depends on the exhibits alone, never on the prompt or on the other jurors."""

    context_window = None
    votes_only = True

    def __init__(self, name: str) -> None:
        self.name = name

    def answers_for(self, subject: Subject) -> tuple[str, ...]:
        """The attributes it sees something of in this case; on others it has no opinion."""
        if subject.rubric.compares:
            return subject.asked
        return tuple(name for name in subject.asked if self._read(subject, name) is not None)

    async def complete(self, request: Request) -> Reply:
        subject = request.subject
        if subject is None or subject.kind != "ballot" or request.schema is None:
            raise ModelFailure("refused", f"lens/{self.name} counts words; it can only vote")
        if subject.rubric.compares:
            raise ModelFailure("refused", f"lens/{self.name} measures one output; it cannot compare two")
        started = time.perf_counter()
        answer: dict[str, Any] = {}
        for name in subject.asked:
            reading = self._read(subject, name)
            if reading is None:
                raise ModelFailure("refused", f"lens/{self.name} finds nothing in this case about {name}")
            vote = {
                "rationale": reading.rationale,
                "evidence": list(reading.quotes),
                "moved_by": "",
                "confidence": "high",
                "score": _score(reading.merit, subject, name),
            }
            answer[name] = {part: vote[part] for part in request.schema["properties"][name]["properties"]}
        return Reply(text=json.dumps(answer), usd=0.0, seconds=time.perf_counter() - started)

    def _read(self, subject: Subject, attribute: str) -> LensReading | None:
        source = [e.text for e in subject.exhibits if e.name.startswith("source")]
        output = next(e.text for e in subject.exhibits if e.name == "output")
        return reading_for(self.name, attribute, source, output)

    def list_price(self, model: str) -> Price:
        return FREE


class ClaimLensClient(ModelClient):
    """Takes clauses for claims, and checks them by the words, numbers and negations they share with a text."""

    context_window = None
    votes_only = True

    async def complete(self, request: Request) -> Reply:
        started = time.perf_counter()
        match request.subject:
            case Subject(kind="extraction") as subject:
                answer = listed_clauses(subject)
            case Subject(kind="verification") as subject:
                answer = {"checks": [_check(claim.id, claim.text, subject) for claim in subject.claims]}
            case _:
                raise ModelFailure("refused", "lens/claims lists and checks claims; it can do nothing else")
        return Reply(text=json.dumps(answer), usd=0.0, seconds=time.perf_counter() - started)

    def list_price(self, model: str) -> Price:
        return FREE


def listed_clauses(subject: Subject) -> dict[str, Any]:
    """An extractor's answer in which each clause of the exhibits is a claim."""
    from ..lenses.claims import clauses

    texts = [e.text[start:end] for e in subject.exhibits for start, end in clauses(e.text)]
    return {"claims": [{"text": text, "quote": text, "central": False} for text in texts]}


def _check(claim: str, text: str, subject: Subject) -> dict[str, str]:
    from ..lenses.claims import check_claim

    checked = check_claim(text, "\n".join(exhibit.text for exhibit in subject.exhibits))
    return {"claim": claim, "reason": checked.reason, "evidence": checked.quote, "verdict": checked.verdict}


def _score(merit: float, subject: Subject, attribute: str) -> Any:
    scale, better = subject.rubric.scale_of(attribute), subject.rubric.by_name[attribute].better
    if scale.values:
        return place(merit, scale.values, better=better)
    low, high = (float(end) for end in scale.ends)
    return low + (merit if better == "high" else 1 - merit) * (high - low)


client_factory = ClientFactory(connect=connect, per_model=True)
