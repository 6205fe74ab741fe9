"""Prompt text: the templates in `prompts/`, and the fences that keep judged text from speaking to the jury."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from functools import cached_property, lru_cache
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template
from typing import Any

from pydantic import BaseModel

from ..rubrics.quotes import Exhibit
from ..rubrics.rubric import Rubric
from ..rubrics.scale import NOT_APPLICABLE
from ..rubrics.shapes import inline
from .model import Message

_MARKERS = re.compile(r"\[\[(?=\s*(?:exhibit|words))|<(?=\|)|\[(?=/?INST\])|<(?=/?s>)", re.IGNORECASE)
_WHO = "judge|juror|jury|evaluator|grader|reviewer|model|llm|ai"
_BEST = r"(?:maximum|highest|top|best|perfect)(?: possible)? (?:score|rating|grade|marks?)"
_ATTEMPTS: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (
        ("ignore", "disregard", "forget"),
        re.compile(
            r"(?:ignore|disregard|forget)\s+(?:(?:all|any|the|your|every)\s+)*"
            r"(?:previous|prior|above|earlier|rubric|instructions)"
        ),
    ),
    (
        (
            " 5",
            "full marks",
            "top marks",
            "maximum",
            "highest",
            "top ",
            "best ",
            "perfect",
            "/5",
            "/10",
            " out of ",
            "five",
        ),
        re.compile(
            r"(?:give|award|assign|rate|score|grade)\b[^.\n]{0,60}\b"
            rf"(?:full marks|top marks|{_BEST}|[0-9]+(?:\s*/\s*|\s+out of\s+)[0-9]+|(?:a|all) (?:5s?|fives?)\b)"
        ),
    ),
    (
        ("dear", "attention", "note to", "instruction", "message to"),
        re.compile(
            rf"(?:dear|attention|note to|instructions? (?:for|to)|message to)\s+(?:the\s+)?(?:{_WHO})\b"
        ),
    ),
    (("you are",), re.compile(rf"you are (?:now )?(?:a|an|the) (?:{_WHO}|helpful)\b")),
    (
        ("<|", "[[", "system prompt"),
        re.compile(r"<\|(?:im_start|im_end|system|user|assistant)|\[\[\s*exhibit|system prompt"),
    ),
)
"""Ways in which a text speaks to the jury, each with words without which it need not be looked for."""


class Prompts:
    """The .md templates of one folder: venire's own, or those that a protocol brings.

    The folder is a path, or a resource of a package: `importlib.resources.files("PACKAGE") / "prompts"`.
    """

    def __init__(self, folder: Traversable) -> None:
        self.folder = folder
        self._templates: dict[str, Template] = {}

    def words(self, name: str, /, **parts: object) -> str:
        """The prompt `name` with its parts in place; a part that is missing is an error."""
        if name not in self._templates:
            text = (self.folder / f"{name}.md").read_text(encoding="utf-8")
            self._templates[name] = Template(text.rstrip("\n"))
        return self._templates[name].substitute({key: str(part) for key, part in parts.items()})

    @property
    def names(self) -> list[str]:
        """The files of the folder that are prompts, in order."""
        files = self.folder.iterdir() if self.folder.is_dir() else ()
        return sorted(file.name for file in files if file.name.endswith(".md"))

    @cached_property
    def hash(self) -> str:
        """One hash of every prompt, for the manifest."""
        digest = hashlib.sha256()
        for name in self.names:
            digest.update(name.encode() + b"\0" + (self.folder / name).read_bytes() + b"\0")
        return digest.hexdigest()[:16]


PROMPTS = Prompts(Path(__file__).parent / "prompts")
"""venire's own."""


def words(name: str, /, **parts: object) -> str:
    """venire's prompt `name` with its parts in place."""
    return PROMPTS.words(name, **parts)


@lru_cache(maxsize=512)
def same_words(name: str, /, **parts: str) -> str:
    """`words`, made once for parts that come again with every case."""
    return words(name, **parts)


def nonce(texts: Iterable[str]) -> str:
    """A code that no text among `texts` can contain on purpose: it is made from all of them.

    It does not change from call to call, so that providers can reuse the prefix it stands in.
    """
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()[:16]


def fence(kind: str, name: str, text: str, code: str) -> str:
    """`text` between markers it cannot forge, any marker inside it broken."""
    return f'[[{kind} "{name}" begins {code}]]\n{break_markers(text)}\n[[{kind} "{name}" ends {code}]]'


def break_markers(text: str) -> str:
    """`text` with a space in everything that could pass for one of our markers, or for a model's own."""
    return _MARKERS.sub(lambda found: found.group() + " ", text) if "[" in text or "<" in text else text


def attempts_to_instruct(exhibits: Iterable[Exhibit]) -> tuple[str, ...]:
    """Passages in which a text seems to speak to the jury, as `exhibit: words`."""
    exhibits = tuple(exhibits)
    everything = "\0".join(exhibit.text for exhibit in exhibits).lower()
    if not any(_suspected(everything, hints) and pattern.search(everything) for hints, pattern in _ATTEMPTS):
        return ()
    found: list[str] = []
    for exhibit in exhibits:
        lowered = exhibit.text.lower()
        for hints, pattern in _ATTEMPTS:
            if _suspected(lowered, hints):
                found += [
                    f"{exhibit.name}: {' '.join(exhibit.text[max(0, m.start() - 20) : m.end() + 40].split())}"
                    for m in pattern.finditer(lowered)
                ]
    return tuple(found[:5])


def _suspected(text: str, hints: tuple[str, ...]) -> bool:
    return any(hint in text for hint in hints)


@lru_cache(maxsize=64)
def rubric_text(rubric: Rubric) -> str:
    """Every attribute with its question and levels."""
    parts: list[str] = []
    for attribute in rubric.attributes:
        scale = rubric.scale_of(attribute.name)
        levels = [f"- {value}: {meaning}" for value, meaning in scale.anchors.items()]
        if not levels:
            levels = [f"- any number from {scale.ends[0]:g} to {scale.ends[1]:g}"]
        if attribute.may_not_apply:
            levels.append(f"- {NOT_APPLICABLE}: the question does not arise for this case")
        parts.append("\n".join([f"## {attribute.name}", attribute.question, *levels]))
    return "\n\n".join(parts)


@lru_cache(maxsize=512)
def form_of(shape: type[BaseModel]) -> str:
    """A shape as a form to fill in: one line for each of its fields."""
    lines = [f"  {json.dumps(name)}: {_sketch(part)}" for name, part in inline(shape)["properties"].items()]
    return "{\n" + ",\n".join(lines) + "\n}"


def _sketch(node: dict[str, Any]) -> str:
    if "enum" in node:
        return " | ".join(json.dumps(value) for value in node["enum"])
    if "const" in node:
        return json.dumps(node["const"])
    if "anyOf" in node:
        return " | ".join(_sketch(choice) for choice in node["anyOf"])
    match node.get("type"):
        case "object":
            return (
                "{" + ", ".join(f"{json.dumps(k)}: {_sketch(v)}" for k, v in node["properties"].items()) + "}"
            )
        case "array":
            return f"[{_sketch(node['items'])}, ...]"
        case "string":
            return '"..."'
        case "boolean":
            return "true | false"
        case _:
            low, high = node.get("minimum"), node.get("maximum")
            return (
                f"<number from {low:g} to {high:g}>" if low is not None and high is not None else "<number>"
            )


def repair_request(answer: str, problem: str) -> tuple[Message, Message]:
    """The model's own answer and what is wrong with it."""
    shown = answer if len(answer) <= 6000 else answer[:6000] + " [cut]"
    return Message("assistant", shown or "(nothing)"), Message("user", words("repair", problem=problem))
