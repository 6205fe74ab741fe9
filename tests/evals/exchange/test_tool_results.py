"""Results of other evaluation tools as cases and ratings: promptfoo, DeepEval, OpenAI's evals, HELM; Parquet and Arrow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from venire import VenireError
from venire.evals.exchange import import_records
from venire.evals.exchange.importing import write_cases_file, write_ratings_file
from venire.rubrics.case import load_cases
from venire.rubrics.ratings import Rating, read_ratings


def written(folder: Path, content: Any, name: str = "results.json") -> Path:
    file = folder / name
    lines = isinstance(content, list) and name.endswith(".jsonl")
    file.write_text("\n".join(map(json.dumps, content)) if lines else json.dumps(content))
    return file


def rows(ratings: tuple[Rating, ...]) -> list[tuple[str, str, str, Any]]:
    return [(each.case, each.rater, each.attribute, each.value) for each in ratings]


def promptfoo_result(number: int, output: Any, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    grading = {"pass": True, "score": 1, "reason": "ok", "componentResults": list(parts)}
    return {
        "id": f"uuid-{number}", "testIdx": number, "promptIdx": 0, "promptId": "p", "vars": {"article": "Long text.", "output": "x"},
        "prompt": {"raw": "Summarise: Long text.", "label": "Summarise"}, "provider": {"id": "openai:gpt-4o-mini", "label": ""},
        "response": {"output": output}, "gradingResult": grading, "success": True, "score": 1, "namedScores": {}, **more,
    }  # fmt: skip


def assertion(kind: str, score: float, **more: Any) -> dict[str, Any]:
    return {"pass": score > 0.5, "score": score, "reason": f"by {kind}", "assertion": {"type": kind, **more}}


def test_promptfoos_results_keep_variables_assertions_and_peoples_marks(tmp_path: Path) -> None:
    results = [
        promptfoo_result(0, "Short.", assertion("llm-rubric", 0.8, metric="Faithful"), assertion("contains", 1), assertion("contains", 0)),
        promptfoo_result(1, {"a": 1}, assertion("human", 0)),
        promptfoo_result(2, None, error="429"),
    ]  # fmt: skip
    file = written(
        tmp_path, {"evalId": "e", "results": {"version": 3, "results": results, "stats": {}}, "config": {}}
    )

    found = import_records("promptfoo", file)

    assert [(c.output, c.source, c.question, c.system, c.group) for c in found.cases] == [
        ("Short.", ("Long text.",), "Summarise: Long text.", "openai:gpt-4o-mini", "0"),
        ("a: 1", ("Long text.",), "Summarise: Long text.", "openai:gpt-4o-mini", "1"),
    ]
    assert rows(found.ratings) == [
        ("0/0/openai:gpt-4o-mini", "promptfoo", "faithful", 0.8),
        ("0/0/openai:gpt-4o-mini", "promptfoo", "contains", 1.0),
        ("0/0/openai:gpt-4o-mini", "promptfoo", "contains_2", 0.0),
        ("1/0/openai:gpt-4o-mini", "human", "human", 0.0),
    ]
    assert found.records.skipped == {"results that ended in an error": ["2/0/openai:gpt-4o-mini"]}
    assert len(import_records("promptfoo", written(tmp_path, results, "r.jsonl")).ratings) == 4
    parts = [assertion("select-best", score) | {"reason": why} for score, why in ((1, "Output selected as the best: x"), (0, "Output not selected: x"), (0, "a tie"))]  # fmt: skip
    failed = [
        assertion("python", 0) | {"metadata": {"error": "no model"}},
        assertion("llm-rubric", 0) | {"metadata": {"graderError": True}},
        assertion("javascript", 0) | {"reason": "Custom function threw error: x is not defined"},
    ]
    found = import_records("promptfoo", written(tmp_path, [promptfoo_result(0, "Short.", *parts, *failed)]))
    assert [each.value for each in found.ratings] == [1, 0]
    assert len(found.records.skipped["assertions that ended without a verdict"]) == 4
    passed = assertion("javascript", 0) | {"pass": True}
    without = {key: part for key, part in assertion("contains", 1).items() if key != "score"}
    marked = import_records("promptfoo", written(tmp_path, [promptfoo_result(0, "Short.", passed, without)]))
    assert [each.value for each in marked.ratings] == [0, 1]
    unasked = promptfoo_result(3, "Short.", gradingResult={"pass": True, "score": 1, "reason": "No assertions", "componentResults": []})  # fmt: skip
    assert not import_records("promptfoo", written(tmp_path, [unasked])).ratings
    verdict = {
        "accurate": {"status": "reached", "value": 4},
        "tone": {"status": "reached", "value": "plain"},
        "risk": {"status": "hung", "value": None},
    }
    judged = {**assertion("python", 0), "metadata": {"deliberation": {"arm": "readers", "verdict": verdict}}}
    ours = import_records("promptfoo", written(tmp_path, [promptfoo_result(0, "Short.", judged, assertion("contains", 1))]))  # fmt: skip
    assert [row[1:] for row in rows(ours.ratings)] == [
        ("readers", "accurate", 4),
        ("readers", "tone", "plain"),
        ("promptfoo", "contains", 1),
    ]
    assert ours.records.skipped == {
        "attributes that are hung": ["0/0/openai:gpt-4o-mini: risk by readers"],
    }
    both = {**judged, "assertion": {"type": "javascript"}}
    two = import_records("promptfoo", written(tmp_path, [promptfoo_result(0, "Short.", judged, both)]))
    assert {each.rater for each in two.ratings} == {"readers", "readers-2"}
    # A name that one was given already is nobody else's.
    alike = [assertion("contains", score, metric=name) for name, score in (("c", 1), ("c_2", 0), ("c", 0.5))]
    named = import_records("promptfoo", written(tmp_path, [promptfoo_result(0, "Short.", *alike)]))
    assert [(each.attribute, each.value, each.round) for each in named.ratings] == [("c", 1, None), ("c_2", 0, None), ("c_3", 0.5, None)]  # fmt: skip


def test_deepevals_run_and_its_result_are_read_alike(tmp_path: Path) -> None:
    metric = {"name": "Correctness [GEval]", "score": 0.4, "reason": "Dose.", "evaluationModel": "gpt-4o"}
    lost = {"name": "Bias", "score": None, "error": "timeout"}
    zero = {"name": "Tone", "score": 0, "error": "timeout"}
    camel = {"name": "t", "input": "Q?", "actualOutput": "A.", "expectedOutput": "B.", "retrievalContext": ["n1", "n2"], "metricsData": [metric, lost, zero]}  # fmt: skip
    snake = {"name": "t", "input": "Q?", "actual_output": "A.", "expected_output": "B.", "retrieval_context": ["n1", "n2"],
             "metrics_data": [{**{k: v for k, v in metric.items() if k != "evaluationModel"}, "evaluation_model": "gpt-4o"}, lost, zero]}  # fmt: skip
    empty = {"name": "t", "input": "Q?", "actualOutput": None, "metricsData": []}

    runs = [
        import_records("deepeval", written(tmp_path, content))
        for content in ({"testCases": [camel, empty], "metricsScores": []}, {"test_results": [snake]})
    ]

    for found in runs:
        (case,) = found.cases
        assert (case.id, case.output, case.reference, case.source) == ("t", "A.", "B.", ("n1", "n2"))
        assert rows(found.ratings) == [("t", "gpt-4o", "correctness_geval", 0.4)]
        assert found.records.skipped["metrics that ended in an error"] == ["t: Bias", "t: Tone"]
    assert runs[0].records.skipped["test cases without an output"] == ["t#2"]


def test_openais_output_items_and_the_frameworks_log_are_read(tmp_path: Path) -> None:
    item = {
        "object": "eval.run.output_item", "id": "o1", "datasource_item_id": 5, "datasource_item": {"ticket": "Printer on fire", "label": "Hardware"},
        "sample": {"input": [{"role": "user", "content": "Sort it."}], "output": [{"role": "assistant", "content": "Hardware"}], "model": "gpt-4.1", "error": None},
        "results": [{"name": "Match", "passed": True, "score": 1.0}, {"name": "Tone", "passed": False, "score": 0.2}], "status": "pass",
    }  # fmt: skip
    failed = {
        **item,
        "id": "o2",
        "datasource_item_id": 6,
        "sample": {"output": [], "error": {"message": "refused"}},
    }
    log = [
        {"spec": {"completion_fns": ["gpt-4o"], "eval_name": "e"}},
        {"run_id": "r", "event_id": 0, "sample_id": "s.1", "type": "sampling", "data": {"prompt": [{"role": "user", "content": "2+2?"}], "sampled": ["4"]}},
        {"run_id": "r", "event_id": 1, "sample_id": "s.1", "type": "match", "data": {"correct": False, "expected": "four", "picked": "4"}},
        {"run_id": "r", "event_id": 2, "sample_id": "s.1", "type": "metrics", "data": {"f1": 0.5, "note": "x"}},
        {"final_report": {"accuracy": 0.0}},
    ]  # fmt: skip

    broken = {"name": "Tone", "passed": False, "score": 0.0, "sample": {"error": {"message": "timed out"}}}
    graders = [
        {**item, "datasource_item_id": 7, "status": "error"},
        {**item, "datasource_item_id": 8, "results": [item["results"][0], broken]},
    ]
    listed = import_records("openai-evals", written(tmp_path, [item, failed, *graders], "items.jsonl"))
    logged = import_records("openai-evals", written(tmp_path, log, "log.jsonl"))

    assert rows(listed.ratings) == [("5", "openai", "match", 1.0), ("5", "openai", "tone", 0.2), ("8", "openai", "match", 1.0)]  # fmt: skip
    assert listed.cases[0].output == "Hardware" and listed.cases[0].metadata["ticket"] == "Printer on fire"
    assert listed.records.skipped == {
        "items that ended in an error": ["6"],
        "grades that ended in an error": ["7: Match", "7: Tone", "8: Tone"],
    }
    assert rows(logged.ratings) == [("s.1", "openai", "match", 0.0), ("s.1", "openai", "f1", 0.5)]
    assert (logged.cases[0].output, logged.cases[0].reference, logged.cases[0].system) == (
        "4",
        "four",
        "gpt-4o",
    )


def test_helms_runs_have_a_case_for_each_model_grouped_by_instance(tmp_path: Path) -> None:
    for model in ("a/one", "b/two"):
        folder = tmp_path / f"mmlu:model={model.replace('/', '_')}"
        folder.mkdir()
        state = {
            "instance": {"id": "id7", "input": {"text": "Which?"}, "references": [{"output": {"text": "B"}, "tags": ["correct"]}]},
            "result": {"completions": [{"text": "B it is"}]},
        }  # fmt: skip
        stat = {"name": {"name": "exact_match", "split": "test"}, "count": 1, "sum": 1.0, "mean": 1.0}
        for name, content in (
            ("run_spec", {"name": f"mmlu:model={model}", "adapter_spec": {"model": model}}),
            ("scenario_state", {"request_states": [state]}),
            ("per_instance_stats", [{"instance_id": "id7", "stats": [stat]}]),
        ):
            (folder / f"{name}.json").write_text(json.dumps(content))

    found = import_records("helm", tmp_path)

    assert [(c.id, c.question, c.reference, c.group) for c in found.cases] == [
        (f"mmlu/{model}/id7", "Which?", "B", "mmlu/id7") for model in ("a/one", "b/two")
    ]
    assert rows(found.ratings)[0] == ("mmlu/a/one/id7", "helm", "exact_match", 1.0)


def test_helms_multiple_choice_is_in_words_and_a_scenario_has_its_own_metric(tmp_path: Path) -> None:
    references = [
        {"output": {"text": text}, "tags": ["correct"] * (text == "a pen")} for text in ("a cup", "a pen")
    ]
    state = {
        "instance": {
            "id": "id1",
            "input": {"text": "What writes?"},
            "references": references,
            "split": "test",
        },
        "train_trial_index": 0,
        "output_mapping": {"A": "a cup", "B": "a pen"},
        "result": {"success": True, "completions": [{"text": " B", "logprob": 0.0}]},
    }
    stats = [
        {"name": {"name": name, "split": "test"}, "count": 1, "sum": value, "mean": value}
        for name, value in (("exact_match", 0.0), ("f1_score", 0.5))
    ]
    for name, content in (
        ("run_spec", {"name": "narrative_qa:model=a/one", "adapter_spec": {"model": "a/one"}}),
        ("scenario_state", {"request_states": [state]}),
        ("per_instance_stats", [{"instance_id": "id1", "train_trial_index": 0, "stats": stats}]),
    ):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))

    found = import_records("helm", tmp_path)

    (case,) = found.cases
    assert (case.output, case.reference) == ("a pen", "a pen")
    assert case.question == "What writes?\nA. a cup\nB. a pen"
    assert rows(found.ratings) == [("id1", "helm", "f1_score", 0.5)]


@pytest.mark.parametrize(
    "kind", ["promptfoo", "deepeval", "openai-evals", "inspect", "argilla", "label-studio", "helm"]
)
@pytest.mark.parametrize("content", ["{}", "[]", "[[]]", '"x"', "{", ""])
def test_a_file_of_no_kind_is_refused_in_words(kind: str, content: str, tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_text(content)

    with pytest.raises(VenireError):
        import_records(kind, file)


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet", ".arrow"])
def test_cases_and_ratings_are_written_as_every_command_reads_them(ending: str, tmp_path: Path) -> None:
    if ending in (".parquet", ".arrow"):
        pytest.importorskip("pyarrow")
    result = promptfoo_result(0, 'Kurz: ünïcode, "quoted"\nline', assertion("llm-rubric", 1 / 3))
    found = import_records("promptfoo", written(tmp_path, [result]))
    cases, ratings = tmp_path / f"cases{ending}", tmp_path / f"ratings{ending}"

    write_cases_file(found.cases, cases)
    write_ratings_file(found.ratings, ratings)

    (case,) = load_cases(cases)
    assert (case.output, case.source) == (found.cases[0].output, ("Long text.",))
    assert next(read_ratings(ratings)) == found.ratings[0]
