"""Inspect's own logs as cases and ratings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from plugin_hosts import HOSTS, needs, run_in_hosts

from venire.evals.exchange import import_records


def inspect_sample(name: Any, epoch: int, scores: dict[str, Any], **more: Any) -> dict[str, Any]:
    output = {"completion": f"Answer {name}", "choices": []}
    return {"id": name, "epoch": epoch, "input": "Q?", "target": ["A", "a"], "output": output, "scores": scores, "metadata": {"k": 1}, **more}  # fmt: skip


def test_inspects_log_has_a_case_for_each_epoch_and_no_score_is_not_a_zero(tmp_path: Path) -> None:
    samples = [
        inspect_sample("q", 1, {"match": {"value": "C"}, "jury": {"value": {"accurate": 4, "safe": None}, "explanation": "w"}}),
        inspect_sample("q", 2, {"match": {"value": "N"}, "jury": {"value": {"accurate": 2, "safe": True}}}),
        inspect_sample("p", 1, {}, output={"completion": ""}, error={"message": "limit"}),
    ]  # fmt: skip
    log = {"version": 2, "status": "success", "eval": {"model": "mockllm/model"}, "samples": samples}

    file = tmp_path / "log.json"
    file.write_text(json.dumps(log))
    found = import_records("inspect", file)

    assert [(c.id, c.group, c.reference, c.system) for c in found.cases] == [
        ("q#1", "q", "A\na", "mockllm/model"), ("q#2", "q", "A\na", "mockllm/model"),
    ]  # fmt: skip
    assert [(each.case, each.rater, each.attribute, each.value) for each in found.ratings] == [
        ("q#1", "match", "match", 1.0), ("q#1", "jury", "accurate", 4.0),
        ("q#2", "jury", "accurate", 2.0), ("q#2", "jury", "safe", 1.0),
    ]  # fmt: skip
    assert {why: len(where) for why, where in found.records.skipped.items()} == {
        "no score was given": 1,
        "scores of N (Inspect's mark for no answer)": 1,
        "samples that ended in an error": 1,
    }


LOG = """
import sys
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import match
task = Task(dataset=[Sample(id=n, input="2+2?", target=t) for n, t in ((1, "4"), (2, "5"))], scorer=match())
answers = [ModelOutput.from_content("mockllm/model", "4") for _ in range(2)]
for kind in ("eval", "json"):
    eval(task, model=get_model("mockllm/model", custom_outputs=list(answers)), log_dir=kind, log_format=kind, display="none")
from venire.evals.exchange import import_records
from pathlib import Path
for kind in ("eval", "json"):
    found = import_records("inspect", next(Path(kind).iterdir()))
    print(len(found.cases), sorted(each.value for each in found.ratings), {each.output for each in found.cases})
"""


@needs("inspect_ai")
def test_inspects_own_logs_of_both_kinds_are_read_alike(tmp_path: Path) -> None:
    (tokenizers,) = HOSTS.glob("lib/python*/site-packages/litellm/litellm_core_utils/tokenizers")
    (tmp_path / "log.py").write_text(LOG)

    ended = run_in_hosts("python", "log.py", cwd=tmp_path, TIKTOKEN_CACHE_DIR=str(tokenizers))

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.splitlines()[-2:] == ["2 [0.0, 1.0] {'4'}"] * 2
