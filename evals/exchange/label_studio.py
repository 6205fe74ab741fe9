"""Label Studio: import of its JSON export, export of tasks with predictions and annotations, and of their labelling interface."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO
from xml.etree import ElementTree as xml

from ...orchestration.reading.export import ExportedRun
from ...rubrics.errors import InvalidFile
from ...rubrics.ratings import Rating
from ...rubrics.rubric import Attribute
from ...rubrics.scale import NOT_APPLICABLE, Scale, Value
from .annotation_tasks import (
    AnnotationTask,
    Answers,
    annotation_tasks,
    asked_questions,
    rationale_name,
    rationale_of,
    value_label,
)
from .import_format import Item, ToolRecords, read_objects

OWN_META = "venire"
"""The key of a task's `meta` under which venire's export keeps what annotators should not read."""
RATER = "rater"
"""The key of a result's `meta` that holds a rater whom Label Studio does not know."""

_UNKNOWN = "some annotations do not name their rater: within a task, these raters are called `unknown`, `unknown 2` and so on"


def read_label_studio(path: Path) -> ToolRecords:
    """Each task as an item, and each answer of an annotation as a rating by whoever completed it.

    Choices, ratings, numbers and pairwise answers are ratings; text areas are rationales. Cancelled annotations, drafts and
    predictions are counted and left out; so is, as unreadable, what is about a part of a text, or several choices at once.
    """
    records = ToolRecords()
    tasks = read_objects(path)
    control_names = _rated_controls(tasks)
    for number, task in enumerate(tasks, 1):
        if not isinstance(task.get("data"), Mapping):
            raise _other_kind(path, number, task)
        name = _task_name(task, number)
        meta = task.get("meta")
        own = meta.get(OWN_META) if isinstance(meta, Mapping) else None
        extra = (
            {key: own[key] for key in ("group", "system") if own.get(key)} if isinstance(own, Mapping) else {}
        )
        fields = {key: value for key, value in task["data"].items() if key not in ("id", "why")}
        records.items.append(Item(name, {**fields, **extra}))
        _read_annotations(name, task, control_names, records)
    return records


def _task_name(task: Mapping[str, Any], number: int) -> str:
    data_id = task["data"].get("id")
    return str(next(name for name in (data_id, task.get("id"), f"task-{number}") if name not in (None, "")))


def _other_kind(path: Path, number: int, task: Mapping[str, Any]) -> InvalidFile:
    if "annotation_id" in task or "annotator" in task:
        return InvalidFile(
            f"{path}: this is a JSON-MIN export, which does not distinguish answers from texts",
            remedy="export from Label Studio as JSON",
        )
    return InvalidFile(f"{path}: task {number} has no data", remedy="export from Label Studio as JSON")


def _rated_controls(tasks: Sequence[Mapping[str, Any]]) -> set[str]:
    """The names of all controls that are no text areas: a comment may be named for one."""
    return {
        str(result.get("from_name"))
        for task in tasks
        for annotation in _annotations(task)
        for result in _objects(annotation.get("result"))
        if result.get("type") != "textarea"
    }


def _annotations(task: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A task's annotations, the oldest first."""
    annotations = _objects(task.get("annotations", task.get("completions")))
    return sorted(annotations, key=lambda annotation: str(annotation.get("created_at") or ""))


def _read_annotations(
    name: str, task: Mapping[str, Any], controls: Collection[str], records: ToolRecords
) -> None:
    for kind in ("drafts", "predictions"):
        for _ in _objects(task.get(kind)):
            records.skip(f"{kind} of tasks", name)
    unknown = 0
    for annotation in _annotations(task):
        if annotation.get("was_cancelled") or annotation.get("skipped"):
            records.skip("cancelled annotations", name)
            continue
        results = list(_objects(annotation.get("result")))
        rater = _rater(annotation, results)
        if rater is None:
            unknown += 1
            rater = "unknown" if unknown == 1 else f"unknown {unknown}"
            if _UNKNOWN not in records.notes:
                records.notes.append(_UNKNOWN)
        answers = dict(_answers(name, results, records))
        if not answers:
            records.skip("annotations without a rating", name)
        comments = dict(_comments(results))
        for attribute, value in answers.items():
            records.ratings.append(
                Rating(name, rater, attribute, value, rationale=rationale_of(attribute, comments, controls))
            )


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    yield from (entry for entry in value if isinstance(entry, Mapping)) if isinstance(value, list) else ()


def _rater(annotation: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> str | None:
    """Who completed it: the name that venire's export kept, an e-mail address, or the number of a user."""
    for result in results:
        meta = result.get("meta")
        if isinstance(meta, Mapping) and isinstance(meta.get(RATER), str):
            return str(meta[RATER])
    by = annotation.get("completed_by")
    if isinstance(by, Mapping):
        names = (by.get("email"), by.get("username"), by.get("id"))
        by = next((name for name in names if name not in (None, "")), None)
    return None if by in (None, "") else str(by)


def _answers(
    name: str, results: Sequence[Mapping[str, Any]], records: ToolRecords
) -> Iterator[tuple[str, float | str]]:
    """Each answer that is one value for the whole text, by the name of its control; what is not is counted."""
    controls = set()
    for result in results:
        kind, control, value = (str(result.get("type") or ""), result.get("from_name"), result.get("value"))
        if kind in ("textarea", "relation"):
            continue
        place = f"{name}: {control or kind}"
        if not isinstance(control, str) or not control or not isinstance(value, Mapping):
            records.lose("rating", "an answer without the name of its question, or without a value", place)
        elif {"start", "end", "x", "ranges"} & value.keys():
            records.lose(
                "rating", f"an answer ({kind}) about a part of a text, not about the whole text", place
            )
        elif control in controls:
            records.lose("rating", "a question that is answered twice in one annotation", place)
        elif (answer := _answer(kind, value)) is not None:
            controls.add(control)
            yield control, answer
        elif kind == "choices" and value.get("choices"):
            records.lose("rating", "several choices at once", place)
        else:
            records.lose("rating", f"an answer of the kind {kind!r} that has no single value", place)


def _answer(kind: str, value: Mapping[str, Any]) -> float | str | None:
    """The one value of an answer; None where there is none, or several."""
    if kind == "pairwise":
        return str(value["selected"]) if value.get("selected") else None
    if kind in ("rating", "number"):
        raw = value.get(kind)
        return float(raw) if isinstance(raw, int | float) and not isinstance(raw, bool) else None
    raw = value.get("choices") if kind == "choices" else None
    choices = [raw] if isinstance(raw, str) else raw
    return _number_or_word(choices[0]) if isinstance(choices, list) and len(choices) == 1 else None


def _number_or_word(raw: Any) -> float | str | None:
    text = str(raw).strip()
    try:
        return float(text) if text.lower() not in ("nan", "inf", "-inf", "infinity") else text
    except ValueError:
        return text or None


def _comments(results: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """What was written in text areas, by their name."""
    for result in results:
        value = result.get("value")
        if result.get("type") == "textarea" and isinstance(value, Mapping):
            raw_text = value.get("text")
            text = "\n".join(map(str, raw_text)) if isinstance(raw_text, list) else str(raw_text or "")
            if text.strip():
                yield str(result.get("from_name") or "comment"), text


_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_JUDGED = "case_output"
"""The name of the tag that shows the text under judgement; no attribute begins with `case_` and a text's name."""


def write_label_studio(run: ExportedRun, out: TextIO) -> int:
    """A list of tasks: texts, the jury's and each juror's answers as predictions, people's as annotations."""
    scales = {attribute.name: scale for attribute, scale in asked_questions(run)}
    tasks = annotation_tasks(run)
    json.dump([_task(task, scales) for task in tasks], out, ensure_ascii=False, indent=1)
    out.write("\n")
    return sum(len(task.juries) for task in tasks)


def write_label_studio_config(run: ExportedRun, out: TextIO) -> int:
    """The labelling interface in XML: the case's texts, then for each attribute its scale and a box for why."""
    view = xml.Element("View")
    tasks = annotation_tasks(run)
    for name in tasks[0].texts if tasks else {"output": ""}:
        if name == "output" or any(task.texts.get(name) for task in tasks):
            xml.SubElement(view, "Header", value=name)
            xml.SubElement(view, "Text", name=f"case_{name}", value=f"${name}")
    question_scales = list(asked_questions(run))
    for attribute, scale in question_scales:
        xml.SubElement(view, "Header", value=f"{attribute.name}: {attribute.question}")
        _control(view, attribute, scale)
        if (box := rationale_name(attribute.name)) not in {a.name for a, _ in question_scales}:
            xml.SubElement(
                view, "TextArea", name=box, toName=_JUDGED, rows="2", maxSubmissions="1", placeholder="why"
            )
    xml.indent(view)
    out.write(xml.tostring(view, encoding="unicode") + "\n")
    return sum(len(task.juries) for task in tasks)


def _control(view: xml.Element, attribute: Attribute, scale: Scale) -> None:
    required = "false" if attribute.optional else "true"
    if not scale.values:
        low, high = (f"{end:g}" for end in scale.ends)
        xml.SubElement(view, "Number", name=attribute.name, toName=_JUDGED, min=low, max=high, step="any", required=required)  # fmt: skip
        return
    choices = xml.SubElement(view, "Choices", name=attribute.name, toName=_JUDGED, choice="single-radio", required=required)  # fmt: skip
    for value, words in scale.anchors.items():
        # The alias is what an export holds; the value is what is read.
        xml.SubElement(choices, "Choice", value=value_label(value, words), alias=_choice(value))
    if attribute.optional:
        xml.SubElement(choices, "Choice", value="not applicable", alias=NOT_APPLICABLE)


def _task(task: AnnotationTask, scales: dict[str, Scale]) -> dict[str, Any]:
    case = task.case
    meta: dict[str, Any] = {
        key: value for key, value in (("group", case.group), ("system", case.system)) if value
    }
    # As they were counted: a mean is no choice, and then stands in no prediction.
    meta["verdicts"] = {answers.by: dict(answers.values) for answers in task.juries}
    document = {
        "data": {"id": case.id, **task.texts, **({"why": "; ".join(task.reasons)} if task.reasons else {})},
        "meta": {OWN_META: meta},
        "predictions": [
            prediction
            for answers in (*task.juries, *task.jurors)
            if (prediction := _prediction(answers, scales))["result"]
        ],
    }
    if task.people:
        document["annotations"] = [_annotation(answers, scales) for answers in task.people]
    return document


def _prediction(answers: Answers, scales: dict[str, Scale]) -> dict[str, Any]:
    support = {} if answers.support is None else {"score": round(answers.support, 4)}
    legal_values = {n: v for n, v in answers.values.items() if not scales[n].values or v in (*scales[n].values, NOT_APPLICABLE)}  # fmt: skip
    results = list(_results(replace(answers, values=legal_values), scales))
    return {"model_version": f"venire {answers.by}", **support, "result": results}


def _annotation(answers: Answers, scales: dict[str, Scale]) -> dict[str, Any]:
    """A person's answers, by the e-mail address or the number that Label Studio knows them by; other names stay in `meta`."""
    results = list(_results(answers, scales))
    if _EMAIL.fullmatch(answers.by):
        return {"completed_by": {"email": answers.by}, "result": results}
    if answers.by.isascii() and answers.by.isdigit():
        return {"completed_by": int(answers.by), "result": results}
    return {"result": [{**result, "meta": {RATER: answers.by}} for result in results]}


def _results(answers: Answers, scales: dict[str, Scale]) -> Iterator[dict[str, Any]]:
    for name, value in answers.values.items():
        start = {"from_name": name, "to_name": _JUDGED}
        scale = scales.get(name)
        number = scale is not None and not scale.values
        if number and not isinstance(value, str):
            yield {**start, "type": "number", "value": {"number": value}}
        elif not number:
            yield {**start, "type": "choices", "value": {"choices": [_choice(value)]}}
        if (rationale := answers.rationales.get(name)) is not None and rationale_name(name) not in scales:
            yield {"from_name": rationale_name(name), "to_name": _JUDGED, "type": "textarea", "value": {"text": [rationale]}}  # fmt: skip


def _choice(value: Value) -> str:
    return f"{value:g}" if isinstance(value, int | float) else value
