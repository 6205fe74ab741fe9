"""A tool's file as cases and ratings, with a count of everything that was left out; and the files that they are written to."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import ValidationError

from ...orchestration.record.private_files import open_private, write_atomically
from ...rubrics.case import Case
from ...rubrics.errors import InvalidFile, VenireError
from ...rubrics.files import nearest
from ...rubrics.ratings import Rating
from ...rubrics.rows import ColumnKind, csv_cell, need_pyarrow, table_bytes
from ...rubrics.rubric import Rubric
from ...rubrics.scale import NOT_APPLICABLE
from ...rubrics.sheet_columns import ROLES, SheetColumns, attribute_names, guess_columns
from ..ratings.people import RatingCheck, check_ratings
from ..ratings.question import rubric_questions
from .annotation_tasks import scale_value
from .import_format import Item, ToolRecords, import_format

CASE_ROLES = ("output", "source", "reference", "question", "audience", "group", "system")
_NAMED = 5
"""How many places a note names."""
_ATTRIBUTE = re.compile(r"[a-z][a-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class Imported:
    """Cases and ratings from another tool, and what was left out."""

    cases: tuple[Case, ...]
    ratings: tuple[Rating, ...]
    columns: Mapping[str, str]
    """By the tool's name of a text: what it became in a case."""
    records: ToolRecords
    check: RatingCheck | None
    """The ratings held against the rubric, where one was given."""
    notes: tuple[str, ...]
    """A sentence for everything that was left out, renamed or guessed."""

    def to_json(self) -> dict[str, Any]:
        unreadable = {
            what: {why: _places(where) for why, where in lost.items()}
            for what, lost in self.records.unreadable.items()
        }
        return {
            "cases": len(self.cases),
            "ratings": len(self.ratings),
            "raters": len({rating.rater for rating in self.ratings}),
            "attributes": dict(Counter(rating.attribute for rating in self.ratings)),
            "columns": dict(self.columns),
            "skipped": {why: _places(where) for why, where in self.records.skipped.items()},
            "unreadable": unreadable,
            "check": self.check.to_json() if self.check else None,
            "notes": list(self.notes),
        }


def import_records(
    kind: str, path: str | Path, *, columns: Sequence[str] = (), rubric: Rubric | None = None
) -> Imported:
    """The cases and ratings in a tool's file or folder.

    Args:
        kind: An import format, such as `label-studio`.
        columns: `ROLE=NAME` pairs: what one of the tool's texts is in a case, in place of the guess.
        rubric: Has words turned into the values of its scales, and ratings off them left out and named.

    Raises:
        VenireError: The file is not of this kind, an id stands twice, or more than half of it cannot be used.
    """
    file = Path(path)
    records = import_format(kind)(file)
    roles = _roles(file, records.items, columns)
    cases = _cases(file, records, roles)
    said, renamed = _attribute_names(records.ratings, rubric)
    ratings, repeated = _numbered_rounds(said)
    check = None
    if rubric is not None and ratings:
        ratings, check = _on_scale(ratings, rubric, [case.id for case in cases])
    _refuse_lost_half(file, records, len(cases), len(records.ratings))
    if not cases and not ratings:
        raise InvalidFile(f"{file}: no case and no rating in it", remedy=f"name a file that {kind} wrote")
    shown = {name: role for name, role in roles.roles.items() if role != "kept"}
    notes = (
        *records.notes,
        *_role_notes(roles),
        *(f"the attribute {old!r} is called {new}" for old, new in renamed.items() if old != new),
        *repeated,
        *(f"{why}: {len(where)}, left out ({_some(where)})" for why, where in records.skipped.items()),
        *(f"{what}s that could not be read, {why}: {len(where)} ({_some(where)})" for what, lost in records.unreadable.items() for why, where in lost.items()),
        *(check.notes if check else _mixed_value_notes(ratings)),
    )  # fmt: skip
    return Imported(tuple(cases), tuple(ratings), shown, records, check, notes)


def _roles(file: Path, items: Sequence[Item], named: Sequence[str]) -> SheetColumns:
    """What each of the tool's texts is in a case: guessed from its name and its words, unless `named`."""
    rows = [{name: field_text(value) for name, value in item.fields.items()} for item in items]
    names = list(dict.fromkeys(name for row in rows for name in row))
    guess = guess_columns(names, rows)
    roles = SheetColumns({name: role if role in CASE_ROLES else "kept" for name, role in guess.roles.items()})
    for pair in named:
        role, _, name = pair.partition("=")
        if role not in ("id", *CASE_ROLES, "kept"):
            raise VenireError(f"--column {pair}: no role named {role!r}", remedy=nearest(role, ROLES))
        if name not in roles.roles:
            raise VenireError(f"{file}: no text named {name!r}", remedy=nearest(name, names))
        roles = roles.with_role(name, role)  # type: ignore[arg-type]
    return roles


def _role_notes(roles: SheetColumns) -> list[str]:
    """What was guessed or named; nothing where every text has the name that it has in a case."""
    shown = [f"{name} is {role}" for name, role in roles.roles.items() if role not in ("kept", name)]
    kept = roles.of("kept")
    return ([f"texts: {', '.join(shown)}"] if shown else []) + (
        [f"kept beside the cases, shown to no juror: {_some(kept)}"] if kept else []
    )


def _cases(file: Path, records: ToolRecords, roles: SheetColumns) -> list[Case]:
    """The items as cases; ratings follow an item whose id is one of its texts."""
    cases, places = [], dict[str, str]()
    named = roles.one("id")
    for item in records.items:
        name = field_text(item.fields.get(named)) if named else item.id
        if named and not name:
            records.lose("case", f"no {named!r}", item.id)
            continue
        if name in places:
            raise InvalidFile(
                f"{file}: {places[name]!r} and {item.id!r} both have the id {name!r}",
                remedy="name a text that tells them apart: --column id=NAME",
            )
        places[name] = item.id
        row = {role: _case_text(item, roles, role) for role in CASE_ROLES}
        kept = {text: item.fields[text] for text in roles.of("kept") if item.fields.get(text) is not None}
        if not row["output"].strip():
            records.lose("case", "no text to judge", item.id)
            continue
        try:
            given = {role: text for role, text in row.items() if text}
            cases.append(Case(id=name, metadata={**item.metadata, **kept}, **given))
        except ValidationError as error:
            records.lose("case", error.errors()[0]["msg"], item.id)
    if named:
        ids = {was: name for name, was in places.items()}
        records.ratings = [replace(each, case=ids.get(each.case, each.case)) for each in records.ratings]
    return cases


def _case_text(item: Item, roles: SheetColumns, role: str) -> Any:
    texts = [item.fields.get(name) for name in roles.of(role)]  # type: ignore[arg-type]
    if role != "source":
        return field_text(texts[0]) if texts else ""
    parts = [part for text in texts for part in _notes(text)]
    return [part for part in parts if part.strip()]


def _notes(text: Any) -> list[str]:
    """One note or several, where the tool keeps a list of texts."""
    if isinstance(text, list) and all(isinstance(part, str) for part in text):
        return text
    return [field_text(text)]


def field_text(value: Any) -> str:
    """A tool's field as text: messages and turns a line each, lists as paragraphs."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        turns = all(isinstance(part, Mapping) for part in value)
        return ("\n" if turns else "\n\n").join(filter(None, map(field_text, value)))
    if isinstance(value, Mapping):
        said = next((value[key] for key in ("content", "text", "value") if key in value), None)
        who = next((value[key] for key in ("role", "author", "from", "speaker") if value.get(key)), None)
        if said is None:
            return "\n".join(f"{key}: {field_text(part)}" for key, part in value.items())
        return f"{who}: {field_text(said)}" if who else field_text(said)
    return str(value)


def _attribute_names(ratings: Sequence[Rating], rubric: Rubric | None) -> tuple[list[Rating], dict[str, str]]:
    """The ratings under names that a rubric may have, and the old names by the new."""
    given = list(dict.fromkeys(rating.attribute for rating in ratings))
    known = rubric.names if rubric else ()
    odd = [name for name in given if name not in known and not _ATTRIBUTE.fullmatch(name)]
    plain = attribute_names(odd)
    taken = set(given) - set(odd)
    names = {old: f"{new}_2" if new in taken else new for old, new in plain.items()}
    return [replace(each, attribute=names.get(each.attribute, each.attribute)) for each in ratings], names


def _numbered_rounds(ratings: Iterable[Rating]) -> tuple[list[Rating], list[str]]:
    """The ratings with the second and later of one person on one attribute of a case numbered as rounds."""
    by_key: dict[tuple[str, str, str], list[Rating]] = {}
    for rating in ratings:
        by_key.setdefault((rating.case, rating.rater, rating.attribute), []).append(rating)
    found = [
        replace(rating, round=number if len(same) > 1 else rating.round)
        for same in by_key.values()
        for number, rating in enumerate(same, 1)
    ]
    again = [f"{rater} of {case}" for (case, rater, _), same in by_key.items() if len(same) > 1]
    again = list(dict.fromkeys(again))
    if not again:
        return found, []
    return found, [f"rated more than once, numbered as rounds, of which the last counts: {_some(again)}"]


def _on_scale(
    ratings: Sequence[Rating], rubric: Rubric, cases: Sequence[str]
) -> tuple[list[Rating], RatingCheck]:
    """The ratings as values of the rubric's scales, without those that are on none; and what was left out."""
    asked = [_scaled_rating(rating, rubric) for rating in ratings]
    table = pd.DataFrame([{"case": r.case, "rater": r.rater, "attribute": r.attribute, "value": r.value, "round": r.round or 0} for r in asked])  # fmt: skip
    kept, check = check_ratings(table, rubric_questions(rubric), cases=cases or None)
    keys = set(zip(kept["case"], kept["rater"], kept["attribute"], strict=True))
    inapplicable = {
        (r.case, r.rater, r.attribute) for r in asked if r.value == NOT_APPLICABLE and r.attribute in rubric.names
    }  # fmt: skip
    return [r for r in asked if (r.case, r.rater, r.attribute) in keys | inapplicable], check


def _scaled_rating(rating: Rating, rubric: Rubric) -> Rating:
    attribute = rubric.by_name.get(rating.attribute)
    if attribute is None or rating.value is None:
        return rating
    value = scale_value(rating.value, rubric.scale_of(attribute.name), attribute)
    return replace(rating, value=float(value) if isinstance(value, int | float) else value)


def _mixed_value_notes(ratings: Sequence[Rating]) -> list[str]:
    """A note for each attribute whose ratings are partly numbers, partly words: without a rubric they stay as they are."""
    words: dict[str, list[str]] = {}
    numbers: Counter[str] = Counter()
    for rating in ratings:
        if isinstance(rating.value, str) and rating.value != NOT_APPLICABLE:
            words.setdefault(rating.attribute, []).append(rating.value)
        elif rating.value is not None:
            numbers[rating.attribute] += 1
    return [
        f"{name!r} has {numbers[name]} numbers and {len(said)} words ({_some(dict.fromkeys(said))}): --rubric tells what they are worth"
        for name, said in words.items()
        if numbers[name]
    ]


def _refuse_lost_half(file: Path, records: ToolRecords, cases: int, ratings: int) -> None:
    for what, kept in (("case", cases), ("rating", ratings)):
        reasons = records.unreadable[what]  # type: ignore[index]
        lost = sum(map(len, reasons.values()))
        if lost > kept:
            why = "; ".join(f"{why} ({len(where)}: {_some(where)})" for why, where in reasons.items())
            raise InvalidFile(
                f"{file}: {lost} of {lost + kept} {what}s cannot be read: {why}",
                remedy="see that it is this tool's export, or say where the text is: --column output=NAME",
            )


def _places(where: Sequence[str]) -> dict[str, Any]:
    return {"count": len(where), "where": list(where)}


def _some(names: Iterable[str]) -> str:
    listed = [name if len(name) <= 60 else f"{name[:57]}..." for name in map(str, names)]
    more = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    return ", ".join(listed[:_NAMED]) + more


_TABLES = (".parquet", ".arrow", ".feather")
_ENDINGS = (".jsonl", ".csv", *_TABLES)


def write_cases_file(cases: Sequence[Case], path: Path) -> None:
    """The cases as `venire run` reads them; in a table, metadata has a column for each key."""
    check_target(path)
    if not cases:
        raise InvalidFile(f"no case to write into {path}", remedy="leave out -o: only ratings were found")
    rows = [case.as_row() for case in cases]
    if path.suffix.lower() == ".jsonl":
        write_atomically(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        return
    flat = [_flat_case(row) for row in rows]
    _write_rows(flat, path)


def write_ratings_file(ratings: Sequence[Rating], path: Path) -> None:
    """The ratings in long form, as every command that takes `--human` reads them."""
    check_target(path)
    if not ratings:
        raise InvalidFile(
            f"no rating to write into {path}", remedy="leave out --ratings: only cases were found"
        )
    optional = [
        name for name in ("round", "rationale") if any(getattr(each, name) is not None for each in ratings)
    ]
    rows = [
        {name: getattr(each, name) for name in ("case", "rater", "attribute", "value", *optional)} for each in ratings
    ]  # fmt: skip
    if path.suffix.lower() == ".jsonl":
        write_atomically(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        return
    for row in rows:
        row["value"] = _cell(row["value"])
        if path.suffix.lower() == ".csv" and row.get("rationale") is not None:
            row["rationale"] = csv_cell(row["rationale"])
    _write_rows(rows, path)


def check_target(path: Path) -> None:
    """An error, before anything is read, where a file cannot be written: no such kind, no such folder, no pyarrow."""
    if path.suffix.lower() not in _ENDINGS:
        raise InvalidFile(
            f"{path}: no kind of file that venire writes", remedy=f"end its name with {', '.join(_ENDINGS)}"
        )
    if not path.absolute().parent.is_dir():
        raise InvalidFile(f"{path}: no such folder", remedy="make it first, or name another")
    if path.suffix.lower() in _TABLES:
        need_pyarrow(f"{path}: Parquet and Arrow files")


def _flat_case(row: dict[str, Any]) -> dict[str, Any]:
    """A case as one row of cells; several notes are paragraphs of one."""
    metadata = row.pop("metadata", {})
    source = row.pop("source", None)
    cells = {**row, **({"source": "\n\n".join(source)} if source else {})}
    return cells | {
        name if name not in Case.model_fields else f"tool_{name}": value
        if isinstance(value, str | int | float)
        else json.dumps(value, ensure_ascii=False)
        for name, value in metadata.items()
    }


def _write_rows(rows: list[dict[str, Any]], path: Path) -> None:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    if path.suffix.lower() in _TABLES:
        kinds = {name: _column_kind([row.get(name) for row in rows]) for name in columns}
        content = table_bytes(rows, kinds, "parquet" if path.suffix.lower() == ".parquet" else "arrow")
        with open_private(path) as handle:
            handle.buffer.write(content)
        return
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(path, text.getvalue())


def _column_kind(cells: Sequence[Any]) -> ColumnKind:
    given = [cell for cell in cells if cell is not None]
    if given and all(isinstance(cell, int) and not isinstance(cell, bool) for cell in given):
        return "int64"
    return "float64" if given and all(isinstance(cell, float) for cell in given) else "string"


def _cell(value: Any) -> Any:
    """A number as it is written by hand, with all its digits."""
    if not isinstance(value, float):
        return value
    return str(int(value)) if value.is_integer() else repr(value)
