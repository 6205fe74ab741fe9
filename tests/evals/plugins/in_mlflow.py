"""Evaluations inside MLflow, read back from its own store: a program of its own, because MLflow owns its process."""

from __future__ import annotations

import json
import sys
from typing import Any

import mlflow
from plugin_hosts import CANARY, EXAMPLES, opposite_juries, run_example

from venire import load_rubric
from venire.evals.plugins.mlflow import jury_scorer


def read_back(experiment: str) -> dict[str, Any]:
    """Every feedback that MLflow's store has, by the output that it is about."""
    found = mlflow.get_experiment_by_name(experiment)
    assert found is not None
    return {
        str(json.loads(trace.data.response)): {
            one.name: {
                "value": one.value,
                "error": one.error and (one.error.error_code, one.error.error_message),
                "rationale": one.rationale,
                "source": one.source.source_id,
                "cost": (one.metadata or {}).get("mlflow.assessment.judgeCost"),
                "deliberation": json.loads((one.metadata or {}).get("deliberation", "{}")),
            }
            for one in trace.info.assessments
            if one.feedback is not None
        }
        for trace in mlflow.search_traces(locations=[found.experiment_id], return_type="list")
    }


def judged(experiment: str, scorer: Any, *outputs: Any) -> dict[str, float]:
    mlflow.set_experiment(experiment)
    rows = [
        {
            "inputs": {"q": "Summarise."},
            "outputs": text,
            "expectations": {"expected_response": CANARY, "note": CANARY},
        }
        for text in outputs
    ]
    return {
        name: float(value)
        for name, value in mlflow.genai.evaluate(data=rows, scorers=[scorer]).metrics.items()
    }


def main(url: str) -> None:
    rubric, seats = load_rubric(EXAMPLES / "rubric.yaml"), EXAMPLES / "jury.yaml"
    shown = rubric.model_copy(update={"reference": "shown"})
    local = {"model": "server/juror", "base_url": url}
    # MLflow would load every library that it can trace, and there is nothing here to trace.
    mlflow.autolog(disable=True, silent=True)
    run_example("mlflow")
    example = read_back("summaries")
    judged("hidden", jury_scorer(rubric, seats, **local), "A hidden reference.")
    judged("shown", jury_scorer(shown, seats, **local), "A shown reference.")
    metrics = judged("odd", jury_scorer(rubric, seats, **local), {"answer": "Fever.", "score": 1}, "   ")
    mlflow.set_experiment("two")
    rows = [{"inputs": {"q": "Summarise."}, "outputs": "One text."}]

    def scorer_of(*asked: Any, prefix: str, **options: Any) -> Any:
        return jury_scorer(*asked, name=prefix[:-1], prefix=prefix, **options)

    means = mlflow.genai.evaluate(data=rows, scorers=opposite_juries(scorer_of, url)).metrics
    stored = read_back("two")["One text."]
    opposite = {name: part["value"] for name, part in stored.items()}
    costs = {name: part["cost"] for name, part in stored.items() if part["cost"]}
    print(
        json.dumps(
            {
                "opposite": opposite,
                "means": list(means),
                "costs": costs,
                "example": example,
                "odd": read_back("odd"),
                "metrics": metrics,
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1])
