"""`lens/claims`: lists and checks claims without a language model."""

from __future__ import annotations

import json
import time
from typing import Any

from ..lenses.claims import check_claim, clauses
from ..model import ModelFailure, Reply, Request, Subject
from ..model_client import ModelClient
from ..prices import FREE, Price


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
    texts = [e.text[start:end] for e in subject.exhibits for start, end in clauses(e.text)]
    return {"claims": [{"text": text, "quote": text, "central": False} for text in texts]}


def _check(claim: str, text: str, subject: Subject) -> dict[str, str]:
    found = check_claim(text, "\n".join(exhibit.text for exhibit in subject.exhibits))
    return {"claim": claim, "reason": found.reason, "evidence": found.quote, "verdict": found.verdict}
