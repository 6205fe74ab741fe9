"""A virtual environment for every peer, made once and kept: their dependencies do not agree with each other."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

NEEDS = {
    "autogen": ("autogen-agentchat==0.7.5", "autogen-ext[openai]==0.7.5"),
    "inspect": ("inspect-ai==0.3.285", "openai"),
    "verdict": ("verdict==0.2.7",),
    "deepeval": ("deepeval==4.3.1",),
}


class NotInstalled(Exception):
    """A peer that cannot be had here, and why."""


def python_of(peer: str, cache: Path) -> Path:
    """The interpreter of the peer's environment, made if it is not there yet."""
    folder = cache / peer
    python, ready = folder / "bin" / "python", folder / ".ready"
    if ready.exists():
        return python
    print(f"installing {', '.join(NEEDS[peer])}", file=sys.stderr)
    venv.create(folder, with_pip=True, clear=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *NEEDS[peer]]
    ended = subprocess.run(install, capture_output=True, text=True)
    if ended.returncode:
        told = [line for line in ended.stderr.splitlines() if line.startswith("ERROR")]
        raise NotInstalled(told[-1][:200] if told else "pip failed")
    ready.touch()
    return python
