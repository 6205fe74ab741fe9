"""The manifest of an arm: everything that decides what it will ask; and what changed between two of them, in words."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ...agents.cost import Price
from ...agents.gateway import adapter_hashes
from ...agents.model import digest
from ...agents.prompting import PAIR_PROMPTS, PROMPTS
from ...personas.jury import Jury
from ...rubrics.case import Case
from ...rubrics.rubric import Rubric
from ..protocols import protocol
from ..worked_examples import ScoredCases, worked_examples
from .database import without_password

Manifest = Mapping[str, Any]
_PACKAGES = ("aiohttp", "litellm", "pydantic", "autogen-agentchat")
"""Whose versions a manifest names."""
_TEXTS = ("source", "messages", "output", "output_b", "reference", "question", "audience")


def arm_manifest(
    rubric: Rubric, jury: Jury, *, seed: int, scored: ScoredCases, prices: Mapping[str, Price]
) -> dict[str, Any]:
    """Everything that decides what the jury will ask. A key in a seat's address is not part of it.

    `scored` are the cases that may not be worked examples.
    """
    way = protocol(jury.protocol)
    questions = rubric.model_dump(mode="json")
    examples = worked_examples(jury.shots, rubric, scored)
    adapters = adapter_hashes(jury, presided=way.orchestrator)
    inputs = way.inputs(jury) if way.inputs is not None else ""
    return {
        "venire": version("venire"),
        "rubric": questions,
        "jury": _without_keys(jury.model_dump(mode="json")),
        "prompts": PROMPTS.hash,
        **({"adapters": dict(adapters)} if adapters else {}),
        **({"pair_prompts": PAIR_PROMPTS.hash} if rubric.compares else {}),
        **({} if way.prompts is None else {"protocol_prompts": way.prompts.hash}),
        "examples": digest(examples) if examples else "",
        "seed": seed,
        "made_with": _package_versions(),
        "prices": {model: price.model_dump() for model, price in prices.items()},
        "rubric_hash": fingerprint(_without_costs(questions)),
        **({"inputs": inputs} if inputs else {}),
    }


def arm_fingerprint(manifest: dict[str, Any]) -> str:
    """A hash of what can change an answer: all of it but prices, the versions of other packages and what answers are worth."""
    unhashed = ("made_with", "prices")
    parts = {part: value for part, value in manifest.items() if part not in unhashed}
    return fingerprint({**parts, "rubric": _without_costs(manifest["rubric"])})


def case_fingerprint(case: Case) -> str:
    """A hash of what the jurors could have read; a changed label does not make a new case."""
    return fingerprint(
        case.model_dump(mode="json", exclude={"metadata", "group", "system", "system_b", "swapped"})
    )


def fingerprint(value: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def manifest_changes(before: Manifest, now: Manifest) -> list[str]:
    """Each part that differs between an arm's two manifests, in words."""
    return [
        *_rubric_changes(before["rubric"], now["rubric"]),
        *_jury_changes(before["jury"], now["jury"]),
        *_other_changes(before, now),
    ]


def case_changes(before: Case, now: Case) -> str:
    """Which texts of a case differ."""
    return ", ".join(name for name in _TEXTS if getattr(before, name) != getattr(now, name)) or "its form"


def _without_costs(rubric: dict[str, Any]) -> dict[str, Any]:
    """The rubric as it is put to jurors, who never read what an answer is worth."""
    scales = {
        name: {part: value for part, value in scale.items() if part != "costs"}
        for name, scale in rubric["scales"].items()
    }
    return {**rubric, "scales": scales}


def _without_keys(node: Any) -> Any:
    if isinstance(node, dict):
        return {
            name: without_password(value) if name == "base_url" and value else _without_keys(value)
            for name, value in node.items()
        }
    return [_without_keys(item) for item in node] if isinstance(node, list) else node


@cache
def _package_versions() -> dict[str, str]:
    """The versions that calls and prices come from; a package that is not installed is left out."""
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions


def _rubric_changes(before: Manifest, now: Manifest) -> Iterator[str]:
    if before["name"] != now["name"]:
        yield f"rubric {before['name']} was replaced by {now['name']}"
    elif before != now:
        yield f"rubric {now['name']} changed"


def _jury_changes(before: Manifest, now: Manifest) -> Iterator[str]:
    seated, sitting = ({seat["name"]: seat for seat in jury["seats"]} for jury in (before, now))
    for name in seated.keys() - sitting.keys():
        yield f"seat {name} was removed"
    for name, seat in sitting.items():
        if name not in seated:
            yield f"seat {name} is new"
        else:
            yield from _seat_changes(f"seat {name}", seated[name], seat)
    if list(seated) != list(sitting) and seated.keys() == sitting.keys():
        yield "the order of the seats changed"
    yield from _seat_changes(
        "the orchestrator", before.get("orchestrator") or {}, now.get("orchestrator") or {}
    )
    for part in dict.fromkeys((*before, *now)):
        if part not in ("name", "seats", "orchestrator") and before.get(part) != now.get(part):
            yield f"{part} changed"


def _seat_changes(who: str, before: Manifest, now: Manifest) -> Iterator[str]:
    persona, other = before.get("persona"), now.get("persona")
    if persona != other:
        if persona and other and persona["name"] == other["name"]:
            yield f"persona {other['name']} of {who} changed"
        elif other:
            yield f"{who} has a different persona: {other['name']}"
        elif persona:
            yield f"persona {persona['name']} of {who} was removed"
    # A part at its default is in neither: what a seat no longer has is a change as well.
    for part in dict.fromkeys((*before, *now)):
        if part != "persona" and before.get(part) != now.get(part):
            yield f"{part} of {who} changed from {before.get(part)} to {now.get(part)}"


def _other_changes(before: Manifest, now: Manifest) -> Iterator[str]:
    for part, what in (
        ("prompts", "the prompts"),
        ("pair_prompts", "the prompts for pairs"),
        ("protocol_prompts", "the protocol's own prompts"),
        ("examples", "the worked examples"),
        ("inputs", "a file that the protocol's options name"),
    ):
        if before.get(part, "") != now.get(part, ""):
            yield f"{what} changed"
    for part, what in (("seed", "the seed"), ("venire", "venire")):
        if before.get(part) != now.get(part):
            yield f"{what} changed from {before.get(part)} to {now.get(part)}"
