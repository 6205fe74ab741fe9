"""Argilla 2: import of a dataset's records, export of records with suggestions and responses, and of the dataset's settings.

Read is what `records.to_json`, `to_list(flatten=True)` or `to_disk` wrote.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TextIO
from uuid import NAMESPACE_URL, UUID, uuid5

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
    is_comment_name,
    rationale_name,
    rationale_of,
    value_label,
)
from .import_format import Item, ToolRecords, read_objects, read_tool_json

RATERS = "venire_raters"
"""The key of a record's metadata that names raters whom Argilla does not know, by the id made for each."""
EARLIER = "venire_earlier"
"""The key under which ratings of earlier rounds stand, which Argilla has no place for: rater, attribute, value."""
OWN = ("venire_why", "venire_votes", RATERS, EARLIER)
"""Keys of a record's metadata that venire's export writes beside `group` and `system`."""


class _Response(NamedTuple):
    question: str
    user: str
    value: Any
    status: str | None


def read_argilla(path: Path) -> ToolRecords:
    """Each record as an item, and each submitted response as a rating by its user.

    `path` is the file of records, or the folder that `Dataset.to_disk` wrote. Rationales are the answers to questions named as one, and the
    words in answer to those that the settings beside the records say are free text. Drafts, discarded responses and suggestions are counted
    and left out; rankings, spans and several labels at once are unreadable.
    """
    file = path / "records.json" if path.is_dir() else path
    texts = _text_questions(file)
    records = ToolRecords()
    rows = read_objects(file)
    names = {response.question for row in rows for response in _responses(file, row)}
    for number, row in enumerate(rows, 1):
        name = str(row.get("id") or row.get("external_id") or row.get("_server_id") or f"record-{number}")
        metadata = row["metadata"] if isinstance(row.get("metadata"), Mapping) else {}
        fields = row["fields"] if isinstance(row.get("fields"), Mapping) else _flat_fields(row)
        case_fields = {key: metadata[key] for key in ("group", "system") if key in metadata}
        extra = {key: value for key, value in metadata.items() if key not in (*case_fields, *OWN)}
        records.items.append(Item(name, {**fields, **case_fields}, extra))
        for _ in range(_suggestions(row)):
            records.skip("suggestions by models", name)
        for rater, attribute, value in _earlier_ratings(metadata):
            records.ratings.append(Rating(name, rater, attribute, value))
        _read_responses(name, list(_responses(file, row)), _rater_names(metadata), names, texts, records)
    return records


def _read_responses(
    name: str,
    responses: list[_Response],
    raters: Mapping[str, str],
    names: set[str],
    texts: set[str],
    records: ToolRecords,
) -> None:
    comments: dict[str, dict[str, str]] = {}
    answers: list[tuple[_Response, float | str]] = []
    for reply in responses:
        place = f"{name}: {reply.question}"
        if reply.status in ("draft", "discarded"):
            records.skip(f"{reply.status} responses", place)
        elif reply.value is None:
            records.skip("responses without a value", place)
        elif is_comment_name(reply.question) or (
            reply.question in texts and not isinstance(_single(reply.value), float)
        ):
            comments.setdefault(reply.user, {})[reply.question] = str(reply.value)
        elif (value := _single(reply.value)) is None:
            records.lose("rating", "an answer that is a ranking, spans or several labels", place)
        else:
            answers.append((reply, value))
    rated_names = {question for question in names if not is_comment_name(question)}
    for reply, value in answers:
        reason = rationale_of(reply.question, comments.get(reply.user, {}), rated_names)
        records.ratings.append(
            Rating(name, raters.get(reply.user, reply.user), reply.question, value, rationale=reason)
        )


def _single(value: Any) -> float | str | None:
    """The one value of a response: a rating's number or a label; None where there are several."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        value = value[0]
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except ValueError:
        return value


def _responses(file: Path, row: Mapping[str, Any]) -> Iterator[_Response]:
    """The responses of a record in any of three shapes: by question (2.x), flattened (2.x), by user (1.x)."""
    responses = row.get("responses")
    try:
        if isinstance(responses, Mapping):
            for question, question_responses in responses.items():
                for reply in question_responses:
                    yield _Response(question, str(reply["user_id"]), reply["value"], reply.get("status"))
        elif isinstance(responses, list):
            for by in responses:
                for question, reply in (by.get("values") or {}).items():
                    yield _Response(question, str(by.get("user_id")), reply["value"], by.get("status"))
        else:
            yield from _flat_responses(row)
    except (KeyError, TypeError, AttributeError):
        raise InvalidFile(
            f"{file}: the responses of record {row.get('id')!r} are not in the form that Argilla writes",
            remedy="export the records with dataset.records.to_json(PATH)",
        ) from None


def _flat_responses(row: Mapping[str, Any]) -> Iterator[_Response]:
    for key, values in row.items():
        if key.endswith(".responses") and values:
            users = row.get(f"{key}.users") or [f"unknown {n}" for n in range(1, len(values) + 1)]
            states = row.get(f"{key}.status") or [None] * len(values)
            for value, user, status in zip(values, users, states, strict=True):
                yield _Response(key.removesuffix(".responses"), str(user), value, status)


def _flat_fields(row: Mapping[str, Any]) -> dict[str, Any]:
    """The texts of a flattened record; what is metadata cannot be told from them."""
    plain = {"id", "status", "_server_id", "responses", "suggestions", "vectors", "metadata"}
    fields = {key: value for key, value in row.items() if key not in plain and "." not in key}
    return {key: value for key, value in fields.items() if isinstance(value, str) or _is_messages(value)}


def _is_messages(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, Mapping) for part in value)


def _suggestions(row: Mapping[str, Any]) -> int:
    suggestions = row.get("suggestions")
    if isinstance(suggestions, Mapping | list):
        return len(suggestions)
    return sum(key.endswith(".suggestion") and value is not None for key, value in row.items())


def _rater_names(metadata: Mapping[str, Any]) -> dict[str, str]:
    """The names that venire's export kept for the ids it made."""
    encoded = metadata.get(RATERS)
    try:
        names = json.loads(encoded) if isinstance(encoded, str) else {}
    except ValueError:
        return {}
    return {str(user): str(name) for user, name in names.items()} if isinstance(names, dict) else {}


def _earlier_ratings(metadata: Mapping[str, Any]) -> list[tuple[str, str, float | str]]:
    """The ratings of earlier rounds that venire's export kept."""
    encoded = metadata.get(EARLIER)
    try:
        ratings = json.loads(encoded) if isinstance(encoded, str) else []
        return [(str(rater), str(attribute), value) for rater, attribute, value in ratings]
    except (ValueError, TypeError):
        return []


def _text_questions(file: Path) -> set[str]:
    """The questions that are answered in free text, by the settings beside the records; empty where there are none."""
    for settings_file in (file.parent / ".argilla" / "settings.json", file.parent / "settings.json"):
        if settings_file.is_file():
            settings = read_tool_json(settings_file)
            questions = settings.get("questions") if isinstance(settings, Mapping) else None
            if isinstance(questions, list):
                return {
                    str(q.get("name"))
                    for q in questions
                    if isinstance(q, Mapping) and (q.get("settings") or {}).get("type") == "text"
                }
    return set()


_RATING = range(11)
"""The values that Argilla's rating question takes."""


def write_argilla(run: ExportedRun, out: TextIO) -> int:
    """A list of records, as `records.from_json` reads it: texts, the verdict as suggestions, people's ratings as responses."""
    questions = {attribute.name: (attribute, scale) for attribute, scale in asked_questions(run)}
    tasks = annotation_tasks(run)
    json.dump([_record(task, questions) for task in tasks], out, ensure_ascii=False, indent=1)
    out.write("\n")
    return sum(len(task.juries) for task in tasks)


def write_argilla_settings(run: ExportedRun, out: TextIO) -> int:
    """The dataset's settings, as `rg.Settings.from_json` reads them: a field for each text, a question for each attribute."""
    tasks = annotation_tasks(run)
    field_names = [name for name in (tasks[0].texts if tasks else ()) if name == "output" or any(t.texts.get(name) for t in tasks)]  # fmt: skip
    question_scales = list(asked_questions(run))
    names = {attribute.name for attribute, _ in question_scales}
    questions = []
    for attribute, scale in question_scales:
        questions.append(_question(attribute, scale))
        if rationale_name(attribute.name) not in names:
            text_settings = {"type": "text", "use_markdown": False}
            questions.append({"name": rationale_name(attribute.name), "title": f"{attribute.name}: why?", "required": False, "settings": text_settings})  # fmt: skip
    fields = [
        {"name": name, "title": name, "required": name == "output", "settings": {"type": "text", "use_markdown": False}}
        for name in field_names
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
    description = "; ".join(words) or f"a number from {scale.ends[0]:g} to {scale.ends[1]:g}"
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
        "description": description,
        "required": not attribute.optional,
        "settings": settings,
    }


def _is_rating(attribute: Attribute, scale: Scale) -> bool:
    integers = [value for value in scale.values if isinstance(value, int) and value in _RATING]
    return bool(integers) and len(integers) == len(scale.values) and not attribute.optional


def _record(task: AnnotationTask, questions: dict[str, tuple[Attribute, Scale]]) -> dict[str, Any]:
    case = task.case
    people, earlier = _last_words(task.people)
    ids = {rater: _user_id(rater) for rater in people}
    rater_by_id = {user: rater for rater, user in ids.items() if user != rater}
    metadata = {
        "group": case.group,
        "system": case.system,
        "venire_why": "; ".join(task.reasons) or None,
        "venire_votes": _votes(task) or None,
        RATERS: json.dumps(rater_by_id, ensure_ascii=False) if rater_by_id else None,
        EARLIER: json.dumps(earlier, ensure_ascii=False) if earlier else None,
    }
    return {
        "id": case.id,
        "fields": {name: text for name, text in task.texts.items() if text},
        "metadata": {key: value for key, value in metadata.items() if value is not None},
        "suggestions": _exported_suggestions(task.juries, questions),
        "responses": _exported_responses(people, ids, questions),
        "vectors": {},
        "status": "pending",
        "_server_id": None,
    }


def _last_words(people: list[Answers]) -> tuple[dict[str, Answers], list[tuple[str, str, Value]]]:
    """Each person's last answer to each question, which is all that Argilla has a place for; and the earlier ones."""
    latest: dict[str, Answers] = {}
    earlier: list[tuple[str, str, Value]] = []
    for own in people:
        previous = latest.get(own.by, Answers(own.by, {}))
        earlier += [(own.by, name, previous.values[name]) for name in own.values if name in previous.values]
        rationales = {name: text for name, text in previous.rationales.items() if name not in own.values}
        latest[own.by] = Answers(own.by, {**previous.values, **own.values}, {**rationales, **own.rationales})
    return latest, earlier


def _exported_suggestions(juries: list[Answers], forms: dict[str, tuple[Attribute, Scale]]) -> dict[str, Any]:
    """The first jury's verdict on each attribute; one that is no answer to the question, such as a mean, is none."""
    suggestions: dict[str, Any] = {}
    for jury in juries:
        for name, value in jury.values.items():
            attribute, scale = forms[name]
            if name not in suggestions and (not scale.values or value in (*scale.values, NOT_APPLICABLE)):
                suggestions[name] = {"value": _answer(value, attribute, scale), "score": None, "agent": f"venire {jury.by}"}  # fmt: skip
    return suggestions


def _exported_responses(
    people: dict[str, Answers], ids: dict[str, str], forms: dict[str, tuple[Attribute, Scale]]
) -> dict[str, list[dict[str, Any]]]:
    responses: dict[str, list[dict[str, Any]]] = {}
    for rater, answers in people.items():
        for name, value in answers.values.items():
            reply = {"value": _answer(value, *forms[name]), "user_id": ids[rater], "status": "submitted"}
            responses.setdefault(name, []).append(reply)
            if name in answers.rationales and rationale_name(name) not in forms:
                rationale = {"value": answers.rationales[name], "user_id": ids[rater], "status": "submitted"}
                responses.setdefault(rationale_name(name), []).append(rationale)
    return responses


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
