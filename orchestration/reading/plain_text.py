"""The parts of a page for the terminal as plain lines: the same layout, without rich's engine, which takes longer than a deliberation."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import TextWrapper

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text


def plain_lines(part: RenderableType, width: int) -> Iterator[str]:
    """The lines of a text, a table without a frame, or what holds some of them; words that do not fit go to the next line."""
    match part:
        case Group():
            for each in part.renderables:
                yield from plain_lines(each, width)
        case Padding():
            for line in plain_lines(part.renderable, width - part.left):
                yield f"{' ' * part.left}{line}".rstrip()
        case Table():
            yield from _table_lines(part, width)
        case _:
            text = part.plain if isinstance(part, Text) else str(part)
            for line in text.split("\n"):
                yield from _fitting_lines(line, width)


def _table_lines(table: Table, width: int) -> Iterator[str]:
    """Its rows, columns as wide as their longest cell; the last column has what is left."""
    _, gap, _, _ = table.padding
    columns = [
        ([str(column.header)] if table.show_header else [])
        + [cell.plain if isinstance(cell, Text) else str(cell) for cell in column.cells]
        for column in table.columns
    ]
    *first, last = columns
    places = [max(map(len, column), default=0) + gap for column in first]
    left = sum(places)
    for *cells, words in zip(*first, last, strict=True):
        head = "".join(cell.ljust(place) for cell, place in zip(cells, places, strict=True))
        lines = [line for part in words.split("\n") for line in _fitting_lines(part, width - left - gap)]
        yield f"{head}{lines[0]}".rstrip()
        yield from (f"{' ' * left}{line}".rstrip() for line in lines[1:])


def _fitting_lines(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line.rstrip()]
    wrapper = TextWrapper(max(width, 1), break_on_hyphens=False, replace_whitespace=False, expand_tabs=False)
    return wrapper.wrap(line) or [""]
