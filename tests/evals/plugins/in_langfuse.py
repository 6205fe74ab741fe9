"""Experiments inside Langfuse, whose scores its SDK sends to the server on loopback: a program of the environment of hosts."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from langfuse import get_client
from plugin_hosts import CANARY, EXAMPLES, opposite_juries, run_example

from venire import load_rubric
from venire.evals.plugins.langfuse import jury_evaluator


def results(experiment: Any) -> list[dict[str, Any]]:
    """Every value and its comment by name, of each item."""
    return [
        {one.name: [one.value, one.comment] for one in item.evaluations} for item in experiment.item_results
    ]


def judged(juries: list[Any], *outputs: Any) -> list[dict[str, Any]]:
    data = [{"input": n, "expected_output": CANARY} for n in range(len(outputs))]
    return results(get_client().run_experiment(
        name="outputs", data=data, task=lambda *, item, **_: outputs[item["input"]], evaluators=juries
    ))  # fmt: skip


async def in_a_running_loop(jury: Any) -> list[dict[str, Any]]:
    return judged([jury], "Asked in a running loop.")


def main(url: str) -> None:
    local = {"model": "server/juror", "base_url": url}
    rubric, seats = load_rubric(EXAMPLES / "rubric.yaml"), EXAMPLES / "jury.yaml"
    shown = rubric.model_copy(update={"reference": "shown"})
    jury = jury_evaluator(rubric, seats, **local)
    both = [
        jury_evaluator(rubric, seats, record="run", prefix="jury.", **local),
        jury_evaluator(rubric, "single", record="run", prefix="single.", **local),
    ]
    found = {
        "example": results(run_example("langfuse")["found"]),
        "hidden": judged([jury], "A hidden reference."),
        "shown": judged([jury_evaluator(shown, seats, **local)], "A shown reference."),
        "odd": judged([jury], {"answer": "Fever.", "score": 1}, "   ", 7),
        "record": [judged(both, "Kept, with fever.", "Kept, of the wrist.") for _ in range(2)],
        "opposite": judged(opposite_juries(jury_evaluator, url), "One text."),
        "loop": asyncio.run(in_a_running_loop(jury)),
    }
    get_client().flush()
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
