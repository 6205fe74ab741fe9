"""A look at this installation: what is there, what is missing, which keys are set. Never a key's value."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from rich.table import Table

from ..rubrics.errors import VenireError
from .clients.adapters import SHIPPED, read_adapter
from .clients.weights import SHA256, check_weights

_PACKAGES = {
    "pydantic": "ballots and files",
    "aiohttp": "server/ models",
    "litellm": "every other provider",
    "numpy": "the embedded model",
    "tokenizers": "the embedded model",
    "xllamacpp": "running model files (GGUF) of your own",
    "autogen-agentchat": "the magentic-one protocol",
    "autogen-ext": "AutoGen model clients",
    "agent-framework-orchestrations": "the magentic protocol",
    "networkx": "graphs",
    "pandas": "statistics",
    "scipy": "statistics",
}
_KEYS = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "AZURE_API_KEY",
    "MISTRAL_API_KEY",
    "OPENROUTER_API_KEY",
    "TOGETHERAI_API_KEY",
    "GROQ_API_KEY",
    "DEEPSEEK_API_KEY",
)


def diagnose() -> dict[str, Any]:
    """What is installed and set, as plain values."""
    try:
        found = check_weights()
        state = (
            f"the file is intact, SHA-256 {SHA256[:16]}..."
            if found.intact
            else "this is NOT the expected file"
        )
        weights = f"{state} ({found.path.name})"
    except VenireError as error:
        weights = f"{error.problem}; {error.remedy}"
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "packages": {name: _version(name) for name in ("venire", *_PACKAGES)},
        "weights": weights,
        "adapter": _shipped_adapter(),
        "keys": {name: bool(os.environ.get(name, "").strip()) for name in _KEYS},
    }


def diagnosis_table(found: dict[str, Any]) -> Table:
    """`diagnose()` as a table for the terminal."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("python", f"{found['python']} on {found['machine']}")
    for name, number in found["packages"].items():
        table.add_row(name, number or f"not installed; needed for {_PACKAGES[name]}")
    table.add_row("embedded model", found["weights"])
    table.add_row("its adapter", found["adapter"])
    for name, is_set in found["keys"].items():
        table.add_row(name, "set" if is_set else "not set")
    return table


def _shipped_adapter() -> str:
    try:
        adapter = read_adapter(SHIPPED)
    except VenireError as error:
        return f"{error.problem}; {error.remedy}"
    fits = "for these weights" if adapter.base_sha256 == SHA256 else "NOT for these weights"
    return f"{fits}, SHA-256 {adapter.sha256[:16]}... ({adapter.path.name})"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
