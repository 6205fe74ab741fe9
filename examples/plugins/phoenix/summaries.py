"""Summaries judged by a jury in Phoenix evals: see docs/plugins/phoenix.md."""

import pandas as pd
from phoenix.evals import evaluate_dataframe

from venire.evals.plugins.phoenix import JuryEvaluator

visits = pd.read_json("../visits.jsonl", lines=True)
jury = JuryEvaluator("../rubric.yaml", "../jury.yaml", question="task", source="notes", reference="expected")
found = evaluate_dataframe(dataframe=visits, evaluators=[jury])
print(found.filter(like="_score").to_string())
