"""Summaries by any model of Inspect's, judged by a jury: see docs/plugins/inspect.md."""

from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.solver import generate

from venire.evals.plugins.inspect_ai import jury

HERE = Path(__file__).parent


@task
def summaries(juror: str | None = None, base_url: str | None = None) -> Task:
    return Task(
        dataset=json_dataset(str(HERE / "notes.jsonl")),
        solver=generate(),
        scorer=jury(
            str(HERE.parent / "rubric.yaml"), str(HERE.parent / "jury.yaml"), model=juror, base_url=base_url
        ),
    )
