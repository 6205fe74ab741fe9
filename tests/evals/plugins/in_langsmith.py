"""Experiments inside LangSmith and a simulation inside openevals, read back from their results: a program of the environment of hosts."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any
from uuid import uuid4

from langsmith import Client, aevaluate, evaluate, schemas
from openevals.simulators import run_multiturn_simulation
from plugin_hosts import CANARY, EXAMPLES, run_example

from venire import load_rubric
from venire.evals.plugins.langsmith import JuryEvaluator

SILENT = Client(api_url="http://127.0.0.1:9", tracing_sampling_rate=0.0)
"""Sends no trace, as `aevaluate` does by itself even where results are not uploaded."""


def results(experiment: Any) -> list[dict[str, Any]]:
    """Every score or value and its comment by key, of each row."""
    return [
        {one.key: [one.value if one.score is None else one.score, one.comment] for one in row["evaluation_results"]["results"]}
        for row in experiment
    ]  # fmt: skip


def judged(juries: list[Any], *outputs: Any) -> list[dict[str, Any]]:
    data = [
        schemas.Example(id=uuid4(), inputs={"n": n}, outputs={"good": CANARY}) for n in range(len(outputs))
    ]
    return results(
        evaluate(lambda inputs: outputs[inputs["n"]], data, evaluators=juries, upload_results=False)
    )


async def awaited(jury: JuryEvaluator) -> list[dict[str, Any]]:
    async def target(inputs: dict[str, Any]) -> dict[str, Any]:
        return {"text": f"Awaited text {inputs['n']}."}

    data = [schemas.Example(id=uuid4(), inputs={"n": n}) for n in range(2)]
    found = await aevaluate(target, data, evaluators=[jury.acall], upload_results=False, client=SILENT)
    return results([row async for row in found])


def main(url: str) -> None:
    local = {"model": "server/juror", "base_url": url}
    rubric, seats = load_rubric(EXAMPLES / "rubric.yaml"), EXAMPLES / "jury.yaml"
    shown = rubric.model_copy(update={"reference": "shown"})
    jury = JuryEvaluator(rubric, seats, **local)
    both = [
        JuryEvaluator(rubric, seats, record="run", prefix="jury.", **local),
        JuryEvaluator(rubric, "single", record="run", prefix="single.", **local),
    ]
    talk = run_multiturn_simulation(
        app=lambda message, **_: {"role": "assistant", "content": "Rest the ankle."},
        user=["What shall I do?"], max_turns=1, trajectory_evaluators=[jury], thread_id="1",
    )  # fmt: skip
    print(json.dumps({
        "example": results(run_example("langsmith")["found"]),
        "hidden": judged([jury], "A hidden reference."),
        "shown": judged([JuryEvaluator(shown, seats, **local)], "A shown reference."),
        "odd": judged([jury], {"answer": "Fever.", "score": 1}, "   ", 7),
        "record": [judged(both, "Kept, with fever.", "Kept, of the wrist.") for _ in range(2)],
        "awaited": asyncio.run(awaited(jury)),
        "talk": {one["key"]: [one["score"], one["value"]] for one in talk["evaluator_results"]},
    }))  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1])
