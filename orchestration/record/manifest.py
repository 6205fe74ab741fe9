"""The manifest of an arm: everything that decides what it will ask, and what it was made with."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ...agents.model import digest
from ...agents.prices import Price
from ...agents.prompting import PROMPTS
from ...personas.jury import Jury
from ...rubrics.case import Case
from ...rubrics.rubric import Rubric
from . import without_password

_PACKAGES = ("httptools", "litellm", "pydantic", "autogen-agentchat")


def manifest(
    rubric: Rubric,
    jury: Jury,
    *,
    seed: int,
    examples: str,
    protocol_prompts: str | None,
    prices: Mapping[str, Price],
    adapters: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """What the arm is. A key in a seat's address is not part of it.

    `examples` is the text of its worked examples; `protocol_prompts` the hash of the prompts that its protocol brings,
    None where it has venire's only; `adapters` the hashes of those on its local models, by seat.
    """
    asked = rubric.model_dump(mode="json")
    return {
        "venire": version("venire"),
        "rubric": asked,
        "jury": _without_keys(jury.model_dump(mode="json")),
        "prompts": PROMPTS.hash,
        **({"adapters": dict(adapters)} if adapters else {}),
        **({} if protocol_prompts is None else {"protocol_prompts": protocol_prompts}),
        "examples": digest(examples) if examples else "",
        "seed": seed,
        "made_with": _made_with(),
        "prices": {model: price.model_dump() for model, price in prices.items()},
        "rubric_hash": fingerprint(_without_costs(asked)),
    }


def arm_fingerprint(manifest: dict[str, Any]) -> str:
    """A hash of what can change an answer: all of it but prices, the versions of other packages and what answers are worth."""
    unhashed = ("made_with", "prices")
    parts = {part: value for part, value in manifest.items() if part not in unhashed}
    return fingerprint({**parts, "rubric": _without_costs(manifest["rubric"])})


def case_fingerprint(case: Case) -> str:
    """A hash of what the jurors could have read; a changed label does not make a new case."""
    return fingerprint(case.model_dump(mode="json", exclude={"metadata", "group", "system"}))


def fingerprint(value: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


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
def _made_with() -> dict[str, str]:
    """The versions that calls and prices come from."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
