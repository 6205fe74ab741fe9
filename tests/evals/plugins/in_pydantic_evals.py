"""Evaluations inside Pydantic Evals, read back from the report that it writes: a program of the environment of hosts."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from plugin_hosts import CANARY, EXAMPLES, opposite_juries, run_example
from pydantic_evals import Case, Dataset
from pydantic_evals.reporting import EvaluationReport, EvaluationReportAdapter

from venire import load_rubric
from venire.evals.plugins.pydantic_evals import JuryEvaluator


def read_back(report: EvaluationReport) -> dict[str, Any]:
    """Every score and label by case, from the report as a file."""
    file = Path("report.json")
    file.write_bytes(EvaluationReportAdapter.dump_json(report))
    kept = EvaluationReportAdapter.validate_json(file.read_bytes())
    return {
        case.name: {
            name: [found.value, found.reason] for name, found in (case.scores | case.labels).items()
        } | {failure.name: [None, failure.error_message] for failure in case.evaluator_failures}
        for case in kept.cases
    }  # fmt: skip


def judged(evaluators: list[JuryEvaluator], *outputs: Any, repeat: int = 1) -> dict[str, Any]:
    cases = [Case(name=f"case-{n}", inputs=n, expected_output=CANARY) for n in range(len(outputs))]
    dataset = Dataset(name="outputs", cases=cases, evaluators=evaluators)
    # In a running loop, where most programs that are async call it.
    return read_back(asyncio.run(dataset.evaluate(lambda n: outputs[n], progress=False, repeat=repeat)))


def main(url: str) -> None:
    local = {"model": "server/juror", "base_url": url}
    rubric, seats = load_rubric(EXAMPLES / "rubric.yaml"), EXAMPLES / "jury.yaml"
    shown = rubric.model_copy(update={"reference": "shown"})
    example = run_example("pydantic_evals")
    Path("visits.yaml").write_text(json.dumps({
        "name": "visits", "cases": [{"name": "in-a-file", "inputs": "Fever."}],
        "evaluators": [{"JuryEvaluator": {"rubric": str(EXAMPLES / "rubric.yaml"), "jury": str(seats), **local}}],
    }))  # fmt: skip
    dataset = Dataset.from_file("visits.yaml", custom_evaluator_types=[JuryEvaluator])
    dataset.to_file("again.yaml", schema_path=None)
    both = [
        JuryEvaluator(rubric, seats, record="run", prefix="jury.", **local),
        JuryEvaluator(rubric, "single", record="run", prefix="single.", **local),
    ]
    print(json.dumps({
        "example": read_back(example["report"]),
        "file": read_back(dataset.evaluate_sync(lambda text: text, progress=False)),
        "written": Path("again.yaml").read_text(),
        "masked": JuryEvaluator(rubric, seats, model="server/juror", base_url=url.replace("//", "//:hush@")).as_spec().arguments,
        "hidden": judged([JuryEvaluator(rubric, seats, **local)], "A hidden reference."),
        "shown": judged([JuryEvaluator(shown, seats, **local)], "A shown reference."),
        "odd": judged([JuryEvaluator(rubric, seats, **local)], {"answer": "Fever.", "score": 1}, "   ", None, 7),
        "opposite": judged(opposite_juries(JuryEvaluator, url), "One text."),
        "record": [judged(both, "Kept, with fever.", "Kept, of the wrist.") for _ in range(2)],
    }))  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1])
