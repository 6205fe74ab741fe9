"""What llama.cpp would say first after a prompt, to hold one way of loading a model against another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from venire.agents.clients.adapters import Adapter
from venire.agents.clients.llama_cpp import load_server


def first_tokens(path: Path, adapter: Adapter | None, prompts: Sequence[str]) -> list[dict[int, float]]:
    """The five likeliest tokens after each prompt, with their log-probabilities."""
    server = load_server(path, adapter, 256, "key")
    found = []
    for prompt in prompts:
        heard: list[dict[str, Any]] = []
        asked = {"prompt": prompt, "max_tokens": 1, "logprobs": 5, "temperature": 0, "stream": False}
        server.handle_completions(asked, lambda event, heard=heard: bool(heard.append(event)))
        (content,) = heard[-1]["choices"][0]["logprobs"]["content"]
        found.append({token["id"]: token["logprob"] for token in content["top_logprobs"]})
    return found
