"""What the tests of every plug-in share: a server whose jurors agree, hang or abstain by the words that they judge."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT, SUPPORT
from openai_server import Call, ProviderServer, filled

HOSTS = Path(os.environ.get("VENIRE_HOSTS", ROOT / ".venvs" / "hosts"))
"""An environment with venire and the suites that it plugs into; this one has pins of its own."""

EXAMPLES = ROOT / "examples" / "plugins"
CANARY = "canary-5e1f"
"""Stands in a host's target or expected output, and may reach no juror unless the rubric shows the reference."""

UNREADABLE = "wrist"
"""Where this stands in what is judged, two of three jurors give no usable answer: the verdict hangs."""
SCORES = {"accurate": 4, "tone": "plain", "plan": "not_applicable"}


def juror_answer(call: Call) -> str | dict[str, Any]:
    """4 for accurate, `plain` for tone, nothing for a plan, 5 for the rest."""
    if UNREADABLE in call.prompt and "a generous reader" not in call.prompt:
        return "I would rather not say."
    assert call.schema is not None
    return filled(call.schema, lambda name: SCORES.get(name, 5))


def local_jurors() -> ProviderServer:
    return ProviderServer(juror_answer)


def prompts_read(server: ProviderServer) -> str:
    """Everything that any juror read."""
    return "\n".join(call.prompt for call in server.calls)


def show_reference(rubric: Path) -> None:
    """Have the rubric in this file show jurors the case's reference."""
    rubric.write_text(rubric.read_text() + "reference: shown\n")


def needs(host: str) -> pytest.MarkDecorator:
    """Skips a file's tests where the host that they run in is not installed."""
    there = any(HOSTS.glob(f"lib/python*/site-packages/{host}"))
    return pytest.mark.skipif(not there, reason=f"{host} is not in {HOSTS}: make hosts")


def run_in_hosts(*command: object, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A program of the environment that the hosts are in."""
    program, *rest = command
    return run_program(HOSTS / "bin" / str(program), *rest, cwd=cwd, **environment)


def run_program(*command: object, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """What became of a program that finds these tests' helpers, and that tells nobody what it does."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    added = {
        "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "PYTHONPATH": str(SUPPORT),
    }
    words = [str(part) for part in command]
    return subprocess.run(
        words, cwd=cwd, env=inherited | added | environment, capture_output=True, text=True, check=False
    )
