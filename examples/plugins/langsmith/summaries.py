"""Summaries judged by a jury in LangSmith, kept on this machine: see docs/plugins/langsmith.md."""

from uuid import uuid4

import pandas as pd
from langsmith import evaluate, schemas

from venire.evals.plugins.langsmith import JuryEvaluator

visits = pd.read_json("../visits.jsonl", lines=True).set_index("notes")
rows = [({"notes": notes}, {"summary": good}) for notes, good in visits.expected.items()]
data = [schemas.Example(id=uuid4(), inputs=inputs, outputs=outputs) for inputs, outputs in rows]
jury = JuryEvaluator("../rubric.yaml", "../jury.yaml", source="notes")
found = evaluate(lambda inputs: visits.output[inputs["notes"]], data, evaluators=[jury], upload_results=False)
print(found.to_pandas())
