"""What the engine would say first after a prompt, to hold one way of loading a model against another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from venire.agents.clients import local
from venire.agents.clients.adapters import Adapter


def first_tokens(path: Path, adapter: Adapter | None, prompts: Sequence[str]) -> list[dict[int, float]]:
    """The five likeliest tokens after each prompt, with their log-probabilities."""
    server = local._load(path, adapter, 256, "key")
    found = []
    for prompt in prompts:
        heard: list[dict[str, Any]] = []
        asked = {"prompt": prompt, "max_tokens": 1, "logprobs": 5, "temperature": 0, "stream": False}
        server.handle_completions(asked, lambda event, heard=heard: bool(heard.append(event)))
        (content,) = heard[-1]["choices"][0]["logprobs"]["content"]
        found.append({token["id"]: token["logprob"] for token in content["top_logprobs"]})
    return found
