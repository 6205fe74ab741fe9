"""YAML files as models, with errors that name the file, the line, and the nearest key to an unknown one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from .errors import InvalidFile
from .files import nearest, read_text
from .yaml_nodes import Location, plain_yaml

Model = TypeVar("Model", bound=BaseModel)

_LISTED = 30
"""Errors that are told of one file."""


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
