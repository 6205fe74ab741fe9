"""Import format `argilla`: the records of a dataset as Argilla 2 writes them (`records.to_json`, `to_list(flatten=True)`, `to_disk`)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...rubrics.errors import InvalidFile
from ...rubrics.ratings import Rating
from .comments import is_comment_name, rationale_of
from .import_format import Item, ToolRecords
from .json_files import read_objects, read_tool_json

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
