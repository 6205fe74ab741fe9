"""A rubric with every kind of scale, and a server whose jurors all give it the same scores."""

from __future__ import annotations

from openai_server import ProviderServer, jury_of

from venire import Rubric

RUBRIC = Rubric.model_validate(
    {
        "name": "mixed",
        "version": 1,
        "scales": {
            "agree5": {"level": "ordinal", "anchors": {1: "a", 2: "b", 3: "c", 4: "d", 5: "e"}},
            "kind": {"level": "nominal", "anchors": {"plain": "a", "odd": "b"}},
        },
        "attributes": [
            {"name": "accurate", "question": "Is it right?", "scale": "agree5"},
            {"name": "risk", "question": "Is it dangerous?", "scale": "agree5", "better": "low", "reverse_as": "safety"},
            {"name": "tone", "question": "Of which kind is it?", "scale": "kind"},
            {"name": "plan", "question": "Is the plan right?", "scale": "agree5", "may_not_apply": True},
        ],
        "composites": {"overall": {"accurate": 0.5, "safety": 0.5}},
    }
)  # fmt: skip
SCORES = {"accurate": 4, "risk": 2, "tone": "plain", "plan": "not_applicable"}


def agreeing_server(*names: str) -> ProviderServer:
    """A server of jurors with these names, who all give `SCORES`."""
    return ProviderServer(jury_of(dict.fromkeys(names, SCORES)), latency=0.01)
