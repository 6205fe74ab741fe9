"""Inspect's own logs as cases and ratings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from venire import VenireError
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


def test_an_answer_without_a_completion_is_what_its_first_choice_says_and_reasons_are_kept(
    tmp_path: Path,
) -> None:
    def said(content: Any) -> dict[str, Any]:
        return {
            "completion": "",
            "choices": [{"message": {"content": content}}, {"message": {"content": "Not this."}}],
        }

    samples = [
        inspect_sample("parts", 1, {"match": {"value": "P", "explanation": "Half."}}, output=said([{"text": "One."}, {"text": "Two."}])),
        inspect_sample("plain", 1, {"match": {"value": "I"}}, output=said("Three."), input=[{"role": "user"}], target=""),
        inspect_sample("none", 1, {"match": {"value": "C"}}, output=said(None)), inspect_sample("odd", 1, {}, output=None),
    ]  # fmt: skip
    file = tmp_path / "log.json"
    file.write_text(json.dumps({"eval": {}, "samples": samples}))
    found = import_records("inspect", file)

    assert [(c.id, c.output, c.group, c.reference) for c in found.cases] == [("parts", "One.\nTwo.", None, "A\na"), ("plain", "Three.", None, None)]  # fmt: skip
    assert [(each.value, each.rationale) for each in found.ratings] == [(0.5, "Half."), (0.0, None)]
    assert found.records.skipped == {"samples without an output": ["none", "odd"]}
    for document, problem in (([], "not a log of Inspect"), ({"samples": samples}, "not a log of Inspect"), ({"eval": {}}, "has no samples")):  # fmt: skip
        file.write_text(json.dumps(document))
        with pytest.raises(VenireError, match=problem):
            import_records("inspect", file)
