"""Summaries judged by a jury in Pydantic Evals: see docs/plugins/pydantic-evals.md."""

import pandas as pd
from pydantic_evals import Case, Dataset

from venire.evals.plugins.pydantic_evals import JuryEvaluator

visits = pd.read_json("../visits.jsonl", lines=True).set_index("notes", drop=False)
cases = [Case(name=row.id, inputs=row.notes, expected_output=row.expected) for row in visits.itertuples()]
jury = JuryEvaluator("../rubric.yaml", "../jury.yaml", source="input")
report = Dataset(name="visits", cases=cases, evaluators=[jury]).evaluate_sync(visits.output.get)
report.print(include_reasons=True)
