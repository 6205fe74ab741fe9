"""Studies on the demonstration's cases against a scripted server."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from checkout import ROOT
from openai_server import Call, filled
from rich.console import Console

from venire.evals.studies.findings import findings_at
from venire.evals.studies.plan import plan_study
from venire.evals.studies.study_files import run_folder
from venire.evals.studies.study_record import StudySession
from venire.evals.studies.study_report import StudyReport, write_study_report
from venire.evals.studies.study_run import StudyRun, run_plan

CASES = ROOT / "evals/demo/cases.jsonl"
LABELS = ROOT / "evals/demo/labels.csv"
TRUTH = {
    (row[0], row[2]): int(row[3]) for row in (line.split(",") for line in LABELS.read_text().splitlines()[1:])
}


def first_cases(folder: Path, number: int) -> dict[str, str]:
    """The first of the demonstration's cases and what people said of them, as a study file names them."""
    few = CASES.read_text().splitlines(keepends=True)[:number]
    head, *rows = LABELS.read_text().splitlines(keepends=True)
    known = {json.loads(row)["id"] for row in few}
    cases, labels = folder / "few.jsonl", folder / "few.csv"
    cases.write_text("".join(few))
    labels.write_text("".join([head, *(row for row in rows if row.split(",")[0] in known)]))
    return {"cases": str(cases), "ratings": str(labels)}


def steady_ballot(call: Call) -> dict[str, Any]:
    """A ballot whose scores depend on the question and the model alone."""
    assert call.schema is not None
    drawn = hashlib.sha256((call.model + call.prompt).encode()).digest()
    legal = {name: _legal(node) for name, node in call.schema["properties"].items()}
    return filled(
        call.schema,
        lambda name: legal[name][-1 - drawn[len(name) % 32] % min(3, len(legal[name]))],
        rationale="The notes bear this out.",
        moved_by="it",
    )


def _legal(node: dict[str, Any]) -> list[Any]:
    """The scores that may be given; of an orchestrator that names disputes, none are asked."""
    score = node["properties"].get("score", {"const": 0})
    return score.get("enum") or [score["const"]]


def study_file(folder: Path, **keys: Any) -> Path:
    """A study of the demonstration's cases with these keys."""
    path = folder / "study.yaml"
    whole = {
        "name": "trial",
        "cases": str(CASES),
        "rubric": "clinical-note",
        "ratings": str(LABELS),
        **keys,
    }
    path.write_text(json.dumps({key: value for key, value in whole.items() if value is not None}, indent=1))
    return path


def server_models(url: str, *names: str) -> dict[str, Any]:
    return {name: {"model": f"server/{name}", "base_url": url} for name in names}


def run_quietly(study: Path, folder: Path | str | None = None, **pace: Any) -> StudyRun:
    """Plan and run the study in a file."""
    session = StudySession(run_folder(folder, study), Console(quiet=True), quiet=True, **pace)
    return run_plan(plan_study(study), session)


def report_on(path: Path, output: Path | None = None, *, resamples: int) -> StudyReport:
    """The report of a study file or a run, written."""
    return write_study_report(findings_at(path, resamples=resamples), output)
