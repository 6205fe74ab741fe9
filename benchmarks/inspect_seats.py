"""What three `inspect/` seats cost beside Inspect's own `model_graded_qa` with three graders: a ratio of processor time in one run.

    .venvs/hosts/bin/python benchmarks/inspect_seats.py [--cases 100] [--repeats 3]

Both judge as many samples of one kind by three calls to models of Inspect's, in turn and in one process, against a server
without latency in a process of its own. The grader has Inspect's own template and gives a grade; the jury gives a ballot of two
attributes, so its requests carry a schema. What is said is the median of the repeats, after a first turn that is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from machine import machine
from provider import Provider
from work import QUIET

os.environ |= {**QUIET, "BENCH_API_KEY": "none"}

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Scorer, model_graded_qa
from inspect_ai.solver import Generate, TaskState, solver

from venire.evals.plugins.inspect_ai import jury as jury_scorer

EXAMPLES = Path(__file__).parent.parent / "examples" / "plugins"
GRADE = "The submission meets the criterion in every part.\n\nGRADE: C"
AT_ONCE = 16


@solver
def repeat() -> Any:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output = ModelOutput.from_content("given", state.input_text)
        return state

    return solve


def graders() -> Scorer:
    return model_graded_qa(model=[f"openai-api/bench/{name}" for name in "abc"])


def seats() -> Scorer:
    rubric, jury = (str(EXAMPLES / name) for name in ("rubric.yaml", "jury.yaml"))
    return jury_scorer(rubric, jury, model="inspect/openai-api/bench/a")


def cpu_milliseconds(scorer: Callable[[], Scorer], name: str, cases: int) -> float:
    """Of all threads, for each case."""
    samples = [Sample(id=f"{name} {n}", input=f"{name} {n}", target="as the notes say") for n in range(cases)]
    started = time.process_time()
    task = Task(dataset=samples, solver=repeat(), scorer=scorer())
    (log,) = eval(task, model="mockllm/model", display="none", log_dir="logs", max_samples=AT_ONCE)
    assert log.status == "success", log.error
    return 1000 * (time.process_time() - started) / cases


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    print(json.dumps(machine()))
    with Provider(plain=GRADE) as provider, tempfile.TemporaryDirectory() as folder:
        os.environ["BENCH_BASE_URL"] = provider.url
        os.chdir(folder)
        turns = [
            [
                cpu_milliseconds(scorer, f"{scorer.__name__} {turn}", given.cases if turn else 5)
                for scorer in (seats, graders)
            ]
            for turn in range(given.repeats + 1)
        ]
        os.chdir(EXAMPLES)
    jury, graded = (median(each) for each in zip(*turns[1:], strict=True))
    print(f"seats {jury:.1f} ms, graders {graded:.1f} ms a case: {jury / graded:.2f}")


if __name__ == "__main__":
    main()
