"""Summaries judged by a jury, logged by MLflow in a local store: see docs/plugins/mlflow.md."""

import os
from pathlib import Path

import mlflow

from venire.evals.plugins.mlflow import jury_scorer

HERE = Path(__file__).parent
ROWS = [
    {
        "inputs": {
            "task": "Summarise for the patient's file.",
            "notes": "Monday: fever 38.4, cough for five days. Amoxicillin started. Wednesday: fever gone.",
        },
        "outputs": "Fever of 38.4, amoxicillin started, better by Wednesday.",
        "expectations": {
            "expected_response": "Fever of 38.4 with cough, amoxicillin, fever gone by Wednesday."
        },
    },
    {
        "inputs": {
            "task": "Summarise for the patient's file.",
            "notes": "Fell on the left wrist. Swollen, no deformity. Film: no fracture. Splint for a week.",
        },
        "outputs": "Left wrist sprain, no fracture on film. Splint for a week.",
        "expectations": {
            "expected_response": "Left wrist sprain after a fall, no fracture, splint for a week."
        },
    },
]


def main() -> None:
    mlflow.set_tracking_uri(os.environ.get("MLFLOW_TRACKING_URI", "sqlite:///mlflow.db"))
    mlflow.set_experiment("summaries")
    jury = jury_scorer(
        HERE.parent / "rubric.yaml",
        HERE.parent / "jury.yaml",
        source="notes",
        model=os.environ.get("JUROR"),
        base_url=os.environ.get("JUROR_URL"),
    )
    found = mlflow.genai.evaluate(data=ROWS, scorers=[jury])
    print(found.metrics)


if __name__ == "__main__":
    main()
