"""Runs whose answers depend on the question alone, so that one can be held against another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from openai_server import Call, ProviderServer, filled
from run_files import RUBRIC


def steady_answer(call: Call) -> dict[str, Any]:
    """A ballot whose scores depend on the question alone, at some length."""
    assert call.schema is not None
    pick = sum(call.prompt.encode()) + len(call.model)
    return filled(
        call.schema, lambda name: 1 + pick % 3, rationale="The notes bear this out. " * 20, moved_by="it"
    )


def write_long_run(folder: Path, url: str, run: str, cases: int, **jury: Any) -> list[object]:
    """Case, rubric and jury files, and the command that runs them."""
    rows = [{"id": f"case-{n}", "source": f"Note {n}.", "output": f"Summary {n}."} for n in range(cases)]
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "rubric.yaml").write_text(RUBRIC)
    seats = [{"name": name, "model": f"server/{name}", "base_url": url} for name in "abc"]
    fields = {
        "name": "bench",
        "seats": seats,
        "orchestrator": {"model": "server/boss", "base_url": url},
        **jury,
    }
    (folder / "jury.yaml").write_text(json.dumps(fields))
    return ["run", "cases.jsonl", "--rubric", "rubric.yaml", "--jury", "jury.yaml", "-o", run]


def verdicts(document: str) -> list[Any]:
    """Case, verdict and stop reason of each case in a run's JSON document."""
    return [(case["case"], case["verdict"], case["stop"]) for case in json.loads(document)["cases"]]


def questions(server: ProviderServer) -> list[str]:
    """Every request that the server was sent, as text that can be compared."""
    return [json.dumps(call.body, sort_keys=True) for call in server.calls]
