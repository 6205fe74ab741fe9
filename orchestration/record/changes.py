"""What changed since a run began: which part of a jury, of its rubric, of a case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...rubrics.case import Case

Manifest = Mapping[str, Any]

_TEXTS = ("source", "output", "reference", "question", "audience")


def manifest_changes(before: Manifest, now: Manifest) -> list[str]:
    """Each part that differs between an arm's two manifests, in words."""
    return [
        *_rubric(before["rubric"], now["rubric"]),
        *_jury(before["jury"], now["jury"]),
        *_rest(before, now),
    ]


def case_changes(before: Case, now: Case) -> str:
    """Which texts of a case differ."""
    return ", ".join(name for name in _TEXTS if getattr(before, name) != getattr(now, name)) or "its form"


def _rubric(before: Manifest, now: Manifest) -> Iterator[str]:
    if before["name"] != now["name"]:
        yield f"rubric {before['name']} was replaced by {now['name']}"
    elif before != now:
        yield f"rubric {now['name']} changed"


def _jury(before: Manifest, now: Manifest) -> Iterator[str]:
    seated, sitting = ({seat["name"]: seat for seat in jury["seats"]} for jury in (before, now))
    for name in seated.keys() - sitting.keys():
        yield f"seat {name} left"
    for name, seat in sitting.items():
        if name not in seated:
            yield f"seat {name} is new"
        else:
            yield from _seat(f"seat {name}", seated[name], seat)
    if list(seated) != list(sitting) and seated.keys() == sitting.keys():
        yield "the seats changed places"
    yield from _seat("the orchestrator", before.get("orchestrator") or {}, now.get("orchestrator") or {})
    for part in dict.fromkeys((*before, *now)):
        if part not in ("name", "seats", "orchestrator") and before.get(part) != now.get(part):
            yield f"{part} changed"


def _seat(who: str, before: Manifest, now: Manifest) -> Iterator[str]:
    persona, other = before.get("persona"), now.get("persona")
    if persona != other:
        named = (other or persona or {}).get("name", "")
        same = persona and other and persona["name"] == other["name"]
        yield f"persona {named} of {who} changed" if same else f"{who} has another persona: {named}"
    for part in now:
        if part != "persona" and before.get(part) != now[part]:
            yield f"{part} of {who} changed from {before.get(part)} to {now[part]}"


def _rest(before: Manifest, now: Manifest) -> Iterator[str]:
    if before.get("prompts") != now.get("prompts"):
        yield "the prompts changed"
    if before.get("protocol_prompts") != now.get("protocol_prompts"):
        yield "the protocol's own prompts changed"
    if before.get("examples", "") != now.get("examples", ""):
        yield "the worked examples changed"
    if before.get("inputs", "") != now.get("inputs", ""):
        yield "a file that the protocol's options name changed"
    if before.get("seed") != now.get("seed"):
        yield f"the seed changed from {before.get('seed')} to {now.get('seed')}"
    if before.get("venire") != now.get("venire"):
        yield f"venire changed from {before.get('venire')} to {now.get('venire')}"
