"""Results of other evaluation tools, read as cases and ratings: promptfoo, DeepEval, OpenAI evals, HELM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...rubrics.errors import InvalidFile
from ...rubrics.ratings import Rating
from ..suites.helm_runs import load_helm
from .import_format import Item, ToolRecords, add_score, free_id, read_objects, read_tool_json

_PROMPTFOO = "promptfoo"
_HUMAN = "human"
"""The type of assertion that a person's own mark in promptfoo's viewer is."""

_NOTHING_ASSERTED = "No assertions"
"""The reason beside the 1 that promptfoo gives where nothing was asked."""
_COMPARED = ("Output selected", "Output not selected")
"""How promptfoo's reason begins where `select-best` chose an output. Otherwise the 0 of every output is an error of its grader."""


_FAILED = (
    "Custom function threw error",
    "Python code execution failed",
    "Python error",
    "Ruby code execution failed",
    "Webhook error",
    "Search rubric evaluation failed",
    "No output",
)
"""How promptfoo's reason begins where an assertion could not be carried out, which it scores 0 too."""


def read_promptfoo(path: Path) -> ToolRecords:
    """Each result as an item, its variables among its texts, and each assertion as a rating by promptfoo, or by a person.

    An assertion's metric, or its type, is the attribute; its score from 0 to 1 the value. A jury of the plug-in's is a rater of its own, with its verdict on every
    attribute; what is hung has none. Results that ended in an error are counted and left out.
    """
    records = ToolRecords()
    names: set[str] = set()
    for result in _results(path):
        prompt, provider = (_mapping(result.get(name)) for name in ("prompt", "provider"))
        system = str(provider.get("label") or provider.get("id") or result.get("provider") or "")
        title = f"{result.get('testIdx', len(names))}/{result.get('promptIdx', 0)}/{system}"
        name = free_id(title, names)
        names.add(name)
        output = _mapping(result.get("response")).get("output")
        if output in (None, ""):
            reason = "results that ended in an error" if result.get("error") else "results without an output"
            records.skip(reason, name)
            continue
        inputs = _mapping(result.get("vars"))
        texts = {"output": output, "question": prompt.get("raw") or prompt.get("label"), "system": system}
        texts |= {"group": str(result["testIdx"])} if "testIdx" in result else {}
        variables = {key if key not in texts else f"var_{key}": value for key, value in inputs.items()}
        records.items.append(Item(name, {**variables, **texts}))
        _read_assertions(name, result, records)
    return records


def _results(path: Path) -> Iterator[Mapping[str, Any]]:
    """The results in any of the shapes that promptfoo writes: an export, a summary, a line each."""
    document = read_tool_json(path)
    while isinstance(document, Mapping) and "results" in document:
        document = document["results"]
    listed = [document] if isinstance(document, Mapping) and "prompt" in document else document
    if not isinstance(listed, list) or not all(
        isinstance(entry, Mapping) and "prompt" in entry for entry in listed
    ):
        raise InvalidFile(
            f"{path}: no list of promptfoo results was found",
            remedy="export the results with: promptfoo eval --output results.json",
        )
    yield from listed


def _read_assertions(name: str, result: Mapping[str, Any], records: ToolRecords) -> None:
    grading = _mapping(result.get("gradingResult"))
    parts = [result for result in grading.get("componentResults") or () if isinstance(result, Mapping)]
    attributes: list[str] = []
    raters: list[str] = []
    deliberations = [_mapping(_mapping(part.get("metadata")).get("deliberation")) for part in parts]
    by_juries = [
        part.get("assertion") for part, heard in zip(parts, deliberations, strict=True) if "verdict" in heard
    ]
    for part, deliberation in zip(parts, deliberations, strict=True):
        if "verdict" in deliberation:
            prefix = _mapping(part.get("metadata")).get("prefix") or ""
            rater = f"{prefix}{deliberation.get('arm')}".replace("#", "-")
            raters.append(free_id(rater, raters, mark="-"))
            _read_verdict(name, raters[-1], deliberation, records)
        # Beside a jury's result promptfoo lists its attributes once more, under the same assertion.
        if part.get("assertion") in by_juries:
            continue
        assertion = _mapping(part.get("assertion"))
        kind = str(assertion.get("type") or "assertion")
        attribute = free_id(str(assertion.get("metric") or kind).replace("#", "_"), attributes, mark="_")
        attributes.append(attribute)
        reason, metadata = str(part.get("reason")), _mapping(part.get("metadata"))
        failed = not reason.startswith(_COMPARED) if kind == "select-best" else reason.startswith(_FAILED)
        if failed or metadata.get("error") or metadata.get("graderError"):
            records.skip("assertions that ended without a verdict", f"{name}: {attribute}")
            continue
        value = part["score"] if part.get("score") is not None else part.get("pass")
        add_score(
            records, name, _HUMAN if kind == _HUMAN else _PROMPTFOO, attribute, value, part.get("reason")
        )
    if not parts and grading.get("reason") == _NOTHING_ASSERTED:
        records.skip("results without an assertion", name)
    elif not parts and grading:
        value = grading["score"] if grading.get("score") is not None else grading.get("pass")
        add_score(records, name, _PROMPTFOO, "score", value, grading.get("reason"))


def _read_verdict(name: str, rater: str, deliberation: Mapping[str, Any], records: ToolRecords) -> None:
    """The verdict that the plug-in left beside its assertion, on the rubric's own scales."""
    for attribute, outcome in _mapping(deliberation["verdict"]).items():
        value = _mapping(outcome).get("value")
        if value is None:
            records.skip(
                f"attributes that are {_mapping(outcome).get('status')}", f"{name}: {attribute} by {rater}"
            )
        else:
            records.ratings.append(Rating(name, rater, attribute, value))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


_LISTS = ("testCases", "conversationalTestCases", "test_cases", "conversational_test_cases", "test_results")


def read_deepeval(path: Path) -> ToolRecords:
    """Each test case as an item, and each metric's score as a rating by the model that evaluated it, or by `deepeval`.

    A conversation's turns are its output. Metrics that ended in an error have no score: they are counted and left out.
    """
    records = ToolRecords()
    names: set[str] = set()
    for number, case in enumerate(_test_cases(path)):
        name = free_id(str(case.get("name") or f"case-{number}"), names)
        names.add(name)
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
        metadata = case.get("metadata") or case.get("additional_metadata")
        records.items.append(
            Item(name, {key: text for key, text in texts.items() if text}, metadata if isinstance(metadata, Mapping) else {})
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
    parsed = read_tool_json(path)
    if isinstance(parsed, Mapping) and isinstance(parsed.get("testRunData"), Mapping):
        parsed = parsed["testRunData"]
    lists = [
        parsed[name] for name in _LISTS if isinstance(parsed, Mapping) and isinstance(parsed.get(name), list)
    ]
    listed = [entry for cases in lists for entry in cases] if lists else parsed
    if not isinstance(listed, list) or not all(isinstance(entry, Mapping) for entry in listed):
        raise InvalidFile(
            f"{path}: no test cases of DeepEval were found",
            remedy="give a file from DEEPEVAL_RESULTS_FOLDER, or a file with what EvaluationResult.model_dump_json() returned",
        )
    for case in listed:
        plain = _snake(case)
        plain["metrics_data"] = [
            _snake(entry) for entry in plain.get("metrics_data") or () if isinstance(entry, Mapping)
        ]
        yield plain


def _snake(part: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name): value
        for name, value in part.items()
    }


_OPENAI_EVALS = "openai"
_TEXTS = ("output", "question", "system")


def read_openai_evals(path: Path) -> ToolRecords:
    """Each output item, logged sample or `{item, sample}` line as an item, and each grader's score as a rating.

    The grader's name is the attribute. In the framework's logs a `match` is 1 or 0, and `metrics` are ratings by their names.
    """
    rows = read_objects(path)
    rows = [entry for row in rows for entry in (row["data"] if isinstance(row.get("data"), list) else [row])]
    if any("sample_id" in row and "type" in row for row in rows):
        return _logged_samples(rows)
    if not any("sample" in row or "datasource_item" in row or "item" in row for row in rows):
        raise InvalidFile(
            f"{path}: neither output items nor logged samples of OpenAI's evals were found",
            remedy="give a file with the output items of a run, one on each line, or a log of the evals framework",
        )
    return _output_items(rows)


def _output_items(rows: Sequence[Mapping[str, Any]]) -> ToolRecords:
    records = ToolRecords()
    names: set[str] = set()
    for number, row in enumerate(rows, 1):
        item = _mapping(row.get("datasource_item", row.get("item")))
        sample = _mapping(row.get("sample"))
        raw_id = row.get("datasource_item_id", item.get("id", row.get("id", f"item-{number}")))
        name = free_id(str(raw_id), names)
        names.add(name)
        output = _model_text(sample.get("output")) or str(sample.get("output_text") or "")
        if not output:
            reason = (
                "items that ended in an error"
                if _mapping(sample.get("error")).get("message")
                else "items without an output"
            )
            records.skip(reason, name)
            continue
        texts = {"output": output, "question": sample.get("input"), "system": sample.get("model")}
        variables = {
            f"item_{key}" if key in _TEXTS else key: value for key, value in item.items() if key != "id"
        }
        records.items.append(Item(name, {**variables, **{key: text for key, text in texts.items() if text}}))
        for result in row.get("results") or ():
            if isinstance(result, Mapping) and _ended_in_error(row, result):
                records.skip("grades that ended in an error", f"{name}: {result.get('name') or 'score'}")
            elif isinstance(result, Mapping):
                value = result["score"] if result.get("score") is not None else result.get("passed")
                add_score(
                    records,
                    name,
                    _OPENAI_EVALS,
                    str(result.get("name") or "score"),
                    value,
                    result.get("reason"),
                )
    return records


def _ended_in_error(row: Mapping[str, Any], result: Mapping[str, Any]) -> bool:
    """Whether a grader gave no grade, though OpenAI writes 0 and `passed: false`: the item, the grade or the grader's own sample has an error."""
    errors = (_mapping(part.get("error")).get("message") for part in (result, _mapping(result.get("sample"))))
    return "error" in (row.get("status"), result.get("status")) or any(errors)


def _logged_samples(rows: Sequence[Mapping[str, Any]]) -> ToolRecords:
    """The events of the framework's log, by sample: what was sampled, and what was recorded of it."""
    records = ToolRecords()
    system = next(
        (str(_completion_fn(row["spec"])) for row in rows if isinstance(row.get("spec"), Mapping)), ""
    )
    sampled: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        if row.get("type") == "sampling":
            sampled.setdefault(str(row["sample_id"]), _mapping(row.get("data")))
    references = {str(row["sample_id"]): _mapping(row.get("data")).get("expected") for row in rows if row.get("type") == "match"}  # fmt: skip
    for name, data in sampled.items():
        output = _model_text(data.get("sampled"))
        if not output:
            records.skip("samples without an output", name)
            continue
        texts = {
            "output": output,
            "question": data.get("prompt"),
            "reference": references.get(name),
            "system": system,
        }
        records.items.append(Item(name, {key: text for key, text in texts.items() if text}))
    for row in rows:
        name, data = str(row.get("sample_id")), _mapping(row.get("data"))
        if row.get("type") == "match":
            add_score(records, name, _OPENAI_EVALS, "match", data.get("correct"))
        elif row.get("type") == "metrics":
            for key, value in data.items():
                if isinstance(value, bool | int | float | None):
                    add_score(records, name, _OPENAI_EVALS, key, value)
                else:
                    records.skip("recorded beside the metrics", f"{name}: {key}")
    return records


def _completion_fn(spec: Mapping[str, Any]) -> Any:
    names = spec.get("completion_fns")
    return names[0] if isinstance(names, list) and names else spec.get("model", "")


def _model_text(value: Any) -> str:
    """What a model wrote: a text, a list of texts, or messages whose content it is."""
    if isinstance(value, str):
        return value
    parts = value if isinstance(value, list) else []
    return "\n".join(
        str(part.get("content") or "") if isinstance(part, Mapping) else str(part) for part in parts
    ).strip()


_HELM = "helm"


def read_helm(path: Path) -> ToolRecords:
    """Each instance of each run as an item, and HELM's main metric of it as a rating.

    Answers of several models to one instance have its id as their group. Where `path` holds one run, ids are HELM's own.
    """
    imported = load_helm(path)
    records = ToolRecords(notes=list(imported.notes))
    single_run = len(imported.runs) == 1
    for run in imported.runs:
        for instance in dict.fromkeys((*run.outputs, *run.scores)):
            name = instance if single_run else f"{run.scenario}/{run.system}/{instance}"
            output = run.outputs.get(instance, "")
            if not output.strip():
                records.skip("instances whose output is empty or was not kept", name)
                continue
            texts = {
                "output": output,
                "question": run.inputs.get(instance),
                "reference": "\n".join(run.targets.get(instance, ())),
                "system": run.system,
                "group": f"{run.scenario}/{instance}",
            }
            records.items.append(Item(name, {key: text for key, text in texts.items() if text}))
            if instance in run.scores:
                add_score(records, name, _HELM, run.metric, run.scores[instance])
    return records
