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

from ..rubrics.rubric import Rubric
from ..rubrics.scale import NOT_APPLICABLE
from ..rubrics.shapes import inline
from .model import Message

_MARKERS = re.compile(
    r"[\[\uff3b\u3010\u27e6](?=[\s\u200b-\u200f\u2060-\u2064\ufeff]*[\[\uff3b\u3010]?[^\w\]]*(?:exhibit|words)\b)"
    r"|<(?=[|\uff5c])|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])"
    r"|<(?=/?(?:s|bos|eos|think|system|user|assistant|human|start_of_turn|end_of_turn|tool_call)>)|<(?=</?SYS>>)",
    re.IGNORECASE,
)
"""What could pass for one of our markers, or for one of a model's own."""


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
    """`text` between markers it cannot forge, any marker inside it broken and their code taken out."""
    return f'[[{kind} "{name}" begins {code}]]\n{neutralise(text, code)}\n[[{kind} "{name}" ends {code}]]'


def neutralise(text: str, code: str) -> str:
    """`text` with a space in everything that could pass for a marker, and without the code of ours.

    A case cannot contain the code, which is made from it; a model that has read a prompt can repeat it.
    """
    if "[" in text or "<" in text or not text.isascii():
        text = _MARKERS.sub(lambda found: found.group() + " ", text)
    return re.sub(re.escape(code), "(code)", text, flags=re.IGNORECASE) if code in text.lower() else text


@lru_cache(maxsize=64)
def rubric_text(rubric: Rubric) -> str:
    """Every attribute with its question and levels."""
    parts: list[str] = []
    for attribute in rubric.attributes:
        scale = rubric.scale_of(attribute.name)
        levels = [f"- {value}: {meaning}" for value, meaning in scale.anchors.items()]
        if not levels:
            levels = [f"- any number from {scale.ends[0]:g} to {scale.ends[1]:g}"]
        if attribute.asked_if:
            where = " and ".join(f"{name} is {value}" for name, value in attribute.asked_if.items())
            levels.append(f"- {NOT_APPLICABLE}: wherever it is not the case that {where}")
        elif attribute.may_not_apply:
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


def repair_request(answer: str, problem: str, code: str) -> tuple[Message, Message]:
    """The model's own answer and what is wrong with it, which may repeat the answer: both fenced."""
    shown = answer if len(answer) <= 6000 else answer[:6000] + " [cut]"
    return (
        Message("assistant", fence("words", "answer", shown or "(nothing)", code)),
        Message("user", words("repair", problem=fence("words", "problem", problem, code))),
    )
