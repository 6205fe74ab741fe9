"""A look at this installation: what is there, what is missing, which keys are set. Never a key's value."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from rich.table import Table

from ..rubrics.errors import VenireError
from .clients.adapters import SHIPPED, read_adapter
from .clients.weights import SHA256, check_weights, weights_path

_PACKAGES = {
    "pydantic": "ballots and files",
    "httptools": "server/ models",
    "litellm": "every other provider",
    "xllamacpp": "the embedded model",
    "autogen-agentchat": "the magentic-one protocol",
    "autogen-ext": "AutoGen model clients",
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
        state = f"whole, SHA-256 {SHA256[:16]}..." if found.intact else "NOT the file it should be"
        weights = f"{state} ({found.path.name})"
    except VenireError as error:
        weights = f"{error.problem}; {error.remedy}"
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "packages": {name: _version(name) for name in ("venire", *_PACKAGES)},
        "weights": weights,
        "adapter": _shipped_adapter(),
        "engine": _engine_file(),
        "keys": {name: bool(os.environ.get(name)) for name in _KEYS},
    }


def diagnosis_table(found: dict[str, Any]) -> Table:
    """`diagnose()` as a table for the terminal."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("python", f"{found['python']} on {found['machine']}")
    for name, number in found["packages"].items():
        table.add_row(name, number or f"not installed: needed for {_PACKAGES[name]}")
    table.add_row("embedded model", found["weights"])
    table.add_row("its adapter", found["adapter"])
    table.add_row("as loaded", found["engine"])
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


def _engine_file() -> str:
    """What the engine loads for the embedded juror: the two files, or the one made of them."""
    base = weights_path()
    if base is None or find_spec("xllamacpp") is None:
        return "nothing yet"
    # Loads numpy and the engine.
    from .clients.local import unpacks
    from .clients.merged_weights import MergedWeights, Unmergeable

    if not unpacks():
        return "base and adapter as they are: the engine multiplies packed weights"
    try:
        file = MergedWeights(base, read_adapter(SHIPPED))
    except (VenireError, Unmergeable):
        return "base and adapter as they are: they cannot be merged"
    state = "unpacked and merged" if file.is_made else "to be unpacked and merged at the first use"
    return f"{state}, {file.size / 1e6:.0f} MB ({file.path})"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
