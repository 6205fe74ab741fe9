"""Export formats `label-studio`, tasks to import with predictions and annotations, and `label-studio-config`, their labelling interface."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TextIO
from xml.etree import ElementTree as xml

from ...orchestration.reading.export_format import ExportedRun
from ...rubrics.rubric import Attribute
from ...rubrics.scale import NOT_APPLICABLE, Scale, Value
from .annotation_tasks import AnnotationTask, Answers, annotation_tasks, asked_questions
from .comments import rationale_name
from .label_studio import OWN_META, RATER
from .scale_words import value_label

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
    asked = list(asked_questions(run))
    for attribute, scale in asked:
        xml.SubElement(view, "Header", value=f"{attribute.name}: {attribute.question}")
        _control(view, attribute, scale)
        if (why := rationale_name(attribute.name)) not in {each.name for each, _ in asked}:
            xml.SubElement(
                view, "TextArea", name=why, toName=_JUDGED, rows="2", maxSubmissions="1", placeholder="why"
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
    own: dict[str, Any] = {
        key: value for key, value in (("group", case.group), ("system", case.system)) if value
    }
    # As they were counted: a mean is no choice, and then stands in no prediction.
    own["verdicts"] = {said.by: dict(said.values) for said in task.juries}
    document = {
        "data": {"id": case.id, **task.texts, **({"why": "; ".join(task.reasons)} if task.reasons else {})},
        "meta": {OWN_META: own},
        "predictions": [
            prediction
            for said in (*task.juries, *task.jurors)
            if (prediction := _prediction(said, scales))["result"]
        ],
    }
    if task.people:
        document["annotations"] = [_annotation(said, scales) for said in task.people]
    return document


def _prediction(said: Answers, scales: dict[str, Scale]) -> dict[str, Any]:
    support = {} if said.support is None else {"score": round(said.support, 4)}
    chosen = {n: v for n, v in said.values.items() if not scales[n].values or v in (*scales[n].values, NOT_APPLICABLE)}  # fmt: skip
    results = list(_results(replace(said, values=chosen), scales))
    return {"model_version": f"venire {said.by}", **support, "result": results}


def _annotation(said: Answers, scales: dict[str, Scale]) -> dict[str, Any]:
    """A person's answers, by the e-mail address or the number that Label Studio knows them by; other names stay in `meta`."""
    results = list(_results(said, scales))
    if _EMAIL.fullmatch(said.by):
        return {"completed_by": {"email": said.by}, "result": results}
    if said.by.isascii() and said.by.isdigit():
        return {"completed_by": int(said.by), "result": results}
    return {"result": [{**result, "meta": {RATER: said.by}} for result in results]}


def _results(said: Answers, scales: dict[str, Scale]) -> Iterator[dict[str, Any]]:
    for name, value in said.values.items():
        start = {"from_name": name, "to_name": _JUDGED}
        scale = scales.get(name)
        number = scale is not None and not scale.values
        if number and not isinstance(value, str):
            yield {**start, "type": "number", "value": {"number": value}}
        elif not number:
            yield {**start, "type": "choices", "value": {"choices": [_choice(value)]}}
        if (why := said.rationales.get(name)) is not None and rationale_name(name) not in scales:
            yield {"from_name": rationale_name(name), "to_name": _JUDGED, "type": "textarea", "value": {"text": [why]}}  # fmt: skip


def _choice(value: Value) -> str:
    return f"{value:g}" if isinstance(value, int | float) else value
