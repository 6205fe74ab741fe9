"""YAML text as plain Python with line numbers, within limits that a stranger's file cannot pass."""

from __future__ import annotations

import re
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from .errors import InvalidFile

Location = tuple[int | str, ...]

MOST_NODES = 20_000
"""Keys, values and items of one file, an alias counted as all that it stands for."""
MOST_CHARACTERS = 4 * 2**20
"""Characters of all values, those of an alias counted each time."""
DEEPEST = 50
"""Levels of lists and mappings inside each other."""
LONGEST_INTEGER = 40
"""Digits."""

_TOO_DEEP = f"nested more than {DEEPEST} levels deep"
_TOO_LARGE = f"more than {MOST_NODES:,} values or {MOST_CHARACTERS:,} characters, aliases written out"
_CORE = "tag:yaml.org,2002:"
_COLLECTIONS = {f"{_CORE}map", f"{_CORE}seq"}
_SCALARS = {f"{_CORE}{name}" for name in ("str", "int", "float", "bool", "null")}
_SURPRISES = {f"{_CORE}{name}" for name in ("bool", "int", "timestamp", "merge")}
_LONG_INTEGER = re.compile(rf"[0-9A-Fa-f_]{{{LONGEST_INTEGER + 1}}}")


if TYPE_CHECKING or not yaml.__with_libyaml__:
    _Loader = yaml.SafeLoader
else:

    class _Loader(yaml.composer.Composer, yaml.CSafeLoader):
        """Scans with libyaml, ten times as fast, and composes in Python, where limits can be held."""

        def __init__(self, text: str) -> None:
            yaml.CSafeLoader.__init__(self, text)
            yaml.composer.Composer.__init__(self)


class _PlainLoader(_Loader):
    """YAML's safe types, without the surprise that `no` is false, `12:30` a number, a date a date and `<<` a merge."""

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
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _SURPRISES]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
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
            f"{path}:{line}: not valid YAML: {error.problem or error.context}",
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
            here = (*at, key if isinstance(key, int) else str(key))
            self.lines[here] = key_node.start_mark.line + 1
            plain[key] = self.value(value_node, here)
        return plain

    def _key(self, node: yaml.Node) -> Hashable:
        if not isinstance(node, yaml.ScalarNode):
            raise self._error(node, "a key is a list or a mapping", "write a word before the colon")
        if node.value == "<<" and not node.style:
            raise self._error(node, "the merge key << is not read here", "write the keys out")
        self._count(node)
        key: Hashable = self._scalar(node)
        return key

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        if node.tag not in _SCALARS:
            raise self._unknown_tag(node)
        if node.tag == f"{_CORE}int" and _LONG_INTEGER.search(node.value):
            raise self._error(node, f"a number of more than {LONGEST_INTEGER} digits", "write a smaller one")
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
            raise self._error(node, "what stands here contains itself, by an alias", "write it out")
        self._around.append(node)
        if len(self._around) > DEEPEST:
            raise self._error(node, _TOO_DEEP, "write it flatter")

    def _count(self, node: yaml.Node) -> None:
        self._nodes += 1
        self._characters += len(node.value) if isinstance(node, yaml.ScalarNode) else 0
        if self._nodes > MOST_NODES or self._characters > MOST_CHARACTERS:
            raise self._error(node, _TOO_LARGE, "split the file, or use fewer aliases")

    def _unknown_tag(self, node: yaml.Node) -> InvalidFile:
        tag = node.tag.replace(_CORE, "!!")
        return self._error(node, f"the tag {tag[:80]!r} is not read here", "remove the tag")

    def _error(self, node: yaml.Node, problem: str, remedy: str) -> InvalidFile:
        return InvalidFile(f"{self._path}:{node.start_mark.line + 1}: {problem}", remedy=remedy)
