"""Summaries judged by a jury in Langfuse: see docs/plugins/langfuse.md."""

import pandas as pd
from langfuse import get_client

from venire.evals.plugins.langfuse import jury_evaluator

visits = pd.read_json("../visits.jsonl", lines=True).set_index("notes")
data = [{"input": {"notes": notes}, "expected_output": good} for notes, good in visits.expected.items()]
jury = jury_evaluator("../rubric.yaml", "../jury.yaml", source="notes")


def summarise(*, item, **_):
    return visits.output[item["input"]["notes"]]


found = get_client().run_experiment(name="visits", data=data, task=summarise, evaluators=[jury])
print(found.format(include_item_results=True))
