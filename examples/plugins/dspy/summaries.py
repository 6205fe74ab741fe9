"""Summaries judged by a jury in DSPy: see docs/plugins/dspy.md."""

import dspy
import pandas as pd

from venire.evals.plugins.dspy import jury_metric

visits = pd.read_json("../visits.jsonl", lines=True).set_index("notes", drop=False)
data = [dspy.Example(notes=v.notes, summary=v.expected).with_inputs("notes") for v in visits.itertuples()]
jury = jury_metric("../rubric.yaml", "../jury.yaml", score="overall", source="notes")
found = dspy.Evaluate(devset=data, metric=jury)(lambda notes: dspy.Prediction(summary=visits.output[notes]))
print(*(score for _, _, score in found.results), sep="\n")
