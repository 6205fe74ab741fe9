"""YAML files as models, within limits that a stranger's file cannot pass; errors name the file, the line, and the nearest key to an unknown one."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from .errors import InvalidFile
from .files import DEEPEST, LONGEST_INTEGER, nearest, read_text

Location = tuple[int | str, ...]
MOST_NODES = 20_000
"""Keys, values and items of one file, an alias counted as all that it stands for."""
MOST_CHARACTERS = 4 * 2**20
"""Characters of all values, those of an alias counted each time."""
_LISTED = 30
"""Errors that are told of one file."""
_TOO_DEEP = f"the values are nested more than {DEEPEST} levels deep"
_TOO_LARGE = f"the file has more than {MOST_NODES:,} values or {MOST_CHARACTERS:,} characters, if its aliases are written out"
_CORE = "tag:yaml.org,2002:"
_COLLECTIONS = {f"{_CORE}map", f"{_CORE}seq"}
_SCALARS = {f"{_CORE}{name}" for name in ("str", "int", "float", "bool", "null")}
_SURPRISES = {f"{_CORE}{name}" for name in ("bool", "int", "timestamp", "merge", "value")}
_LONG_INTEGER = re.compile(rf"[0-9A-Fa-f_]{{{LONGEST_INTEGER + 1}}}")
Model = TypeVar("Model", bound=BaseModel)
Read = TypeVar("Read")
Given = TypeVar("Given")


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
        inside = {location[reach:]: line for location, line in self.lines.items() if location[:reach] == at}
        return Written(self.path, plain, inside)

    def line(self, *at: int | str) -> int:
        """The line of a place in the file, or of the nearest place around it that was written."""
        return _line(at, self.lines)

    def fit(self, model: type[Model]) -> Model:
        """The words as a `model`; what is wrong with them is the file's first error, and how many follow."""
        try:
            return model.model_validate(self.plain, context={"beside": self.path.parent})
        except ValidationError as error:
            detail, *further = _in_file_order(error, self.lines)
            first = _explain(self.path, detail, model, self.lines)
            if further:
                first = InvalidFile(
                    first.problem, remedy=f"{first.remedy} ({len(further)} more mistakes after this one)"
                )
            raise first from None

    def wrongs(self, model: type[BaseModel]) -> list[InvalidFile]:
        """What is wrong with the words as a `model`, in the file's own order; of very much, the first."""
        try:
            model.model_validate(self.plain, context={"beside": self.path.parent})
        except ValidationError as error:
            details = _in_file_order(error, self.lines)
            problems = [_explain(self.path, detail, model, self.lines) for detail in details[:_LISTED]]
            if len(details) > _LISTED:
                rest_count = f"{self.path}: {len(details) - _LISTED:,} more mistakes were found"
                problems.append(InvalidFile(rest_count, remedy="correct the mistakes above first"))
            return problems
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
            f"{path}:1: the file must have keys and values, but it holds a {type(plain).__name__}",
            remedy=f"write it with the keys {', '.join(keys)}",
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
    all_details = error.errors()
    around = {d["loc"][:length] for d in all_details for length in range(len(d["loc"]))}
    details = list({d["loc"]: d for d in reversed(all_details) if d["loc"] not in around}.values())
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
    place = ".".join(str(part) for part in _visible(loc, lines)) or "the file"
    problem, remedy = f"{place}: {detail['msg']}", f"correct {place}"
    if detail["type"] == "extra_forbidden":
        problem = f"unknown key {str(loc[-1])!r}" + (
            f" in {place.rpartition('.')[0]}" if "." in place else ""
        )
        remedy = nearest(str(loc[-1]), _fields_at(model, at[:-1]))
    elif detail["type"] == "missing":
        problem = f"{place}: the key is missing"
        remedy = f"add {str(loc[-1])!r}"
    elif detail["type"] == "value_error":
        problem = (f"{place}: " if loc else "") + detail["msg"].removeprefix("Value error, ")
        problem, _, advice = problem.partition("\n")
        remedy = advice.strip() or remedy
    elif detail["type"] in ("tuple_type", "list_type"):
        problem = f"{place}: expected a list" + (
            f" (found {detail['input']!r})" if isinstance(detail["input"], str | int | float) else ""
        )
        remedy = f"write {place} as a list"
    elif "input" in detail and isinstance(detail["input"], str | int | float | bool):
        problem = f"{place}: {detail['msg']} (found {detail['input']!r})"
    return InvalidFile(f"{path}:{_line(loc, lines)}: {problem}", remedy=remedy)


def _kind(detail: ErrorDetails) -> str:
    return detail["ctx"]["detail"]["type"] if detail["type"] == "inner_error" else detail["type"]


def _visible(loc: Location, lines: Mapping[Location, int]) -> list[int | str]:
    """The part of pydantic's location that the file's author wrote, and the field that is missing."""
    visible: list[int | str] = []
    for part in loc:
        if (*visible, part) in lines or part == loc[-1]:
            visible.append(part)
    return visible


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


if TYPE_CHECKING or not yaml.__with_libyaml__:
    _Loader = yaml.SafeLoader
else:

    class _Loader(yaml.composer.Composer, yaml.CSafeLoader):
        """Scans with libyaml, ten times as fast, and composes in Python, where limits can be held."""

        def __init__(self, text: str) -> None:
            yaml.CSafeLoader.__init__(self, text)
            yaml.composer.Composer.__init__(self)


class _PlainLoader(_Loader):
    """YAML's safe types, without the surprise that `no` is false, `12:30` a number, a date a date, `<<` a merge and `=` no word."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.nodes = self.deep = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self.nodes += 1
        self.deep += 1
        # The items of the deepest list are one level below it.
        problem = _TOO_DEEP if self.deep > DEEPEST + 1 else _TOO_LARGE if self.nodes > MOST_NODES else None
        if problem:
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, problem, mark)
        node = super().compose_node(parent, index)
        self.deep -= 1
        return node


_PlainLoader.yaml_implicit_resolvers = {
    character: [(tag, pattern) for tag, pattern in resolvers if tag not in _SURPRISES]
    for character, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_PlainLoader.add_implicit_resolver(
    f"{_CORE}bool", re.compile("^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)
_PlainLoader.add_implicit_resolver(
    f"{_CORE}int", re.compile("^[-+]?(?:0|[1-9][0-9]*)$"), list("-+0123456789")
)


def plain_yaml(text: str, path: Path) -> tuple[Any, dict[Location, int]]:
    """The text as plain Python, and the line on which each key and item stands; `path` is for errors."""
    try:
        root = yaml.compose(text, Loader=_PlainLoader)
    except yaml.MarkedYAMLError as error:
        # What is not closed is found missing after the last line.
        line = min(error.problem_mark.line + 1 if error.problem_mark else 1, len(text.splitlines()))
        raise InvalidFile(
            f"{path}:{line}: this is not valid YAML: {error.problem or error.context}",
            remedy="check the indentation and quotes near that line",
        ) from None
    except yaml.YAMLError as error:
        raise InvalidFile(
            f"{path}: not valid YAML: {' '.join(str(error).split())}", remedy="remove the offending character"
        ) from None
    plain = _Plain(path)
    return plain.value(root, ()), plain.lines


class _Plain:
    """Turns the nodes of one file into plain Python."""

    def __init__(self, path: Path) -> None:
        self.lines: dict[Location, int] = {}
        self._path = path
        self._around: list[yaml.Node] = []
        self._nodes = self._characters = 0

    def value(self, node: yaml.Node | None, at: Location) -> Any:
        if node is None:
            return None
        self._count(node)
        self.lines.setdefault(at, node.start_mark.line + 1)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        self._enter(node)
        if isinstance(node, yaml.MappingNode):
            inside: Any = self._mapping(node, at)
        else:
            inside = [self.value(child, (*at, index)) for index, child in enumerate(node.value)]
        self._around.pop()
        return inside

    def _mapping(self, node: yaml.MappingNode, at: Location) -> dict[Hashable, Any]:
        plain: dict[Hashable, Any] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node)
            if key in plain:
                raise self._error(key_node, f"the key {key!r} is written twice", "keep one of the two")
            child_at = (*at, key if isinstance(key, int) else str(key))
            self.lines[child_at] = key_node.start_mark.line + 1
            plain[key] = self.value(value_node, child_at)
        return plain

    def _key(self, node: yaml.Node) -> Hashable:
        if not isinstance(node, yaml.ScalarNode):
            raise self._error(node, "a key is a list or a mapping", "write a word before the colon")
        if node.value == "<<" and not node.style:
            raise self._error(
                node, "the merge key << is not allowed in these files", "write the keys out in full"
            )
        self._count(node)
        key: Hashable = self._scalar(node)
        return key

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        if node.tag not in _SCALARS:
            raise self._unknown_tag(node)
        if node.tag == f"{_CORE}int" and _LONG_INTEGER.search(node.value):
            raise self._error(
                node, f"a number of more than {LONGEST_INTEGER} digits", "write a smaller number"
            )
        try:
            return yaml.constructor.SafeConstructor().construct_object(node)
        except (yaml.YAMLError, ValueError, KeyError, IndexError, OverflowError):
            kind = node.tag.removeprefix(_CORE)
            raise self._error(
                node, f"{node.value[:40]!r} cannot be read as !!{kind}", f"remove !!{kind}, or correct it"
            ) from None

    def _enter(self, node: yaml.Node) -> None:
        if node.tag not in _COLLECTIONS:
            raise self._unknown_tag(node)
        if any(node is outer for outer in self._around):
            raise self._error(
                node,
                "this value contains itself through a YAML alias",
                "write the value out instead of the alias",
            )
        self._around.append(node)
        if len(self._around) > DEEPEST:
            raise self._error(node, _TOO_DEEP, "nest it less deeply")

    def _count(self, node: yaml.Node) -> None:
        self._nodes += 1
        self._characters += len(node.value) if isinstance(node, yaml.ScalarNode) else 0
        if self._nodes > MOST_NODES or self._characters > MOST_CHARACTERS:
            raise self._error(node, _TOO_LARGE, "split the file, or use fewer aliases")

    def _unknown_tag(self, node: yaml.Node) -> InvalidFile:
        tag = node.tag.replace(_CORE, "!!")
        return self._error(
            node, f"the tag {tag[:80]!r} is not allowed in this program's YAML files", "remove the tag"
        )

    def _error(self, node: yaml.Node, problem: str, remedy: str) -> InvalidFile:
        return InvalidFile(f"{self._path}:{node.start_mark.line + 1}: {problem}", remedy=remedy)


if TYPE_CHECKING:

    class Converted(Generic[Read, Given]):
        """A field that is `Read` in the model and that its constructor takes as `Given`.

        The model's own validation converts it: `seats: Converted[tuple[Seat, ...], Sequence[Seat]]` takes a list and
        holds a tuple. Type checkers take the constructor's type of a field from `__set__`. A default is written
        `Field(default=..., validate_default=True)`: what a model holds is checked, so its type is not.
        """

        @overload
        def __get__(self, model: None, owner: Any) -> Converted[Read, Given]: ...
        @overload
        def __get__(self, model: object, owner: Any) -> Read: ...
        def __get__(self, model: object | None, owner: Any) -> Any: ...
        def __set__(self, model: object, value: Given) -> None: ...

else:

    class Converted:
        def __class_getitem__(cls, types):
            read, _ = types
            return read


def or_written_as(*shorter: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    """For `json_schema_extra` of a model that a file may also write in a shorter form: the schema takes either."""

    def widen(schema: dict[str, Any]) -> None:
        full_schema = dict(schema)
        schema.clear()
        schema |= {"anyOf": [*shorter, full_schema]}

    return widen
