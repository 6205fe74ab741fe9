"""Evaluation and GEPA inside DSPy, and GEPA by itself, read back from their results: a program of the environment of hosts."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import dspy
import gepa
from dspy.utils import DummyLM
from gepa.adapters.default_adapter.default_adapter import DefaultAdapter
from plugin_hosts import CANARY, EXAMPLES, opposite_juries, run_example

from venire import load_rubric
from venire.evals.plugins.dspy import jury_metric
from venire.evals.plugins.gepa import jury_evaluator

TEXTS = ["Fever since Monday.", "The wrist is sprained."]


def scores(found: Any) -> list[Any]:
    return [[score.score, score.feedback] for _, _, score in found.results]


def judged(metric: Any, *outputs: Any, **how: Any) -> Any:
    examples = [dspy.Example(n=n, answer=CANARY).with_inputs("n") for n in range(len(outputs))]
    return dspy.Evaluate(devset=examples, metric=metric, num_threads=4, max_errors=100, **how)(
        lambda n: dspy.Prediction(answer=outputs[n], reasoning="Thought of.")
    )


def optimised(metric: Any) -> dict[str, Any]:
    """What GEPA of DSPy makes of a program, one of whose answers hangs."""
    answers = [{"summary": text} for text in TEXTS] * 40
    dspy.configure(lm=DummyLM(answers))
    reflection = DummyLM([{"new_instruction": f"Be brief, take {n}."} for n in range(20)])
    examples = [dspy.Example(notes=text, summary=CANARY).with_inputs("notes") for text in TEXTS]
    found = dspy.GEPA(
        metric=metric, reflection_lm=reflection, max_metric_calls=12, num_threads=1, track_stats=True,
        reflection_minibatch_size=2, log_dir="gepa",
    ).compile(dspy.Predict("notes -> summary"), trainset=examples, valset=examples).detailed_results  # fmt: skip
    return {
        "scores": found.val_subscores,
        "calls": found.total_metric_calls,
        "files": sorted(path.name for path in Path("gepa").iterdir()),
    }


def alone(evaluator: Any) -> dict[str, Any]:
    """What GEPA makes of a prompt without DSPy: its proposals come from a function."""
    rows = [{"input": text, "additional_context": {}, "answer": CANARY} for text in TEXTS]
    adapter = DefaultAdapter(model=lambda messages: messages[-1]["content"], evaluator=evaluator)
    heard: list[str] = []

    def reflect(prompt: str) -> str:
        heard.append(prompt)
        return "```\nBe brief.\n```"

    found = gepa.optimize(
        seed_candidate={"prompt": "Repeat."}, trainset=rows, valset=rows, adapter=adapter, reflection_lm=reflect, max_metric_calls=8,
        reflection_minibatch_size=2,
    )  # fmt: skip
    return {"scores": [list(one.values()) for one in found.val_subscores], "reflected": heard[0]}


def main(url: str) -> None:
    local = {"model": "server/juror", "base_url": url}
    rubric, seats = load_rubric(EXAMPLES / "rubric.yaml"), EXAMPLES / "jury.yaml"
    shown = rubric.model_copy(update={"reference": "shown"})
    example = run_example("dspy")
    metric = jury_metric(rubric, seats, **local)
    judged(metric, "A hidden reference.", save_as_csv="results.csv")
    kept = list(csv.DictReader(Path("results.csv").read_text().splitlines(keepends=True)))
    judged(jury_metric(shown, seats, **local), "A shown reference.")
    odd = judged(metric, {"answer": "Fever.", "score": 1}, 7, "  ")
    record = {"record": "run", **local}
    both = [jury_metric(rubric, seats, **record), jury_metric(rubric, "single", **record)]
    again = [[scores(judged(one, "Kept, with fever.")) for one in both] for _ in range(2)]
    opposite = opposite_juries(lambda *asked, prefix, **options: jury_metric(*asked, **options), url)
    told = [judged(each, "One text.").results[0][2] for each in opposite]
    print(json.dumps({
        "opposite": [[each.score, each.usd > 0] for each in told],
        "example": scores(example["found"]), "mean": str(example["found"].score), "csv": kept,
        "odd": scores(odd),
        "record": again, "gepa": optimised(metric), "alone": alone(jury_evaluator(rubric, seats, failure_score=0.0, **local)),
    }))  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1])
