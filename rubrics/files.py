"""Reading the files users write, with errors that name the file, the line and the remedy."""

from __future__ import annotations

import csv
import difflib
import json
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from .errors import InvalidFile

Model = TypeVar("Model", bound=BaseModel)
Location = tuple[int | str, ...]


def read_text(path: Path) -> str:
    """The text of a UTF-8 file that must exist and say something."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise InvalidFile(f"{path}: no such file", remedy="check the path") from None
    except IsADirectoryError:
        raise InvalidFile(f"{path}: is a directory", remedy="name a file in it") from None
    except UnicodeDecodeError as error:
        raise broken_utf8(path, error.object[: error.start].count(b"\n") + 1) from None
    if not text.strip():
        raise InvalidFile(f"{path}: the file is empty", remedy="write something in it, or name another file")
    return text


def broken_utf8(path: Path, line: int) -> InvalidFile:
    return InvalidFile(
        f"{path}:{line}: not valid UTF-8", remedy="save the file as UTF-8 (for example with iconv -t utf-8)"
    )


def read_rows(path: Path, *, required: tuple[str, ...] = ()) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each row of a .csv or .jsonl file with its line number, one at a time."""
    if path.suffix.lower() == ".csv":
        return _csv_rows(path, required)
    return _json_rows(path)


def near_column(column: str, found: Iterable[str]) -> str:
    """'is it ...? ' when a column with nearly that name stands in the file; otherwise nothing."""
    close = difflib.get_close_matches(column, [name for name in found if name != column], n=1, cutoff=0.5)
    return f"is it {close[0]!r}? " if close else ""


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        handle = path.open("rb")
    except FileNotFoundError:
        raise InvalidFile(f"{path}: no such file", remedy="check the path") from None
    except IsADirectoryError:
        raise InvalidFile(f"{path}: is a directory", remedy="name a .jsonl or .csv file in it") from None
    with handle:
        for number, raw in enumerate(handle, 1):
            try:
                yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise broken_utf8(path, number) from None


def _json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in _lines(path):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise InvalidFile(
                f"{path}:{number}: not valid JSON: {error.msg} at column {error.colno}",
                remedy="write one JSON object a line",
            ) from None
        if not isinstance(row, dict):
            raise InvalidFile(
                f"{path}:{number}: expected an object, found {type(row).__name__}",
                remedy="write one JSON object a line",
            )
        yield number, row


def _csv_rows(path: Path, required: tuple[str, ...]) -> Iterator[tuple[int, dict[str, Any]]]:
    csv.field_size_limit(2**31 - 1)
    reader = csv.DictReader((text for _, text in _lines(path)), strict=True)
    try:
        header = list(reader.fieldnames or [])
        for column in required:
            if header and column not in header:
                raise InvalidFile(
                    f"{path}:1: no column {column!r}",
                    remedy=f"{near_column(column, header)}the columns {', '.join(required)} are required",
                )
        for row in reader:
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
            first, *more = _file_errors(self.path, error, model, self.lines)
            if more:
                first = InvalidFile(first.problem, remedy=f"{first.remedy} ({len(more)} more after this one)")
            raise first from None

    def wrongs(self, model: type[BaseModel]) -> list[InvalidFile]:
        """Everything that is wrong with the words as a `model`, in the file's own order."""
        try:
            model.model_validate(self.plain, context={"beside": self.path.parent})
        except ValidationError as error:
            return _file_errors(self.path, error, model, self.lines)
        return []


def load_yaml(path: Path, model: type[Model]) -> Model:
    """The file at `path` as a `model`.

    A key that the model does not know is an error that names the nearest one it does; so is a
    key written twice. Words such as `yes`, `no` and `on` stay words: only true and false are booleans.
    """
    return read_yaml(path, model.model_fields).fit(model)


def read_yaml(path: Path, keys: Iterable[str]) -> Written:
    """The file at `path` before it is held against a model; `keys` are what it may start from."""
    text = read_text(path)
    try:
        root = yaml.compose(text, Loader=_PlainLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InvalidFile(
            f"{path}:{line}: not valid YAML: {error.problem or error.context}",
            remedy="check the indentation and quotes near that line",
        ) from None
    except yaml.YAMLError as error:
        raise InvalidFile(
            f"{path}: not valid YAML: {error}", remedy="remove the offending character"
        ) from None
    lines: dict[Location, int] = {}
    plain = _plain(root, (), lines, path)
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
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"


_SURPRISES = {f"tag:yaml.org,2002:{name}" for name in ("bool", "int", "timestamp")}


class _PlainLoader(yaml.SafeLoader):
    """YAML's safe types, without the surprise that `no` is false, `12:30` a number and a date a date."""


_PlainLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _SURPRISES]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}

_PlainLoader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile("^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)
_PlainLoader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile("^[-+]?(?:0|[1-9][0-9]*)$"), list("-+0123456789")
)


def _plain(node: yaml.Node | None, at: Location, lines: dict[Location, int], path: Path) -> Any:
    """The node as plain Python, noting the line on which each key and item stands."""
    if node is None:
        return None
    lines.setdefault(at, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        plain: dict[Hashable, Any] = {}
        for key_node, value_node in node.value:
            key = _scalar(key_node)
            line = key_node.start_mark.line + 1
            if key in plain:
                raise InvalidFile(
                    f"{path}:{line}: the key {key!r} is written twice", remedy="keep one of the two"
                )
            here = (*at, key if isinstance(key, int) else str(key))
            lines[here] = line
            plain[key] = _plain(value_node, here, lines, path)
        return plain
    if isinstance(node, yaml.SequenceNode):
        return [_plain(child, (*at, index), lines, path) for index, child in enumerate(node.value)]
    return _scalar(node)


def _scalar(node: yaml.Node) -> Any:
    return yaml.constructor.SafeConstructor().construct_object(node, deep=True)


def _file_errors(
    path: Path, error: ValidationError, model: type[BaseModel], lines: Mapping[Location, int]
) -> list[InvalidFile]:
    """An `InvalidFile` for each error, in the file's own order and in its words."""
    found = error.errors()
    # What is wrong inside an item is said of the item; and a misspelt key before the key it leaves missing.
    details = [
        d for d in found if not any(d["loc"] == e["loc"][: len(d["loc"])] and d is not e for e in found)
    ]
    details.sort(key=lambda d: (_kind(d) != "extra_forbidden", _line(d["loc"], lines)))
    return [_explain(path, detail, model, lines) for detail in details]


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
    schema = model.model_json_schema()
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


def _resolve(at: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    for choice in at.get("anyOf", []):
        if "$ref" in choice:
            at = choice
    if "$ref" in at:
        return schema["$defs"][at["$ref"].rpartition("/")[2]]
    return at
