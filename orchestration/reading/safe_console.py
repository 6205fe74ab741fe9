"""The console of every command: what models and files say is shown and never obeyed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from ...rubrics.safe_text import without_controls


class SafeConsole(Console):
    """A console that reads no markup and replaces control characters in whatever is printed."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **settings)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=without_controls(segment.text))


class SafeStream:
    """A terminal to write a whole document to, with its control characters replaced."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal

    def write(self, text: str) -> int:
        return self._terminal.write(without_controls(text))
