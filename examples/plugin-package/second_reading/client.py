"""`fixed/SCORE`: a judge that gives every attribute the same score, or the legal one that is nearest. A baseline."""

from __future__ import annotations

import json
from typing import Any

from venire.plugin import ModelClient, ModelFailure, ModelSettings, Reply, Request, VenireError


class FixedClient(ModelClient):
    """Fills every form with one score. No network, no cost, and no prompt is read."""

    context_window = None
    in_process = True
    votes_only = True

    def __init__(self, score: int) -> None:
        self._score = score

    async def complete(self, request: Request) -> Reply:
        """The form that the request asks for, filled in."""
        if request.schema is None:
            raise ModelFailure("refused", "a fixed judge fills forms and does not converse")
        filled = {name: self._fill(part["properties"]) for name, part in request.schema["properties"].items()}
        return Reply(text=json.dumps(filled), usd=0.0)

    def _fill(self, fields: dict[str, Any]) -> dict[str, Any]:
        legal = [score for score in fields["score"].get("enum", ()) if isinstance(score, int)]
        score = min(legal, key=lambda value: abs(value - self._score), default=self._score)
        words = {"score": score, "rationale": "It is always the same.", "evidence": [], "moved_by": ""}
        return {name: words[name] for name in fields}


def fixed(settings: ModelSettings) -> ModelClient:
    """The client for a model string such as `fixed/3`."""
    score = (settings.model or "").partition("/")[2]
    if not score.isdigit():
        raise VenireError(f"{settings.model!r} has no score", remedy="write the score after a slash: fixed/3")
    return FixedClient(int(score))
