"""Evaluations inside DeepEval, read back from its own results: a program of its own, because DeepEval owns its process."""

from __future__ import annotations

import json
import sys
from typing import Any

from deepeval import evaluate
from deepeval.evaluate import AsyncConfig, DisplayConfig
from deepeval.test_case import LLMTestCase
from plugin_hosts import CANARY, EXAMPLES, opposite_juries

from venire import Rubric, load_rubric
from venire.agents.cost import Price
from venire.evals.plugins.deepeval import jury_metrics

FIELDS = ("name", "score", "success", "threshold", "reason", "error", "evaluation_cost")


def found(cases: list[LLMTestCase], metrics: list[Any], *, at_once: bool) -> list[Any]:
    results = evaluate(
        cases,
        metrics,
        async_config=AsyncConfig(run_async=at_once),
        display_config=DisplayConfig(print_results=False, show_indicator=False),
    )
    return [
        (
            one.name,
            one.success,
            [{field: getattr(data, field) for field in FIELDS} for data in one.metrics_data or []],
        )
        for one in sorted(results.test_results, key=lambda one: one.name)
    ]


def main(url: str) -> None:
    rubric, seats = load_rubric(EXAMPLES / "rubric.yaml"), EXAMPLES / "jury.yaml"
    shown = rubric.model_copy(update={"reference": "shown"})
    parts = rubric.model_dump(mode="json") | {"composites": {}}
    parts["attributes"][1] |= {"name": "plan", "may_not_apply": True}
    may_not = Rubric.model_validate(parts)
    local = {"model": "server/juror", "base_url": url}
    prices = {"server/juror": Price(prompt=1000, completion=1000)}
    cases = [
        LLMTestCase(
            name=name, input="Summarise.", actual_output=text, expected_output=CANARY, context=["Fever."]
        )
        for name, text in (("hung", "The wrist is sprained."), ("reached", "Fever since Monday."))
    ]
    told = {
        "async": found(
            cases, jury_metrics(rubric, seats, threshold=0.8, prices=prices, **local), at_once=True
        ),
        "sync": found(cases, jury_metrics(rubric, seats, threshold=0.8, seed=1, **local), at_once=False),
        "shown": found(cases[1:], jury_metrics(shown, seats, attributes=["accurate"], **local), at_once=True),
        "opposite": found(
            cases[1:],
            [metric for jury in opposite_juries(jury_metrics, url) for metric in jury],
            at_once=True,
        ),
        "skipped": found(cases[1:], jury_metrics(may_not, seats, **local), at_once=True),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1])
