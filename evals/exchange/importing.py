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

from ...orchestration.reading.transcript_format import save_run
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
from .import_format import Item, ToolRecords, free_id, import_format

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
            kind: {reason: _places(places) for reason, places in lost.items()}
            for kind, lost in self.records.unreadable.items()
        }
        return {
            "cases": len(self.cases),
            "ratings": len(self.ratings),
            "raters": len({rating.rater for rating in self.ratings}),
            "attributes": dict(Counter(rating.attribute for rating in self.ratings)),
            "columns": dict(self.columns),
            "skipped": {reason: _places(places) for reason, places in self.records.skipped.items()},
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
    if records.deliberations:
        raise InvalidFile(
            f"{file}: this file holds deliberations, not cases to judge",
            remedy="write the deliberations as a run: -o RUN",
        )
    roles = _roles(file, records.items, columns)
    cases = _cases(file, records, roles)
    named_ratings, renamed = _attribute_names(records.ratings, rubric)
    ratings, repeated = _numbered_rounds(named_ratings)
    check = None
    if rubric is not None and ratings:
        ratings, check = _on_scale(ratings, rubric, [case.id for case in cases])
    _refuse_lost_half(file, records, len(cases), len(records.ratings))
    if not cases and not ratings:
        raise InvalidFile(
            f"{file}: neither cases nor ratings were found", remedy=f"give a file that {kind} wrote"
        )
    shown_roles = {name: role for name, role in roles.roles.items() if role != "kept"}
    notes = (
        *records.notes,
        *_role_notes(roles),
        *(f"the attribute {old!r} is called {new}" for old, new in renamed.items() if old != new),
        *repeated,
        *(f"{reason}: {len(places)}, left out ({_some(places)})" for reason, places in records.skipped.items()),
        *(f"{noun}s that could not be read, {reason}: {len(places)} ({_some(places)})" for noun, lost in records.unreadable.items() for reason, places in lost.items()),
        *(check.notes if check else _mixed_value_notes(ratings)),
    )  # fmt: skip
    return Imported(tuple(cases), tuple(ratings), shown_roles, records, check, notes)


def import_deliberations(kind: str, path: Path, run: Path) -> int:
    """Write the deliberations in a tool's file or folder as a new run; how many there are.

    Raises:
        VenireError: The file is not of this kind or has none, or there is a run already.
    """
    deliberations = import_format(kind)(path).deliberations
    if not deliberations:
        raise InvalidFile(
            f"{path}: no deliberation was found, so no run can be written",
            remedy=f"write the cases to a file instead: -o {run}.jsonl or -o {run}.csv",
        )
    save_run(deliberations, run)
    return len(deliberations)


def _roles(file: Path, items: Sequence[Item], column_pairs: Sequence[str]) -> SheetColumns:
    """What each of the tool's texts is in a case: guessed from its name and its words, unless in `column_pairs`."""
    rows = [{name: field_text(value) for name, value in record.fields.items()} for record in items]
    names = list(dict.fromkeys(name for row in rows for name in row))
    guess = guess_columns(names, rows)
    roles = SheetColumns({name: role if role in CASE_ROLES else "kept" for name, role in guess.roles.items()})
    for pair in column_pairs:
        role, _, name = pair.partition("=")
        if role not in ("id", *CASE_ROLES, "kept"):
            raise VenireError(f"--column {pair}: no role named {role!r}", remedy=nearest(role, ROLES))
        if name not in roles.roles:
            raise VenireError(f"{file}: no column named {name!r}", remedy=nearest(name, names))
        roles = roles.with_role(name, role)  # type: ignore[arg-type]
    return roles


def _role_notes(roles: SheetColumns) -> list[str]:
    """What was guessed or named; nothing where every text has the name that it has in a case."""
    guesses = [f"{name} as {role}" for name, role in roles.roles.items() if role not in ("kept", name)]
    kept_names = roles.of("kept")
    return ([f"texts used: {', '.join(guesses)}"] if guesses else []) + (
        [f"fields kept with the cases, but shown to no juror: {_some(kept_names)}"] if kept_names else []
    )


def _cases(file: Path, records: ToolRecords, roles: SheetColumns) -> list[Case]:
    """The items as cases; ratings follow an item whose id is one of its texts."""
    cases, places = [], dict[str, str]()
    id_field = roles.one("id")
    for entry in records.items:
        name = field_text(entry.fields.get(id_field)) if id_field else entry.id
        if id_field and not name:
            records.lose("case", f"no {id_field!r}", entry.id)
            continue
        if name in places:
            raise InvalidFile(
                f"{file}: {places[name]!r} and {entry.id!r} both have the id {name!r}",
                remedy="name a column that distinguishes them: --column id=NAME",
            )
        places[name] = entry.id
        row = {role: _case_text(entry, roles, role) for role in CASE_ROLES}
        more = {text: entry.fields[text] for text in roles.of("kept") if entry.fields.get(text) is not None}
        if not row["output"].strip():
            records.lose("case", "no text to judge", entry.id)
            continue
        try:
            texts = {role: text for role, text in row.items() if text}
            cases.append(Case(id=name, metadata={**entry.metadata, **more}, **texts))
        except ValidationError as error:
            records.lose("case", error.errors()[0]["msg"], entry.id)
    if id_field:
        ids = {was: name for name, was in places.items()}
        records.ratings = [replace(r, case=ids.get(r.case, r.case)) for r in records.ratings]
    return cases


def _case_text(record: Item, roles: SheetColumns, role: str) -> Any:
    texts = [record.fields.get(name) for name in roles.of(role)]  # type: ignore[arg-type]
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
        content = next((value[key] for key in ("content", "text", "value") if key in value), None)
        speaker = next((value[key] for key in ("role", "author", "from", "speaker") if value.get(key)), None)
        if content is None:
            return "\n".join(f"{key}: {field_text(part)}" for key, part in value.items())
        return f"{speaker}: {field_text(content)}" if speaker else field_text(content)
    return str(value)


def _attribute_names(ratings: Sequence[Rating], rubric: Rubric | None) -> tuple[list[Rating], dict[str, str]]:
    """The ratings under names that a rubric may have, and the old names by the new."""
    names_given = list(dict.fromkeys(rating.attribute for rating in ratings))
    rubric_names = rubric.names if rubric else ()
    odd_names = [name for name in names_given if name not in rubric_names and not _ATTRIBUTE.fullmatch(name)]
    plain = attribute_names(odd_names)
    used_names = set(names_given) - set(odd_names)
    names: dict[str, str] = {}
    for old, new in plain.items():
        names[old] = free_id(new, used_names, mark="_")
        used_names.add(names[old])
    return [replace(r, attribute=names.get(r.attribute, r.attribute)) for r in ratings], names


def _numbered_rounds(ratings: Iterable[Rating]) -> tuple[list[Rating], list[str]]:
    """The ratings with the second and later of one person on one attribute of a case numbered as rounds."""
    by_key: dict[tuple[str, str, str], list[Rating]] = {}
    for rating in ratings:
        by_key.setdefault((rating.case, rating.rater, rating.attribute), []).append(rating)
    rounds = [
        replace(rating, round=number if len(repeats) > 1 else rating.round)
        for repeats in by_key.values()
        for number, rating in enumerate(repeats, 1)
    ]
    repeat = [f"{rater} of {case}" for (case, rater, _), repeats in by_key.items() if len(repeats) > 1]
    repeat = list(dict.fromkeys(repeat))
    if not repeat:
        return rounds, []
    return rounds, [
        f"ratings that one person repeated are numbered as rounds, and the last round counts: {_some(repeat)}"
    ]


def _on_scale(
    ratings: Sequence[Rating], rubric: Rubric, cases: Sequence[str]
) -> tuple[list[Rating], RatingCheck]:
    """The ratings as values of the rubric's scales, without those that are on none; and what was left out.

    Every round is looked at, as every round is kept.
    """
    scaled = [_scaled_rating(rating, rubric) for rating in ratings]
    by_key = {(r.case, f"{r.rater}\x1f{r.round or 0}", r.attribute): r for r in scaled}
    table = pd.DataFrame([(*key, r.value) for key, r in by_key.items()], columns=["case", "rater", "attribute", "value"])  # fmt: skip
    legal, check = check_ratings(table, rubric_questions(rubric), cases=cases or None)
    keys = set(zip(legal["case"], legal["rater"], legal["attribute"], strict=True))
    inapplicable = {
        key for key, r in by_key.items() if r.value == NOT_APPLICABLE and r.attribute in rubric.names
    }
    return [r for key, r in by_key.items() if key in keys | inapplicable], check


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
        f"the values of {name!r} are {numbers[name]} numbers and {len(values)} words ({_some(dict.fromkeys(values))}); give --rubric to convert the words"
        for name, values in words.items()
        if numbers[name]
    ]


def _refuse_lost_half(file: Path, records: ToolRecords, cases: int, ratings: int) -> None:
    for noun, kept_count in (("case", cases), ("rating", ratings)):
        reasons = records.unreadable[noun]  # type: ignore[index]
        lost = sum(map(len, reasons.values()))
        if lost > kept_count:
            why = "; ".join(f"{why} ({len(where)}: {_some(where)})" for why, where in reasons.items())
            raise InvalidFile(
                f"{file}: {lost} of {lost + kept_count} {noun}s cannot be read: {why}",
                remedy="check that the file was exported by this tool, or name the column of the judged text: --column output=NAME",
            )


def _places(places: Sequence[str]) -> dict[str, Any]:
    return {"count": len(places), "where": list(places)}


def _some(names: Iterable[str]) -> str:
    listed = [name if len(name) <= 60 else f"{name[:57]}..." for name in map(str, names)]
    and_more = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    return ", ".join(listed[:_NAMED]) + and_more


_TABLES = (".parquet", ".arrow", ".feather")
_ENDINGS = (".jsonl", ".csv", *_TABLES)


def write_cases_file(cases: Sequence[Case], path: Path) -> None:
    """The cases as `venire run` reads them; in a table, metadata has a column for each key."""
    check_target(path)
    if not cases:
        raise InvalidFile(
            f"no cases were found that could be written to {path}",
            remedy="leave out -o, because the file holds only ratings",
        )
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
            f"no ratings were found that could be written to {path}",
            remedy="leave out --ratings, because the file holds only cases",
        )
    optional = [name for name in ("round", "rationale") if any(getattr(r, name) is not None for r in ratings)]
    rows = [
        {name: getattr(r, name) for name in ("case", "rater", "attribute", "value", *optional)} for r in ratings
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
            f"{path}: venire cannot write a file of this type",
            remedy=f"end the file's name with {', '.join(_ENDINGS)}",
        )
    if not path.absolute().parent.is_dir():
        raise InvalidFile(f"{path}: no such folder", remedy="create the folder first, or name another")
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
    filled_cells = [cell for cell in cells if cell is not None]
    if filled_cells and all(isinstance(cell, int) and not isinstance(cell, bool) for cell in filled_cells):
        return "int64"
    return "float64" if filled_cells and all(isinstance(cell, float) for cell in filled_cells) else "string"


def _cell(value: Any) -> Any:
    """A number as it is written by hand, with all its digits."""
    if not isinstance(value, float):
        return value
    return str(int(value)) if value.is_integer() else repr(value)
