"""What a case costs in each host: processor time in the host over that of the bare sitting, both in one process and one run.

    .venvs/hosts/bin/python benchmarks/hosts.py [HOST ...] [--cases 100] [--repeats 3]

Three seats, two attributes, a server without latency in a process of its own, nothing recorded. Every host has a process of its own,
in which the sitting and the host judge as many cases in turn, none of them twice; the medians of the repeats are divided. What a host
writes for itself (Inspect's log, MLflow's store, the harness's samples) is in its part. Langfuse's SDK sends nothing here.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any
from uuid import uuid4

from machine import machine
from provider import Provider
from work import QUIET

from venire import Case, Sitting, load_jury, load_rubric

EXAMPLES = Path(__file__).parent.parent / "examples" / "plugins"
RUBRIC = EXAMPLES / "rubric.yaml"
AT_ONCE = 16
Judge = Callable[[list[str]], object]
"""Has a host judge these outputs."""


def sitting(jury: Any) -> Judge:
    bare = Sitting(RUBRIC, jury)
    return lambda texts: bare.deliberate_all_sync([Case(id=text, output=text) for text in texts])


def inspect(jury: Any) -> Judge:
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput
    from inspect_ai.solver import Generate, TaskState, solver

    from venire.evals.plugins.inspect_ai import jury as scorer

    @solver
    def repeat() -> Any:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            state.output = ModelOutput.from_content("m", state.input_text)
            return state

        return solve

    def judge(texts: list[str]) -> object:
        samples = [Sample(id=text, input=text) for text in texts]
        task = Task(dataset=samples, solver=repeat(), scorer=scorer(load_rubric(RUBRIC), jury))
        return eval(task, model="mockllm/model", display="none", log_dir="logs", max_samples=AT_ONCE)

    return judge


def deepeval(jury: Any) -> Judge:
    from deepeval import evaluate
    from deepeval.evaluate import AsyncConfig, DisplayConfig
    from deepeval.test_case import LLMTestCase

    from venire.evals.plugins.deepeval import jury_metrics

    metrics = jury_metrics(RUBRIC, jury)
    return lambda texts: evaluate(
        [LLMTestCase(name=text, input="Repeat.", actual_output=text) for text in texts],
        metrics,
        async_config=AsyncConfig(max_concurrent=AT_ONCE),
        display_config=DisplayConfig(print_results=False, show_indicator=False),
    )


def mlflow(jury: Any) -> Judge:
    import mlflow

    from venire.evals.plugins.mlflow import jury_scorer

    mlflow.autolog(disable=True, silent=True)
    mlflow.set_tracking_uri("sqlite:///mlflow.db")
    scorer = jury_scorer(RUBRIC, jury)
    return lambda texts: mlflow.genai.evaluate(
        data=[{"inputs": {"n": text}, "outputs": text} for text in texts], scorers=[scorer]
    )


def pytest(jury: Any) -> Judge:
    import pytest

    from venire.evals.plugins.sitting import convene

    def judge(texts: list[str]) -> object:
        # The jury of the settings, found by name, is the open one.
        convene(RUBRIC, jury)
        Path("given.json").write_text(json.dumps(texts))
        Path("jury.json").write_text(jury.model_dump_json(exclude_defaults=True))
        Path("test_texts.py").write_text(
            "import json, pytest\nfrom pathlib import Path\n"
            "@pytest.mark.parametrize('text', json.loads(Path('given.json').read_text()))\n"
            "def test_text(jury, text):\n    jury(text)\n"
        )
        return pytest.main([
            "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-c", os.devnull, "--rootdir", ".", "test_texts.py",
            "--venire-rubric", str(RUBRIC), "--venire-jury", "jury.json",
        ])  # fmt: skip

    return judge


def promptfoo(jury: Any) -> Judge:
    from venire.evals.plugins.promptfoo import get_assert

    config = {"rubric": RUBRIC, "jury": jury}
    return lambda texts: [get_assert(text, {"config": config}) for text in texts]


def pydantic_evals(jury: Any) -> Judge:
    from pydantic_evals import Case as Row
    from pydantic_evals import Dataset

    from venire.evals.plugins.pydantic_evals import JuryEvaluator

    evaluator = JuryEvaluator(RUBRIC, jury)

    def judge(texts: list[str]) -> object:
        rows = [Row(name=text, inputs=text) for text in texts]
        return Dataset(name="texts", cases=rows, evaluators=[evaluator]).evaluate_sync(str, progress=False)

    return judge


def dspy(jury: Any) -> Judge:
    import dspy

    from venire.evals.plugins.dspy import jury_metric

    metric = jury_metric(RUBRIC, jury)

    def judge(texts: list[str]) -> object:
        rows = [dspy.Example(text=text).with_inputs("text") for text in texts]
        return dspy.Evaluate(devset=rows, metric=metric, num_threads=AT_ONCE)(
            lambda text: dspy.Prediction(answer=text)
        )

    return judge


def gepa(jury: Any) -> Judge:
    from gepa.adapters.default_adapter.default_adapter import DefaultAdapter

    from venire.evals.plugins.gepa import jury_evaluator

    adapter = DefaultAdapter(
        lambda messages: messages[-1]["content"], jury_evaluator(RUBRIC, jury, failure_score=0.0)
    )
    return lambda texts: adapter.evaluate(
        [{"input": text, "additional_context": {}, "answer": ""} for text in texts], {"prompt": "Repeat."}
    )


def langsmith(jury: Any) -> Judge:
    from langsmith import evaluate, schemas

    from venire.evals.plugins.langsmith import JuryEvaluator

    evaluator = JuryEvaluator(RUBRIC, jury)

    def judge(texts: list[str]) -> object:
        rows = [schemas.Example(id=uuid4(), inputs={"text": text}) for text in texts]
        return list(evaluate(
            lambda inputs: inputs["text"], rows, evaluators=[evaluator], upload_results=False, max_concurrency=AT_ONCE
        ))  # fmt: skip

    return judge


def lm_eval(jury: Any) -> Judge:
    from lm_eval import simple_evaluate
    from lm_eval.api.model import LM
    from lm_eval.api.task import ConfigurableTask
    from lm_eval.tasks import TaskManager

    from venire.evals.plugins.lm_eval import jury_results

    class Repeater(LM):
        def generate_until(self, requests: Any, disable_tqdm: bool = False) -> list[str]:
            return [request.doc["text"] for request in requests]

        loglikelihood = loglikelihood_rolling = generate_until

    scoring, manager = jury_results(RUBRIC, jury), TaskManager(include_defaults=False)

    def judge(texts: list[str]) -> object:
        Path(f"{texts[0]}.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts))
        task = ConfigurableTask(config={
            "task": "texts", "dataset_path": "json", "dataset_kwargs": {"data_files": f"{texts[0]}.jsonl"}, "test_split": "train",
            "doc_to_text": "{{text}}", "doc_to_target": "", "process_results": scoring,
        })  # fmt: skip
        return simple_evaluate(Repeater(), tasks=[task], task_manager=manager, bootstrap_iters=0)

    return judge


def langfuse(jury: Any) -> Judge:
    from langfuse import Langfuse

    from venire.evals.plugins.langfuse import jury_evaluator

    client, evaluator = Langfuse(tracing_enabled=False), jury_evaluator(RUBRIC, jury)
    return lambda texts: client.run_experiment(
        name="texts", data=[{"input": text} for text in texts], task=lambda *, item, **_: item["input"],
        evaluators=[evaluator], max_concurrency=AT_ONCE,
    )  # fmt: skip


def phoenix(jury: Any) -> Judge:
    import pandas as pd
    from phoenix.evals import async_evaluate_dataframe

    from venire.evals.plugins.phoenix import JuryEvaluator

    evaluator = JuryEvaluator(RUBRIC, jury)
    return lambda texts: asyncio.run(async_evaluate_dataframe(
        dataframe=pd.DataFrame({"output": texts}), evaluators=[evaluator], concurrency=AT_ONCE, hide_tqdm_bar=True
    ))  # fmt: skip


HOSTS = {
    judge.__name__: judge
    for judge in (
        inspect, deepeval, mlflow, pytest, promptfoo, pydantic_evals, dspy, gepa, langsmith, lm_eval, langfuse, phoenix,
    )
}  # fmt: skip


def cpu_milliseconds(judge: Judge, texts: list[str]) -> float:
    """Of all threads, for each case."""
    started = time.process_time()
    judge(texts)
    return 1000 * (time.process_time() - started) / len(texts)


def measure(host: str, url: str, cases: int, repeats: int) -> dict[str, float]:
    """The medians of the sitting and of the host, after a first turn of each that is not counted."""
    jury = load_jury(EXAMPLES / "jury.yaml").fill(model="server/a", base_url=url)
    judges = {"sitting": sitting(jury), "host": HOSTS[host](jury)}
    turns = [
        {
            who: cpu_milliseconds(judge, [f"{who} {turn} {n}" for n in range(cases if turn else 5)])
            for who, judge in judges.items()
        }
        for turn in range(repeats + 1)
    ]
    return {who: median(turn[who] for turn in turns[1:]) for who in judges}


def in_a_process(host: str, url: str, cases: int, repeats: int) -> dict[str, float]:
    """`measure`, with NaN where the host is not installed."""
    words = [host, "--alone", url, "--cases", cases, "--repeats", repeats]
    with tempfile.TemporaryDirectory() as folder:
        ended = subprocess.run(
            [sys.executable, str(Path(__file__).resolve()), *map(str, words)],
            cwd=folder, env=os.environ | QUIET | {"LANGSMITH_TRACING": "false", "LANGSMITH_ENDPOINT": "http://127.0.0.1:9"},
            capture_output=True, text=True,
        )  # fmt: skip
    if "ModuleNotFoundError" in ended.stderr or "MissingExtra" in ended.stderr:
        return {"sitting": math.nan, "host": math.nan}
    if ended.returncode:
        sys.exit(ended.stderr[-2000:])
    return json.loads(ended.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("hosts", nargs="*", default=[], metavar="HOST", help=", ".join(HOSTS))
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--alone", metavar="URL", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.alone:
        took = measure(given.hosts[0], given.alone, given.cases, given.repeats)
        print("\n" + json.dumps(took))
        return
    print(json.dumps(machine()))
    print(f"{'host':16} {'sitting ms':>10} {'host ms':>10} {'ratio':>7}", flush=True)
    with Provider() as provider:
        for host in given.hosts or HOSTS:
            took = in_a_process(host, provider.url, given.cases, given.repeats)
            ratio = took["host"] / took["sitting"]
            print(f"{host:16} {took['sitting']:10.2f} {took['host']:10.2f} {ratio:7.2f}", flush=True)


if __name__ == "__main__":
    main()
