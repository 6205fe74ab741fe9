"""Evaluations inside Inspect, read back from its own logs: a program of its own, because Inspect owns its process."""

from __future__ import annotations

import asyncio
import json
import math
import sys
from pathlib import Path
from typing import Any

import aiohttp
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import ModelAPI, ModelOutput, get_model, modelapi
from inspect_ai.scorer import match
from inspect_ai.solver import Generate, Solver, TaskState, solver
from plugin_hosts import CANARY, EXAMPLES, OPPOSITES

from venire import Rubric, Store, load_jury, load_rubric
from venire.evals.exchange import import_records
from venire.evals.plugins.inspect_ai import jury

WORDS = Rubric.model_validate(
    {
        "name": "kinds",
        "version": 1,
        "scales": {"kind": {"level": "nominal", "anchors": {"plain": "as usual", "odd": "not so"}}},
        "attributes": [{"name": "tone", "question": "Of which kind is it?", "scale": "kind"}],
    }
)
LOOPS: set[int] = set()
"""The event loops that the evaluation and its models were seen in."""


@solver
def noting_the_loop() -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        LOOPS.add(id(asyncio.get_running_loop()))
        return await generate(state)

    return solve


@modelapi("planted")
class Planted(ModelAPI):
    """A provider of Inspect's: `writer` repeats what it is told to write, others ask the local server.

    It notes which event loop it is in.
    """

    async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
        LOOPS.add(id(asyncio.get_running_loop()))
        if self.model_name == "writer":
            return ModelOutput.from_content("writer", input[-1].text.removeprefix("Write: "))
        form = {"json_schema": {"schema": config.response_schema.json_schema.model_dump(exclude_none=True)}}
        body = {
            "model": self.model_name,
            "messages": [{"role": message.role, "content": message.text} for message in input],
            "response_format": form,
        }
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{self.base_url}/chat/completions", json=body) as got,
        ):
            answer = (await got.json())["choices"][0]["message"]["content"]
        return ModelOutput.from_content(self.model_name, answer)


def evaluated(folder: Path, outputs: list[str], scorer: Any, target: str = "") -> EvalLog:
    samples = [Sample(id=n, input=f"Write: {text}", target=target) for n, text in enumerate(outputs)]
    task = Task(dataset=samples, solver=noting_the_loop(), scorer=scorer)
    (log,) = eval(task, model="planted/writer", log_dir=str(folder), display="none")
    return read_eval_log(log.location)


def read_back(log: EvalLog) -> dict[str, Any]:
    assert log.samples and log.results
    told = scores(log)
    return {
        "scores": sorted(
            (sample.id, sample.epoch, score) for sample, score in zip(log.samples, told, strict=True)
        ),
        "results": {
            r.name: (r.scored_samples, r.unscored_samples, r.metrics["mean"].value)
            for r in log.results.scores
        },
        "explanation": log.samples[0].scores["jury"].explanation,
        "deliberation": {sample.id: sample.scores["jury"].metadata["deliberation"] for sample in log.samples},
    }


def scores(log: EvalLog) -> list[Any]:
    assert log.status == "success", log.error
    return [_plain(sample.scores["jury"].value) for sample in log.samples or [] if sample.scores]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value


def others(folder: Path, url: str) -> dict[str, Any]:
    rubric, seats = load_rubric(EXAMPLES / "rubric.yaml"), EXAMPLES / "jury.yaml"
    local = {"model": "server/juror", "base_url": url}
    target = f"The expected {CANARY}."
    shown = rubric.model_copy(update={"reference": "shown"})
    own = evaluated(folder, ["Fever."], jury(rubric, seats, model="inspect/planted/juror", base_url=url))
    events = [event.model for event in own.samples[0].events if event.event == "model"] if own.samples else []
    return {
        "loops": len(LOOPS),
        "blank": scores(evaluated(folder, ["", "Fever."], jury(rubric, seats, **local))),
        "hidden": scores(evaluated(folder, ["A hidden reference."], jury(rubric, seats, **local), target)),
        "shown": scores(evaluated(folder, ["A shown reference."], jury(shown, seats, **local), target)),
        "words": scores(evaluated(folder, ["Fever."], jury(WORDS, seats, **local))),
        "inspects_own": scores(own),
        "both": both(folder, rubric, seats, local),
        "own_events": events,
    }


def both(folder: Path, rubric: Rubric, seats: Path, local: dict[str, str]) -> dict[str, Any]:
    """Three juries of opposite scores and a single judge, scorers of one task, on one record."""
    three = load_jury(seats)
    one = three.model_copy(update={"name": "one-reader", "seats": three.seats[:1], "quorum": 1})
    record = folder / "record"
    juries = [jury(rubric, three, record=record, **local | {"model": f"server/{name}"}) for name in OPPOSITES]
    log = evaluated(folder, ["Fever."], [*juries, jury(rubric, one, record=record, **local)])
    assert log.status == "success" and log.results and log.samples and log.samples[0].scores, log.error
    found = {name: _plain(score.value) for name, score in log.samples[0].scores.items()}
    means = {f"{each.scorer}.{each.name}": _plain(each.metrics["mean"].value) for each in log.results.scores}
    store = Store.read(record)
    arms = sorted({arm.name for arm in store.arms()})
    store.release()
    return {"scores": found, "arms": arms, "means": means}


def imported(folder: Path) -> list[Any]:
    """What venire takes from Inspect's own scorer in each kind of log: cases, ratings, outputs."""
    samples = [Sample(id=n, input="2+2?", target=target) for n, target in ((1, "4"), (2, "5"))]
    for kind in ("eval", "json"):
        answers = [ModelOutput.from_content("mockllm/model", "4") for _ in samples]
        model = get_model("mockllm/model", custom_outputs=answers)
        task = Task(dataset=samples, scorer=match())
        eval(task, model=model, log_dir=str(folder / kind), log_format=kind, display="none")
    found = [import_records("inspect", next((folder / kind).iterdir())) for kind in ("eval", "json")]
    return [
        (len(one.cases), sorted(each.value for each in one.ratings), [each.output for each in one.cases])
        for one in found
    ]


def main(folder: Path, url: str, *logs: str) -> None:
    told = {"logs": [read_back(read_eval_log(path)) for path in logs], "imported": imported(folder / "own")}
    print(json.dumps(told | others(folder, url)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
