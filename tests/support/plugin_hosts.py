"""What the tests of every plug-in share: a server whose jurors agree, hang or abstain by the words that they judge."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT, SUPPORT
from openai_server import Call, ProviderServer, filled

from venire.agents.cost import Price

HOSTS = Path(os.environ.get("VENIRE_HOSTS", ROOT / ".venvs" / "hosts"))
"""An environment with venire and the suites that it plugs into; this one has pins of its own."""

EXAMPLES = ROOT / "examples" / "plugins"
CANARY = "canary-5e1f"
"""Stands in a host's target or expected output, and may reach no juror unless the rubric shows the reference."""

UNREADABLE = "wrist"
"""Where this stands in what is judged, two of three jurors give no usable answer: the verdict hangs."""
OFF_SCALE = "ankle"
"""Where this stands, the same two answer `accurate` with no value of its scale: they abstain on it alone, and it alone hangs."""
SCORES = {"accurate": 4, "tone": "plain", "plan": "not_applicable"}


OPPOSITES = {"low": 1, "high": 5, "silent": None}
"""What the jurors of these models say of everything; the last gives no usable answer, so that its jury hangs."""


VISITS: dict[str, dict[str, Any]] = {
    "visit-1": {"accurate": 4, "thorough": 5, "overall": 4.4, "hung": 0, "abstentions": 0},
    "visit-2": {"accurate": "hung", "thorough": "hung", "overall": "hung", "hung": 2, "abstentions": 2},
    "visit-3": {"accurate": "hung", "thorough": 5, "overall": "hung", "hung": 1, "abstentions": 2},
}
"""What these jurors find of the rows in `examples/plugins/visits.jsonl`."""
WHY_HUNG = "too few jurors voted: 1 of the 2 that are needed"


def juror_answer(call: Call) -> str | dict[str, Any]:
    """4 for accurate, `plain` for tone, nothing for a plan, 5 for the rest; of a pair, the longer output."""
    if call.model in OPPOSITES:
        level = OPPOSITES[call.model]
        return "I would rather not say." if level is None else filled(call.schema or {}, lambda _: level)
    willing = "a generous reader" in call.prompt
    if UNREADABLE in call.prompt and not willing:
        return "I would rather not say."
    assert call.schema is not None
    if '"output A" begins' in call.prompt:
        return filled(call.schema, lambda _: longer_output(call.prompt))
    scores = SCORES | ({"accurate": 99} if OFF_SCALE in call.prompt and not willing else {})
    return filled(call.schema, lambda name: scores.get(name, 5))


def longer_output(prompt: str) -> int:
    """Which of a pair's outputs is longer: -1 for A, 1 for B, whichever is shown first."""
    length = {
        label: len(re.findall(rf'"output {label}" begins \w+\]\]\n(.*)\n', prompt)[0]) for label in "AB"
    }
    return (length["A"] < length["B"]) - (length["A"] > length["B"])


def local_jurors() -> ProviderServer:
    return ProviderServer(juror_answer)


def opposite_juries(jury_of_host: Callable[..., Any], url: str) -> list[Any]:
    """A host's jury for each of `OPPOSITES`, its price known, for one evaluation; the names of its scores begin with its own."""
    seats = EXAMPLES / "jury.yaml"
    return [
        jury_of_host(
            EXAMPLES / "rubric.yaml", seats, prefix=f"{name}.", model=f"server/{name}", base_url=url,
            prices={f"server/{name}": Price(prompt=1000, completion=1000)},
        )
        for name in OPPOSITES
    ]  # fmt: skip


def assert_never_mixed(values: Mapping[str, Any], *, low: float = 1, high: float = 5) -> None:
    """Each jury's scores under its own names, and of the one that hung no number."""
    for name in ("accurate", "thorough", "overall"):
        assert (values[f"low.{name}"], values[f"high.{name}"]) == (low, high)
        assert values.get(f"silent.{name}") in (None, "hung")


def prompts_read(server: ProviderServer) -> str:
    """Everything that any juror read."""
    return "\n".join(call.prompt for call in server.calls)


def show_reference(rubric: Path) -> None:
    """Have the rubric in this file show jurors the case's reference."""
    rubric.write_text(rubric.read_text() + "reference: shown\n")


def own_words(server: ProviderServer, words: str) -> list[str]:
    """The prompts in which `words` stand."""
    return [call.prompt for call in server.calls if words in call.prompt]


def seated_examples(folder: Path, server: ProviderServer) -> Path:
    """A copy of the examples whose jurors are on this server."""
    examples = Path(shutil.copytree(EXAMPLES, folder / "plugins"))
    jury = examples / "jury.yaml"
    seat = f', model: server/juror, base_url: "{server.url}"}}'
    jury.write_text(jury.read_text().replace("-scoring}", f"-scoring{seat}"))
    return examples


def found_by(host: str, folder: Path, server: ProviderServer, **environment: str) -> Any:
    """What the program `in_HOST.py`, run in the environment of hosts, read back from its host's results.

    It finds the examples in the folder `plugins`, their jurors on this server.
    """
    seated_examples(folder, server)
    program = ROOT / "tests" / "evals" / "plugins" / f"in_{host}.py"
    ended = run_in_hosts("python", program, server.url, cwd=folder, **environment)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])


def run_example(host: str) -> dict[str, Any]:
    """The variables that a host's example ends with, run where it lies."""
    home = Path.cwd()
    os.chdir(home / "plugins" / host)
    try:
        return runpy.run_path("summaries.py")
    finally:
        os.chdir(home)


def assert_reference_is_hidden_unless_shown(server: ProviderServer) -> None:
    """Outputs `A hidden reference.` and `A shown reference.` were judged with the canary as their reference."""
    hidden, shown = own_words(server, "A hidden reference."), own_words(server, "A shown reference.")
    assert hidden and not any(CANARY in prompt for prompt in hidden)
    assert shown and all(CANARY in prompt for prompt in shown)


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
        "LANGSMITH_ENDPOINT": "http://127.0.0.1:9",
        "LANGSMITH_TRACING": "false",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "PYTHONPATH": str(SUPPORT),
    }
    words = [str(part) for part in command]
    return subprocess.run(
        words, cwd=cwd, env=inherited | added | environment, capture_output=True, text=True, check=False
    )
