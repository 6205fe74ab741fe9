"""Reading the files users write, with errors that name the file, the line and the remedy."""

from __future__ import annotations

import csv
import difflib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import chain, count, islice
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from .errors import InvalidFile
from .tables import Table, arrow_table, parquet_table, workbook_table
from .yaml_nodes import DEEPEST, LONGEST_INTEGER, Location, plain_yaml

Model = TypeVar("Model", bound=BaseModel)

LARGEST_TEXT = 2**20
"""Bytes of a file that is read whole: thousands of times what a person writes by hand."""
LARGEST_ROW = 4 * 2**20
"""Bytes of one row: a million tokens, more than a jury's models read."""
LARGEST_JSON = 16 * 2**20
"""Bytes of a JSON file that a program wrote."""
MOST_VALUES = 500_000
"""Values in such a file: more would not fit into memory beside everything else."""
MOST_COLUMNS = 10_000
_COMPARED = 1000
"""Names among which the nearest is looked for."""
_LISTED = 30
"""Names that an error lists, and errors that are told of one file."""


def read_text(path: Path, *, largest: int = LARGEST_TEXT) -> str:
    """The text of a UTF-8 file that must exist and say something."""
    with _open_file(path, "name a file in it") as handle:
        raw = handle.read(largest + 1)
    if len(raw) > largest:
        raise InvalidFile(
            f"{path}: larger than {largest:,} bytes",
            remedy="name a file that a person could have written",
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise broken_utf8(path, error.object[: error.start].count(b"\n") + 1) from None
    if not text.strip():
        raise InvalidFile(f"{path}: the file is empty", remedy="write something in it, or name another file")
    return text


@contextmanager
def _open_file(path: Path, in_a_directory: str) -> Iterator[BinaryIO]:
    try:
        with path.open("rb") as handle:
            yield handle
    except FileNotFoundError:
        raise InvalidFile(f"{path}: no such file", remedy="check the path") from None
    except IsADirectoryError:
        raise InvalidFile(f"{path}: is a directory", remedy=in_a_directory) from None
    except OSError as error:
        raise InvalidFile(f"{path}: cannot be read: {error.strerror}", remedy="check the path") from None


def broken_utf8(path: Path, line: int) -> InvalidFile:
    return InvalidFile(
        f"{path}:{line}: not valid UTF-8", remedy="save the file as UTF-8 (for example with iconv -t utf-8)"
    )


def read_json(path: Path) -> Any:
    """What a JSON file holds, which is of a size and depth that can be kept in memory."""
    text = read_text(path, largest=LARGEST_JSON)
    if text.count(",") + text.count("[") + text.count("{") > MOST_VALUES:
        raise InvalidFile(f"{path}: more than {MOST_VALUES:,} values", remedy="write fewer into one file")
    return _json_value(text, str(path), "see how it was written")


def read_rows(
    path: Path, *, required: tuple[str, ...] = (), otherwise: str = ""
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each row of a .csv, .jsonl, .xlsx, .parquet or .arrow file with its line number, one at a time.

    `otherwise` is what else to do where a required column is not there.
    """
    match path.suffix.lower():
        case ".csv":
            return _csv_rows(path, required, otherwise)
        case ".xlsx" | ".xlsm":
            return _table_rows(path, workbook_table(path), required, otherwise)
        case ".parquet":
            return _table_rows(path, parquet_table(path), required, otherwise)
        case ".arrow" | ".feather":
            return _table_rows(path, arrow_table(path), required, otherwise)
        case ".xls":
            raise InvalidFile(f"{path}: an old Excel file", remedy="save it in Excel as .xlsx, or as .csv")
    return _json_rows(path)


def _table_rows(
    path: Path, table: Table, required: tuple[str, ...], otherwise: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    _check_header(f"{path}:{table.line}" if table.line else str(path), table.columns, required, otherwise)
    return table.rows


def _check_header(where: str, header: Sequence[str], required: tuple[str, ...], otherwise: str) -> None:
    """An error that names the first column in `required` that a table does not have, and the nearest one that it has."""
    for column in required:
        if column not in header:
            raise InvalidFile(
                f"{where}: no column {column!r}",
                remedy=f"{near_column(column, header)}the columns {', '.join(required)} are required{otherwise}",
            )


def near_column(column: str, found: Iterable[str]) -> str:
    """'is it ...? ' when a column with nearly that name stands in the file; otherwise nothing."""
    names = [name for name in islice(found, _COMPARED) if isinstance(name, str) and name != column]
    close = difflib.get_close_matches(column, names, n=1, cutoff=0.5)
    return f"is it {close[0]!r}? " if close else ""


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with _open_file(path, "name a .jsonl or .csv file in it") as handle:
        for number in count(1):
            raw = handle.readline(LARGEST_ROW + 1)
            if not raw:
                return
            if len(raw) > LARGEST_ROW:
                raise _too_long(path, number)
            try:
                yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise broken_utf8(path, number) from None


def _too_long(path: Path, line: int) -> InvalidFile:
    return InvalidFile(
        f"{path}:{line}: a row of more than {LARGEST_ROW:,} bytes",
        remedy="write one row a line, and shorter texts",
    )


def _json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in _lines(path):
        if not line.strip():
            continue
        row = _json_value(line, f"{path}:{number}", "write one JSON object a line")
        if not isinstance(row, dict):
            raise InvalidFile(
                f"{path}:{number}: expected an object, found {type(row).__name__}",
                remedy="write one JSON object a line",
            )
        yield number, row


def _json_value(text: str, where: str, remedy: str) -> Any:
    try:
        value = json.loads(text, parse_int=_integer)
        if text.count("[") + text.count("{") > DEEPEST and _depth(value) > DEEPEST:
            raise RecursionError
        if "\\ud" in text or "\\uD" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        problem = f"{error.msg} at {line}column {error.colno}"
    except RecursionError:
        problem, remedy = f"nested more than {DEEPEST} levels deep", "write it flatter"
    except UnicodeEncodeError:
        problem, remedy = "half of a surrogate pair", "write characters as themselves, in UTF-8"
    except ValueError as error:
        problem, remedy = str(error), "write a smaller one, or quote it"
    else:
        return value
    raise InvalidFile(f"{where}: not valid JSON: {problem}", remedy=remedy) from None


def _integer(digits: str) -> int:
    if len(digits) > LONGEST_INTEGER:
        raise ValueError(f"a number of more than {LONGEST_INTEGER} digits")
    return int(digits)


def _depth(value: Any) -> int:
    """How many lists and objects stand inside each other."""
    deep, level = 0, [value]
    while level:
        deep += 1
        parts = chain.from_iterable(part.values() if isinstance(part, dict) else part for part in level)
        level = [part for part in parts if part and isinstance(part, list | dict)]
    return deep


def _csv_rows(path: Path, required: tuple[str, ...], otherwise: str) -> Iterator[tuple[int, dict[str, Any]]]:
    csv.field_size_limit(LARGEST_ROW)
    taken = 0
    """Characters since the last row: a quoted cell may go on for many lines."""

    def lines() -> Iterator[str]:
        nonlocal taken
        for number, line in _lines(path):
            taken += len(line)
            if taken > LARGEST_ROW:
                raise _too_long(path, number)
            yield line

    reader = csv.DictReader(lines(), strict=True)
    try:
        header = list(reader.fieldnames or [])
        if len(header) > MOST_COLUMNS:
            raise InvalidFile(
                f"{path}:1: {len(header):,} columns, more than {MOST_COLUMNS:,}",
                remedy="write one row a line",
            )
        if header:
            _check_header(f"{path}:1", header, required, otherwise)
        for row in reader:
            taken = 0
            cells = len(header) + len(row.pop(None, [])) - sum(cell is None for cell in row.values())
            if cells != len(header):
                raise InvalidFile(
                    f"{path}:{reader.line_num}: {cells} cells under {len(header)} columns",
                    remedy="quote cells that contain a comma, and give every row a cell for each column",
                )
            yield reader.line_num, dict(row)
    except csv.Error as error:
        raise InvalidFile(
            f"{path}:{reader.line_num}: not valid CSV: {error}", remedy="check the quotes near that line"
        ) from None


@dataclass(frozen=True, slots=True)
class Written:
    """A YAML file, or a part of one, as plain Python, with the line on which each key and item stands."""

    path: Path
    plain: Any
    lines: Mapping[Location, int]

    def part(self, *at: int | str) -> Written:
        """What stands at a place in the file."""
        plain = self.plain
        for step in at:
            plain = plain[step]
        reach = len(at)
        inside = {where[reach:]: line for where, line in self.lines.items() if where[:reach] == at}
        return Written(self.path, plain, inside)

    def line(self, *at: int | str) -> int:
        """The line of a place in the file, or of the nearest place around it that was written."""
        return _line(at, self.lines)

    def fit(self, model: type[Model]) -> Model:
        """The words as a `model`; what is wrong with them is the file's first error, and how many follow."""
        try:
            return model.model_validate(self.plain, context={"beside": self.path.parent})
        except ValidationError as error:
            detail, *more = _in_file_order(error, self.lines)
            first = _explain(self.path, detail, model, self.lines)
            if more:
                first = InvalidFile(first.problem, remedy=f"{first.remedy} ({len(more)} more after this one)")
            raise first from None

    def wrongs(self, model: type[BaseModel]) -> list[InvalidFile]:
        """What is wrong with the words as a `model`, in the file's own order; of very much, the first."""
        try:
            model.model_validate(self.plain, context={"beside": self.path.parent})
        except ValidationError as error:
            details = _in_file_order(error, self.lines)
            told = [_explain(self.path, detail, model, self.lines) for detail in details[:_LISTED]]
            if len(details) > _LISTED:
                more = f"{self.path}: {len(details) - _LISTED:,} more things are wrong"
                told.append(InvalidFile(more, remedy="mend these first"))
            return told
        return []


def load_yaml(path: Path, model: type[Model]) -> Model:
    """The file at `path` as a `model`.

    A key that the model does not know is an error that names the nearest one it does; so is a
    key written twice. Words such as `yes`, `no` and `on` stay words: only true and false are booleans.
    """
    return read_yaml(path, model.model_fields).fit(model)


def read_yaml(path: Path, keys: Iterable[str]) -> Written:
    """The file at `path` before it is held against a model; `keys` are what it may start from."""
    plain, lines = plain_yaml(read_text(path), path)
    if not isinstance(plain, dict):
        raise InvalidFile(
            f"{path}:1: expected keys and values, found {type(plain).__name__}",
            remedy=f"start from the keys {', '.join(keys)}",
        )
    return Written(path, plain, lines)


def wrong(message: str, *where: int | str) -> ValidationError:
    """An error at a place in the model, for validators that know better than the whole model where it is."""
    detail = PydanticCustomError("value_error", "{message}", {"message": message})
    return ValidationError.from_exception_data("file", [InitErrorDetails(type=detail, loc=where, input=None)])


def inner_errors(
    error: ValidationError, model: type[BaseModel], place: Callable[[Location], Location]
) -> ValidationError:
    """The errors of a `model` that a validator holds a part of another one against, each at its place in the other."""
    return ValidationError.from_exception_data(
        "file",
        [
            InitErrorDetails(
                type=PydanticCustomError(
                    "inner_error", "{message}", {"message": detail["msg"], "detail": detail, "model": model}
                ),
                loc=place(detail["loc"]),
                input=detail["input"],
            )
            for detail in error.errors()
        ],
    )


def nearest(word: str, known: Iterable[str]) -> str:
    """'did you mean ...', or the list of what is known when nothing is near."""
    known = list(known)
    close = difflib.get_close_matches(word, known[:_COMPARED], n=1, cutoff=0.5)
    more = f" and {len(known) - _LISTED:,} more" if len(known) > _LISTED else ""
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known[:_LISTED])}{more}"


def _in_file_order(error: ValidationError, lines: Mapping[Location, int]) -> list[ErrorDetails]:
    """The errors in the file's own order: what is wrong inside an item is said of the item, not of what is around it."""
    found = error.errors()
    around = {d["loc"][:length] for d in found for length in range(len(d["loc"]))}
    details = list({d["loc"]: d for d in reversed(found) if d["loc"] not in around}.values())
    # A misspelt key comes before the key it leaves missing.
    details.sort(key=lambda d: (_kind(d) != "extra_forbidden", _line(d["loc"], lines)))
    return details


def _explain(
    path: Path, detail: ErrorDetails, model: type[BaseModel], lines: Mapping[Location, int]
) -> InvalidFile:
    loc = at = detail["loc"]
    if detail["type"] == "inner_error":
        model, detail = detail["ctx"]["model"], detail["ctx"]["detail"]
        at = detail["loc"]
    where = ".".join(str(part) for part in _visible(loc, lines)) or "the file"
    problem, remedy = f"{where}: {detail['msg']}", f"correct {where}"
    if detail["type"] == "extra_forbidden":
        problem = f"unknown key {str(loc[-1])!r}" + (
            f" in {where.rpartition('.')[0]}" if "." in where else ""
        )
        remedy = nearest(str(loc[-1]), _fields_at(model, at[:-1]))
    elif detail["type"] == "missing":
        problem = f"{where}: missing"
        remedy = f"add {str(loc[-1])!r}"
    elif detail["type"] == "value_error":
        problem = (f"{where}: " if loc else "") + detail["msg"].removeprefix("Value error, ")
        problem, _, said = problem.partition("\n")
        remedy = said.strip() or remedy
    elif detail["type"] in ("tuple_type", "list_type"):
        problem = f"{where}: expected a list" + (
            f" (found {detail['input']!r})" if isinstance(detail["input"], str | int | float) else ""
        )
        remedy = f"write {where} as a list"
    elif "input" in detail and isinstance(detail["input"], str | int | float | bool):
        problem = f"{where}: {detail['msg']} (found {detail['input']!r})"
    return InvalidFile(f"{path}:{_line(loc, lines)}: {problem}", remedy=remedy)


def _kind(detail: ErrorDetails) -> str:
    return detail["ctx"]["detail"]["type"] if detail["type"] == "inner_error" else detail["type"]


def _visible(loc: Location, lines: Mapping[Location, int]) -> list[int | str]:
    """The part of pydantic's location that the file's author wrote, and the field that is missing."""
    shown: list[int | str] = []
    for part in loc:
        if (*shown, part) in lines or part == loc[-1]:
            shown.append(part)
    return shown


def _line(loc: Location, lines: Mapping[Location, int]) -> int:
    at: list[int | str] = []
    line = lines.get((), 1)
    for part in loc:
        if (*at, part) in lines:
            at.append(part)
            line = lines[tuple(at)]
    return line


def _fields_at(model: type[BaseModel], loc: Location) -> list[str]:
    """The field names that are legal at `loc`, found by walking the model's JSON schema."""
    schema = _json_schema(model)
    at: Any = schema
    for part in loc:
        at = _resolve(at, schema)
        if isinstance(part, int) and "items" in at:
            at = at["items"]
        elif "properties" in at and part in at["properties"]:
            at = at["properties"][part]
        elif isinstance(at.get("additionalProperties"), dict):
            at = at["additionalProperties"]
    return list(_resolve(at, schema).get("properties", model.model_fields))


@cache
def _json_schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()


def _resolve(at: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    for choice in at.get("anyOf", []):
        if "$ref" in choice:
            at = choice
    if "$ref" in at:
        return schema["$defs"][at["$ref"].rpartition("/")[2]]
    return at
