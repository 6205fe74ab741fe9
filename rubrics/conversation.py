"""Conversations and agents' trajectories: messages in OpenAI's shape, and the one text in which jurors read them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, field_validator

_INDENT = "    "
_TURN = re.compile(
    rf"^(?P<heading>Turn \d+, [^\n]*):\n(?P<words>(?:{_INDENT}[^\n]*(?:\n|\Z))*)", re.MULTILINE
)


class Call(BaseModel):
    """What a tool was called with."""

    model_config = ConfigDict(frozen=True, extra="allow", coerce_numbers_to_str=True)

    name: str = Field(min_length=1)
    arguments: Any = ""
    """A text, as OpenAI has it, or JSON."""
    input: str = ""
    """What a custom tool takes in their place."""


class ToolCall(BaseModel):
    """A call among the `tool_calls` of a message."""

    model_config = ConfigDict(frozen=True, extra="allow")

    function: Call | None = None
    custom: Call | None = None


class SpokenMessage(BaseModel):
    """One message. Keys without a meaning here are stored with the case and never shown to jurors."""

    model_config = ConfigDict(frozen=True, extra="allow", coerce_numbers_to_str=True)

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | tuple[dict[str, Any], ...] | None = None
    """A text, or parts: what is no text is named by its type."""
    name: str | None = None
    refusal: str | None = None
    tool_calls: tuple[ToolCall, ...] | None = ()
    function_call: Call | None = None
    """As messages had it before there were several calls."""
    tool_call_id: str | None = None

    @field_validator("tool_calls")
    @classmethod
    def _no_calls(cls, value: tuple[ToolCall, ...] | None) -> tuple[ToolCall, ...]:
        return value or ()

    @property
    def calls(self) -> Iterator[Call]:
        """The tools that it calls."""
        if self.function_call is not None:
            yield self.function_call
        for each in self.tool_calls or ():
            yield from filter(None, (each.function, each.custom))

    @property
    def text(self) -> str:
        """What it says."""
        parts = (self.content,) if isinstance(self.content, str) else map(_part_text, self.content or ())
        return "\n".join(filter(None, (*parts, self.refusal)))


class TurnSpan(NamedTuple):
    """A stretch of a conversation's text: who speaks, calls or answers, and where the words stand."""

    heading: str
    start: int
    end: int


def conversation_text(messages: Sequence[SpokenMessage], first: int = 1) -> str:
    """The messages one under another, numbered from `first`; every word of theirs is indented, so that none can pass for a heading."""
    tools = {
        str((each.model_extra or {}).get("id")): call.name
        for message in messages
        for each in message.tool_calls or ()
        if (call := each.function or each.custom)
    }
    lines: list[str] = []
    for number, message in enumerate(messages, first):
        name = message.name or tools.get(message.tool_call_id or "", "")
        speaker = f"Turn {number}, {message.role}{f' {_one_line(name)}' if name else ''}"
        if message.text or not any(message.calls):
            lines += [f"{speaker}:", _indent(message.text or "(nothing)")]
        for call in message.calls:
            words = (
                call.arguments
                if isinstance(call.arguments, str)
                else json.dumps(call.arguments, ensure_ascii=False)
            )
            lines += [
                f"{speaker} calls {_one_line(call.name)}:",
                _indent(words or call.input or "(nothing)"),
            ]
    return "\n".join(lines)


def turn_spans(text: str) -> list[TurnSpan]:
    """The turns of a text that `conversation_text` made."""
    return [
        TurnSpan(
            found["heading"], found.start("words") + len(_INDENT), found.end() - found["words"].endswith("\n")
        )
        for found in _TURN.finditer(text)
    ]


def without_indent(words: str) -> str:
    """Words of a turn, from where its `start` is, as they were written."""
    return words.replace(f"\n{_INDENT}", "\n")


def _indent(words: str) -> str:
    # `splitlines` knows every character that a reader may take for the end of a line.
    return "\n".join(f"{_INDENT}{line}" for line in words.splitlines())


def _one_line(name: str) -> str:
    return " ".join(name.split())[:80]


def _part_text(part: dict[str, Any]) -> str:
    words = next((part[key] for key in ("text", "refusal") if isinstance(part.get(key), str)), None)
    return words if words is not None else f"({part.get('type') or 'a part'}, not shown)"
