"""Inspect: `model_graded_qa` with three models, its majority vote and its log; one call for each model and sample."""

import os

os.environ["BENCH_BASE_URL"] = ""
os.environ["BENCH_API_KEY"] = "none"

from job import FOLDER, IN_FLIGHT, JOB, SEATS, URL, clocked

os.environ["BENCH_BASE_URL"] = URL

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import model_graded_qa
from inspect_ai.solver import Generate, TaskState, solver


@solver
def given():  # type: ignore[no-untyped-def]
    """The text under judgement is there already: no model is asked for it."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output = ModelOutput.from_content("given", state.metadata["output"])
        return state

    return solve


task = Task(
    dataset=[
        Sample(
            id=case["id"],
            input=case["brief"],
            target="as the rubric says",
            metadata={"output": case["output"]},
        )
        for case in JOB["cases"]
    ],
    solver=given(),
    scorer=model_graded_qa(
        template="{question}\n\n{answer}\n\n{criterion}\n\n{instructions}",
        instructions=JOB["tails"][SEATS[0]] + "\nEnd with GRADE: C or GRADE: I.",
        model=[f"openai-api/bench/{seat}" for seat in SEATS],
    ),
)
with clocked(JOB["calls"]):
    (log,) = eval(
        task,
        model="mockllm/model",
        log_dir=str(FOLDER / "logs"),
        display="none",
        max_connections=IN_FLIGHT,
        max_samples=IN_FLIGHT,
    )
assert log.status == "success", log.error
assert log.samples and all(sample.scores for sample in log.samples)
