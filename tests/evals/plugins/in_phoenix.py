"""Evaluations inside Phoenix evals, read back from the frame that it writes: a program of the environment of hosts."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import pandas as pd
from phoenix.evals import async_evaluate_dataframe, evaluate_dataframe
from plugin_hosts import CANARY, EXAMPLES, opposite_juries, run_example

from venire import load_rubric
from venire.evals.plugins.phoenix import JuryEvaluator


def read_back(found: pd.DataFrame) -> list[dict[str, Any]]:
    """Every score and label by name, of each row, from the frame as a file."""
    found.to_json("found.jsonl", orient="records", lines=True)
    rows = [json.loads(line) for line in open("found.jsonl").read().splitlines()]  # noqa: PTH123, SIM115
    return [
        {
            score["name"]: [score.get("score", score.get("label")), score.get("explanation"), score["direction"]]
            for column, score in row.items()
            if column.endswith("_score") and score
        }
        for row in rows
    ]  # fmt: skip


def frame(*outputs: Any) -> pd.DataFrame:
    return pd.DataFrame({"answer": outputs, "good": CANARY, "notes": [None, *outputs[1:]]})


def judged(juries: list[JuryEvaluator], *outputs: Any) -> list[dict[str, Any]]:
    return read_back(evaluate_dataframe(
        dataframe=frame(*outputs), evaluators=juries, hide_tqdm_bar=True, exit_on_error=False, max_retries=0,
    ))  # fmt: skip


def main(url: str) -> None:
    rubric, seats = load_rubric(EXAMPLES / "rubric.yaml"), EXAMPLES / "jury.yaml"
    shown = rubric.model_copy(update={"reference": "shown"})
    local = {"output": "answer", "reference": "good", "model": "server/juror", "base_url": url}
    jury = JuryEvaluator(rubric, seats, **local)
    both = [
        JuryEvaluator(rubric, seats, record="run", prefix="jury.", source="notes", **local),
        JuryEvaluator(rubric, "single", record="run", prefix="single.", source="notes", **local),
    ]
    awaited = async_evaluate_dataframe(dataframe=frame("Awaited."), evaluators=[jury], hide_tqdm_bar=True)
    print(json.dumps({
        "example": read_back(run_example("phoenix")["found"]),
        "hidden": judged([jury], "A hidden reference."),
        "shown": judged([JuryEvaluator(shown, seats, **local)], "A shown reference."),
        "odd": judged([jury], {"answer": "Fever.", "score": 1}, "   ", 7),
        "typo": judged([JuryEvaluator(rubric, seats, source="note", **local)], "Fever."),
        "record": [judged(both, "Kept, with fever.", "Kept, of the wrist.") for _ in range(2)],
        "opposite": read_back(evaluate_dataframe(
            dataframe=pd.DataFrame({"output": ["One text."]}), evaluators=opposite_juries(JuryEvaluator, url), hide_tqdm_bar=True,
        )),
        "awaited": read_back(asyncio.run(awaited)),
    }))  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1])
