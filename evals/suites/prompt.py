"""A prompt template: words in which `{column}` stands for a case's column. Only the columns that it names reach a system."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from ...rubrics.errors import InvalidFile
from ...rubrics.files import near_column, read_text

_COLUMN = re.compile(r"\{([A-Za-z_][\w-]*)\}")


@dataclass(frozen=True)
class PromptTemplate:
    """What a system is asked, case by case."""

    file: Path
    text: str

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that it names."""
        return tuple(dict.fromkeys(_COLUMN.findall(self.text)))

    def render(self, columns: Mapping[str, Any], *, case: str) -> str:
        """The prompt of one case: a list of choices gets letters, other lists a paragraph each.

        Raises:
            InvalidFile: The case lacks a column that the prompt names.
        """

        def value(found: re.Match[str]) -> str:
            name = found[1]
            if columns.get(name) is None:
                raise InvalidFile(
                    f"{self.file}: case {case!r} has no column {name!r}",
                    remedy=f"{near_column(name, columns)}name columns that every case has",
                )
            return column_text(columns[name])

        return _COLUMN.sub(value, self.text)

    def check_columns(self, columns: Mapping[str, Any], *, target: str | None) -> None:
        """Raise `InvalidFile` where the prompt names no column, one that is not there, or the one that holds what is right."""
        if not self.columns:
            raise InvalidFile(
                f"{self.file}: the prompt names no column, so that every case would be asked the same",
                remedy="write {COLUMN} where a case's text belongs",
            )
        for name in self.columns:
            if name not in columns:
                raise InvalidFile(
                    f"{self.file}: no column {name!r} in the cases",
                    remedy=f"{near_column(name, columns)}the columns are {', '.join(map(str, columns))}",
                )
        if target in self.columns:
            raise InvalidFile(
                f"{self.file}: the prompt shows {target!r}, which holds what is right",
                remedy="leave it out of the prompt",
            )


def load_prompt(file: Path) -> PromptTemplate:
    """The template in a text file."""
    return PromptTemplate(file, read_text(file).rstrip("\n"))


def column_text(value: Any) -> str:
    """A column as a system reads it."""
    if isinstance(value, Mapping):
        return "\n".join(f"{label}. {text}" for label, text in value.items())
    if isinstance(value, list | tuple):
        short = len(value) <= len(ascii_uppercase) and all(
            isinstance(each, str) and "\n" not in each for each in value
        )
        return "\n".join(f"{label}. {text}" for label, text in zip(ascii_uppercase, value, strict=False)) if short else "\n\n".join(map(str, value))  # fmt: skip
    return str(value)
