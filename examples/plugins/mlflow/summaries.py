"""Summaries judged by a jury, logged by MLflow in a local store: see docs/plugins/mlflow.md."""

import mlflow
import pandas as pd

from venire.evals.plugins.mlflow import jury_scorer

mlflow.set_experiment("summaries")
visits = pd.read_json("../visits.jsonl", lines=True)
inputs = visits[["task", "notes"]].to_dict("records")
expected = [{"expected_response": good} for good in visits.expected]
rows = pd.DataFrame({"inputs": inputs, "outputs": visits.output, "expectations": expected})
jury = jury_scorer("../rubric.yaml", "../jury.yaml", source="notes")
print(mlflow.genai.evaluate(data=rows, scorers=[jury]).metrics)
