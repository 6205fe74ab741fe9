"""Tasks inside lm-evaluation-harness, read back from the files that it writes: a program of the environment of hosts."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from lm_eval import simple_evaluate
from lm_eval.api.instance import Instance
from lm_eval.api.model import LM
from lm_eval.api.task import ConfigurableTask
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager
from plugin_hosts import CANARY, EXAMPLES, opposite_juries

from venire import load_rubric
from venire.evals.plugins.lm_eval import jury_results


class Reader(LM):
    """The model under test: reads a document's output off."""

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str]:
        return [request.doc["output"] for request in requests]

    def loglikelihood(self, requests: list[Instance], disable_tqdm: bool = False) -> list[Any]:
        raise NotImplementedError

    def loglikelihood_rolling(self, requests: list[Instance], disable_tqdm: bool = False) -> list[Any]:
        raise NotImplementedError


def read_back(task: Any) -> dict[str, Any]:
    """The means and the samples of one task, from the files of the harness."""
    folder = Path("out")
    # Its own tasks, some thousands of files, are left unread.
    manager = TaskManager(include_path=".", include_defaults=False)
    found = simple_evaluate(
        model=Reader(), tasks=[task], task_manager=manager, bootstrap_iters=0, log_samples=True
    )
    assert found is not None
    tracker = EvaluationTracker(output_path=str(folder))
    samples = found.pop("samples")
    tracker.save_results_aggregated(results=found, samples=samples)
    for name, rows in samples.items():
        tracker.save_results_samples(task_name=name, samples=rows)
    (means,) = json.loads(max(folder.rglob("results_*.json")).read_text())["results"].values()
    kept = [json.loads(line) for line in max(folder.rglob("samples_*.jsonl")).read_text().splitlines()]
    return {"means": means, "samples": [
        {"why": row["doc"].get("jury"), "doc": row["doc"]} | {name: row[name] for name in row["metrics"]} for row in kept
    ]}  # fmt: skip


def judged(scoring: Any, *outputs: str) -> dict[str, Any]:
    Path("rows.jsonl").write_text("\n".join(
        json.dumps({"n": n, "output": text, "good": CANARY}) for n, text in enumerate(outputs)
    ))  # fmt: skip
    return read_back(ConfigurableTask(config={
        "task": "rows", "dataset_path": "json", "dataset_kwargs": {"data_files": "rows.jsonl"}, "test_split": "train",
        "doc_to_text": "{{n}}", "doc_to_target": "{{good}}", "process_results": scoring,
    }))  # fmt: skip


def main(url: str) -> None:
    local = {"model": "server/juror", "base_url": url}
    rubric, seats = load_rubric(EXAMPLES / "rubric.yaml"), EXAMPLES / "jury.yaml"
    shown = rubric.model_copy(update={"reference": "shown"})
    home = Path.cwd()
    os.chdir("plugins/lm_eval")
    example = read_back("summaries")
    os.chdir(home)
    both = [
        jury_results(rubric, seats, record="run", **local),
        jury_results(rubric, "single", record="run", **local),
    ]
    opposite = opposite_juries(jury_results, url)

    def joined(doc: dict[str, Any], results: list[Any]) -> dict[str, float]:
        return {name: value for scoring in opposite for name, value in scoring(doc, results).items()}

    print(json.dumps({
        "opposite": judged(joined, "One text."),
        "example": example,
        "hidden": judged(jury_results(rubric, seats, reference="good", **local), "A hidden reference.", "  "),
        "shown": judged(jury_results(shown, seats, reference="good", **local), "A shown reference."),
        "record": [judged(scoring, "Kept, with fever.", "Kept, of the wrist.") for scoring in both * 2],
    }))  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1])
