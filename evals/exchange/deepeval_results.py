"""Import format `deepeval`: a test run as DeepEval keeps it, or an `EvaluationResult` dumped as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...rubrics.errors import InvalidFile
from .import_format import Item, ToolRecords
from .json_files import read_tool_json
from .tool_scores import add_score, free_id

_LISTS = ("testCases", "conversationalTestCases", "test_cases", "conversational_test_cases", "test_results")


def read_deepeval(path: Path) -> ToolRecords:
    """Each test case as an item, and each metric's score as a rating by the model that evaluated it, or by `deepeval`.

    A conversation's turns are its output. Metrics that ended in an error have no score: they are counted and left out.
    """
    records = ToolRecords()
    taken: set[str] = set()
    for number, case in enumerate(_test_cases(path)):
        name = free_id(str(case.get("name") or f"case-{number}"), taken)
        taken.add(name)
        output = case.get("actual_output") or case.get("turns")
        if not output:
            records.skip("test cases without an output", name)
            continue
        texts = {
            "output": output,
            "question": case.get("input") or case.get("scenario"),
            "reference": case.get("expected_output") or case.get("expected_outcome"),
            "source": case.get("retrieval_context") or case.get("context"),
        }
        kept = case.get("metadata") or case.get("additional_metadata")
        records.items.append(
            Item(name, {key: text for key, text in texts.items() if text}, kept if isinstance(kept, Mapping) else {})
        )  # fmt: skip
        for metric in case.get("metrics_data") or ():
            rater = str(metric.get("evaluation_model") or "deepeval")
            if metric.get("error"):
                records.skip("metrics that ended in an error", f"{name}: {metric.get('name')}")
            else:
                add_score(records, name, rater, str(metric.get("name")), metric.get("score"), metric.get("reason"))  # fmt: skip
    return records


def _test_cases(path: Path) -> Iterator[dict[str, Any]]:
    """The test cases under snake-case names, whichever of the two ways DeepEval spelt them."""
    found = read_tool_json(path)
    if isinstance(found, Mapping) and isinstance(found.get("testRunData"), Mapping):
        found = found["testRunData"]
    lists = [
        found[name] for name in _LISTS if isinstance(found, Mapping) and isinstance(found.get(name), list)
    ]
    listed = [each for cases in lists for each in cases] if lists else found
    if not isinstance(listed, list) or not all(isinstance(each, Mapping) for each in listed):
        raise InvalidFile(
            f"{path}: no test cases of DeepEval's in it",
            remedy="name a file of DEEPEVAL_RESULTS_FOLDER, or EvaluationResult.model_dump_json() written to one",
        )
    for case in listed:
        plain = _snake(case)
        plain["metrics_data"] = [
            _snake(each) for each in plain.get("metrics_data") or () if isinstance(each, Mapping)
        ]
        yield plain


def _snake(part: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name): value
        for name, value in part.items()
    }
