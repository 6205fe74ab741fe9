"""Export formats `argilla`, records with suggestions and responses, and `argilla-settings`, the dataset that they belong to."""

from __future__ import annotations

import json
from typing import Any, TextIO
from uuid import NAMESPACE_URL, UUID, uuid5

from ...orchestration.reading.export_format import ExportedRun
from ...rubrics.rubric import Attribute
from ...rubrics.scale import NOT_APPLICABLE, Scale, Value
from .annotation_tasks import AnnotationTask, Answers, annotation_tasks, asked_questions
from .argilla import EARLIER, RATERS
from .comments import rationale_name
from .scale_words import value_label

_RATING = range(11)
"""The values that Argilla's rating question takes."""


def write_argilla(run: ExportedRun, out: TextIO) -> int:
    """A list of records, as `records.from_json` reads it: texts, the verdict as suggestions, people's ratings as responses."""
    asked = {attribute.name: (attribute, scale) for attribute, scale in asked_questions(run)}
    tasks = annotation_tasks(run)
    json.dump([_record(task, asked) for task in tasks], out, ensure_ascii=False, indent=1)
    out.write("\n")
    return sum(len(task.juries) for task in tasks)


def write_argilla_settings(run: ExportedRun, out: TextIO) -> int:
    """The dataset's settings, as `rg.Settings.from_json` reads them: a field for each text, a question for each attribute."""
    tasks = annotation_tasks(run)
    shown = [name for name in (tasks[0].texts if tasks else ()) if name == "output" or any(t.texts.get(name) for t in tasks)]  # fmt: skip
    asked = list(asked_questions(run))
    names = {attribute.name for attribute, _ in asked}
    questions = []
    for attribute, scale in asked:
        questions.append(_question(attribute, scale))
        if rationale_name(attribute.name) not in names:
            why = {"type": "text", "use_markdown": False}
            questions.append({"name": rationale_name(attribute.name), "title": f"{attribute.name}: why?", "required": False, "settings": why})  # fmt: skip
    fields = [
        {"name": name, "title": name, "required": name == "output", "settings": {"type": "text", "use_markdown": False}}
        for name in shown
    ]  # fmt: skip
    settings = {
        "guidelines": None,
        "questions": questions,
        "fields": fields,
        "vectors": [],
        "metadata": [],
        "allow_extra_metadata": True,
        "distribution": {"strategy": "overlap", "min_submitted": 1},
        "mapping": None,
    }
    json.dump(settings, out, ensure_ascii=False, indent=1)
    out.write("\n")
    return sum(len(task.juries) for task in tasks)


def _question(attribute: Attribute, scale: Scale) -> dict[str, Any]:
    """A rating where the scale is whole numbers from 0 to 10 that always apply; labels for other anchors; else a text."""
    words = [value_label(value, text) for value, text in scale.anchors.items()]
    described = "; ".join(words) or f"a number from {scale.ends[0]:g} to {scale.ends[1]:g}"
    settings: dict[str, Any]
    if _is_rating(attribute, scale):
        settings = {"type": "rating", "options": [{"value": value} for value in scale.values]}
    elif scale.values:
        options = [{"value": _label(value), "text": text, "description": None} for value, text in zip(scale.values, words, strict=True)]  # fmt: skip
        if attribute.optional:
            options.append({"value": NOT_APPLICABLE, "text": "not applicable", "description": None})
        settings = {"type": "label_selection", "options": options}
    else:
        settings = {"type": "text", "use_markdown": False}
    return {
        "name": attribute.name,
        "title": attribute.question,
        "description": described,
        "required": not attribute.optional,
        "settings": settings,
    }


def _is_rating(attribute: Attribute, scale: Scale) -> bool:
    whole = [value for value in scale.values if isinstance(value, int) and value in _RATING]
    return bool(whole) and len(whole) == len(scale.values) and not attribute.optional


def _record(task: AnnotationTask, asked: dict[str, tuple[Attribute, Scale]]) -> dict[str, Any]:
    case = task.case
    people, earlier = _last_words(task.people)
    ids = {rater: _user_id(rater) for rater in people}
    made = {user: rater for rater, user in ids.items() if user != rater}
    metadata = {
        "group": case.group,
        "system": case.system,
        "venire_why": "; ".join(task.reasons) or None,
        "venire_votes": _votes(task) or None,
        RATERS: json.dumps(made, ensure_ascii=False) if made else None,
        EARLIER: json.dumps(earlier, ensure_ascii=False) if earlier else None,
    }
    return {
        "id": case.id,
        "fields": {name: text for name, text in task.texts.items() if text},
        "metadata": {key: value for key, value in metadata.items() if value is not None},
        "suggestions": _suggestions(task.juries, asked),
        "responses": _responses(people, ids, asked),
        "vectors": {},
        "status": "pending",
        "_server_id": None,
    }


def _last_words(people: list[Answers]) -> tuple[dict[str, Answers], list[tuple[str, str, Value]]]:
    """Each person's last answer to each question, which is all that Argilla has a place for; and the earlier ones."""
    last: dict[str, Answers] = {}
    earlier: list[tuple[str, str, Value]] = []
    for said in people:
        before = last.get(said.by, Answers(said.by, {}))
        earlier += [(said.by, name, before.values[name]) for name in said.values if name in before.values]
        kept = {name: why for name, why in before.rationales.items() if name not in said.values}
        last[said.by] = Answers(said.by, {**before.values, **said.values}, {**kept, **said.rationales})
    return last, earlier


def _suggestions(juries: list[Answers], asked: dict[str, tuple[Attribute, Scale]]) -> dict[str, Any]:
    """The first jury's verdict on each attribute; one that is no answer to the question, such as a mean, is none."""
    found: dict[str, Any] = {}
    for jury in juries:
        for name, value in jury.values.items():
            attribute, scale = asked[name]
            if name not in found and (not scale.values or value in (*scale.values, NOT_APPLICABLE)):
                found[name] = {"value": _answer(value, attribute, scale), "score": None, "agent": f"venire {jury.by}"}  # fmt: skip
    return found


def _responses(
    people: dict[str, Answers], ids: dict[str, str], asked: dict[str, tuple[Attribute, Scale]]
) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for rater, said in people.items():
        for name, value in said.values.items():
            given = {"value": _answer(value, *asked[name]), "user_id": ids[rater], "status": "submitted"}
            found.setdefault(name, []).append(given)
            if name in said.rationales and rationale_name(name) not in asked:
                why = {"value": said.rationales[name], "user_id": ids[rater], "status": "submitted"}
                found.setdefault(rationale_name(name), []).append(why)
    return found


def _answer(value: Value, attribute: Attribute, scale: Scale) -> int | str:
    """A value as the question's kind takes it: a rating is a whole number, everything else a word."""
    if _is_rating(attribute, scale) and not isinstance(value, str) and float(value).is_integer():
        return int(value)
    return _label(value)


def _label(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:.15g}"


def _user_id(rater: str) -> str:
    """The rater's own id where it is one of Argilla's, otherwise one made from the name, the same every time."""
    try:
        return str(UUID(rater))
    except ValueError:
        return str(uuid5(NAMESPACE_URL, f"venire:rater:{rater}"))


def _votes(task: AnnotationTask) -> str:
    """Every juror's last answers in words: `accurate: high 5, low 2; clear: ...`."""
    by_attribute: dict[str, list[str]] = {}
    for juror in task.jurors:
        for name, value in juror.values.items():
            by_attribute.setdefault(name, []).append(f"{juror.by.rpartition('/')[2]} {value}")
    return "; ".join(f"{name}: {', '.join(votes)}" for name, votes in by_attribute.items())
