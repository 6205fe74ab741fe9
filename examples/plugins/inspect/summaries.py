"""Summaries by any model of Inspect's, judged by a jury: see docs/plugins/inspect.md."""

from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.solver import generate

from venire.evals.plugins.inspect_ai import jury


@task
def summaries(juror: str | None = None, base_url: str | None = None) -> Task:
    judged = jury("../rubric.yaml", "../jury.yaml", model=juror, base_url=base_url)
    return Task(dataset=json_dataset("notes.jsonl"), solver=generate(), scorer=judged)
