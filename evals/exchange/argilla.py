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
    asked = {each.question for row in rows for each in _responses(file, row)}
    for number, row in enumerate(rows, 1):
        name = str(row.get("id") or row.get("external_id") or row.get("_server_id") or f"record-{number}")
        metadata = row["metadata"] if isinstance(row.get("metadata"), Mapping) else {}
        fields = row["fields"] if isinstance(row.get("fields"), Mapping) else _flat_fields(row)
        own = {key: metadata[key] for key in ("group", "system") if key in metadata}
        kept = {key: value for key, value in metadata.items() if key not in (*own, *OWN)}
        records.items.append(Item(name, {**fields, **own}, kept))
        for _ in range(_suggestions(row)):
            records.skip("suggestions by models", name)
        for rater, attribute, value in _earlier_ratings(metadata):
            records.ratings.append(Rating(name, rater, attribute, value))
        _read_responses(name, list(_responses(file, row)), _rater_names(metadata), asked, texts, records)
    return records


def _read_responses(
    name: str,
    responses: list[_Response],
    raters: Mapping[str, str],
    asked: set[str],
    texts: set[str],
    records: ToolRecords,
) -> None:
    said: dict[str, dict[str, str]] = {}
    answers: list[tuple[_Response, float | str]] = []
    for each in responses:
        where = f"{name}: {each.question}"
        if each.status in ("draft", "discarded"):
            records.skip(f"{each.status} responses", where)
        elif each.value is None:
            records.skip("responses without a value", where)
        elif is_comment_name(each.question) or (
            each.question in texts and not isinstance(_single(each.value), float)
        ):
            said.setdefault(each.user, {})[each.question] = str(each.value)
        elif (value := _single(each.value)) is None:
            records.lose("rating", "a ranking, spans or several labels", where)
        else:
            answers.append((each, value))
    rated = {question for question in asked if not is_comment_name(question)}
    for each, value in answers:
        why = rationale_of(each.question, said.get(each.user, {}), rated)
        records.ratings.append(
            Rating(name, raters.get(each.user, each.user), each.question, value, rationale=why)
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
    given = row.get("responses")
    try:
        if isinstance(given, Mapping):
            for question, each in given.items():
                for one in each:
                    yield _Response(question, str(one["user_id"]), one["value"], one.get("status"))
        elif isinstance(given, list):
            for each in given:
                for question, one in (each.get("values") or {}).items():
                    yield _Response(question, str(each.get("user_id")), one["value"], each.get("status"))
        else:
            yield from _flat_responses(row)
    except (KeyError, TypeError, AttributeError):
        raise InvalidFile(
            f"{file}: the responses of record {row.get('id')!r} are not as Argilla writes them",
            remedy="write them with dataset.records.to_json(PATH)",
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
    found = {key: value for key, value in row.items() if key not in plain and "." not in key}
    return {key: value for key, value in found.items() if isinstance(value, str) or _is_messages(value)}


def _is_messages(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, Mapping) for part in value)


def _suggestions(row: Mapping[str, Any]) -> int:
    given = row.get("suggestions")
    if isinstance(given, Mapping | list):
        return len(given)
    return sum(key.endswith(".suggestion") and value is not None for key, value in row.items())


def _rater_names(metadata: Mapping[str, Any]) -> dict[str, str]:
    """The names that venire's export kept for the ids it made."""
    kept = metadata.get(RATERS)
    try:
        found = json.loads(kept) if isinstance(kept, str) else {}
    except ValueError:
        return {}
    return {str(user): str(name) for user, name in found.items()} if isinstance(found, dict) else {}


def _earlier_ratings(metadata: Mapping[str, Any]) -> list[tuple[str, str, float | str]]:
    """The ratings of earlier rounds that venire's export kept."""
    kept = metadata.get(EARLIER)
    try:
        found = json.loads(kept) if isinstance(kept, str) else []
        return [(str(rater), str(attribute), value) for rater, attribute, value in found]
    except (ValueError, TypeError):
        return []


def _text_questions(file: Path) -> set[str]:
    """The questions that are answered in free text, by the settings beside the records; empty where there are none."""
    for beside in (file.parent / ".argilla" / "settings.json", file.parent / "settings.json"):
        if beside.is_file():
            settings = read_tool_json(beside)
            questions = settings.get("questions") if isinstance(settings, Mapping) else None
            if isinstance(questions, list):
                return {
                    str(each.get("name"))
                    for each in questions
                    if isinstance(each, Mapping) and (each.get("settings") or {}).get("type") == "text"
                }
    return set()


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
        "suggestions": _exported_suggestions(task.juries, asked),
        "responses": _exported_responses(people, ids, asked),
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


def _exported_suggestions(juries: list[Answers], asked: dict[str, tuple[Attribute, Scale]]) -> dict[str, Any]:
    """The first jury's verdict on each attribute; one that is no answer to the question, such as a mean, is none."""
    found: dict[str, Any] = {}
    for jury in juries:
        for name, value in jury.values.items():
            attribute, scale = asked[name]
            if name not in found and (not scale.values or value in (*scale.values, NOT_APPLICABLE)):
                found[name] = {"value": _answer(value, attribute, scale), "score": None, "agent": f"venire {jury.by}"}  # fmt: skip
    return found


def _exported_responses(
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
