"""Seats that reach one local server by different clients: ours, LiteLLM's and AutoGen's."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

_INFO = {
    "vision": False,
    "function_calling": False,
    "json_output": True,
    "structured_output": False,
    "family": "unknown",
}
_NEEDS_LITELLM = [
    pytest.mark.skipif(find_spec("litellm") is None, reason="needs LiteLLM"),
    # LiteLLM silences what pydantic says of its types when it is imported; pytest undoes that for every test.
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
_NEEDS_AUTOGEN = [
    pytest.mark.skipif(find_spec("autogen_ext") is None, reason="needs venire[autogen]"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
LITELLM = pytest.param("openai", marks=_NEEDS_LITELLM)
HOSTED_VLLM = pytest.param("hosted_vllm", marks=_NEEDS_LITELLM)
AUTOGEN = pytest.param("autogen", marks=_NEEDS_AUTOGEN)
PREFIXES = ["server", LITELLM, HOSTED_VLLM, AUTOGEN]
"""The prefixes of model strings, each with what it needs."""


def seats_by(
    prefix: str, url: str, names: Iterable[str], folder: Path, *, key: str = "sk-of-nobody", **more: Any
) -> list[dict[str, Any]]:
    """A seat for each name, whose model has that name on the server; AutoGen's are described by files in `folder`."""
    return [{"name": name, **_model(prefix, url, name, folder, key), **more} for name in names]


def _model(prefix: str, url: str, name: str, folder: Path, key: str) -> dict[str, Any]:
    if prefix != "autogen":
        return {"model": f"{prefix}/{name}", "base_url": url}
    config = {"model": name, "base_url": url, "api_key": key, "model_info": _INFO}
    provider = "autogen_ext.models.openai.OpenAIChatCompletionClient"
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"provider": provider, "component_type": "model", "config": config}))
    return {"model": f"autogen/{path}"}
