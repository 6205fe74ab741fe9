"""Sections and estimates in the terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

import pandas as pd
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from ..statistics.estimate import Estimate
from .drawing import CHANCES, chance, decimal
from .section import Section


def estimate_words(estimate: Estimate, *, percent: bool = False) -> str:
    """An estimate as words: its value with the interval, or that it is undefined."""
    return interval_words(estimate.value, estimate.low, estimate.high, percent=percent)


def interval_words(value: float, low: float, high: float, *, percent: bool = False, places: int = 2) -> str:
    """A value with its bounds as words, as far as they are known."""
    if math.isnan(value):
        return "undefined"
    texts = [f"{x:.0%}" if percent else f"{round(x, places) + 0.0:.{places}f}" for x in (value, low, high)]
    return texts[0] if math.isnan(low) else f"{texts[0]} [{texts[1]}, {texts[2]}]"


WIDEST = 26
"""Characters of a cell before its words are folded."""
LONGEST_WORD = 40
"""Characters of a word that is not broken, such as a model's name."""
NARROW = 0.04
"""An interval below this width needs a third place."""
ROWS = 30
"""Rows of a table that the terminal shows; the files hold all."""


def show_section(part: Section, console: Console) -> None:
    """A section in the terminal: its title, what it says, its tables as far as they are short, and what could not be done."""
    console.print(f"\n{part.title}", style="bold", highlight=False, markup=False)
    for sentence in part.sentences:
        console.print(f"- {sentence}", highlight=False, markup=False, soft_wrap=True)
    for name, frame in part.tables.items():
        if frame.empty:
            continue
        console.print(f"\n{part.name} {name}", style="dim", highlight=False, markup=False)
        for table in _frame_tables(frame, console.width):
            console.print(table)
        if len(frame) > ROWS:
            remark = f"{len(frame) - ROWS} more rows in tables/{part.name}_{name}.csv"
            console.print(remark, style="dim", highlight=False, markup=False)
    for note in part.notes:
        console.print(f"  note: {note}", highlight=False, markup=False, soft_wrap=True)


FIRST_PAGE = 45
"""Lines of a first page, at 100 columns."""


def show_first_page(part: Section, console: Console) -> None:
    """The question (the section's title), the answer, one table, what is uncertain (its notes) and where the rest is (its lead).

    The table's cells are words. Rows that would take the page beyond its length are left out, and that is said.
    """
    answer = [Text(f"- {sentence}") for sentence in part.sentences]
    doubts = [Text(f"  {note}", style="dim") for note in part.notes]
    words = [Text(part.title, style="bold"), *answer, *doubts, Text(part.lead, style="dim")]
    line_count = sum(len(console.render_lines(line, pad=False)) for line in words) + 4
    (frame,) = part.tables.values()
    heads = {column: [str(cell) for cell in frame[column]] for column in map(str, frame.columns)}
    heads = {head: cells for head, cells in heads.items() if any(cells)}
    room = FIRST_PAGE - line_count
    # Each row takes a line at the least, and so do the heads.
    rows = max(1, min(len(frame), room - 1))
    while len(console.render_lines(tables := _first_rows(heads, rows, console.width))) > room and rows > 1:
        rows -= 1
    console.print(words[0], highlight=False)
    for line in answer:
        console.print(line, highlight=False)
    console.print()
    console.print(tables)
    if rows < len(frame):
        console.print(f"{len(frame) - rows} more rows with --full", style="dim", highlight=False)
    console.print()
    for line in (*doubts, words[-1]):
        console.print(line, highlight=False)


def _first_rows(columns: Mapping[str, list[str]], rows: int, width: int) -> Group:
    return Group(
        *_columns_tables({head: cells[:rows] for head, cells in columns.items()}, width, _folded_width)
    )


def show_answer(part: Section, console: Console) -> None:
    """What a command answers, in the terminal: its tables, each under its name if it has one, then the sentences and notes.

    The tables' cells are shown as they are: give words, with the places that a reader wants.
    """
    for name, frame in part.tables.items():
        if name:
            console.print(f"\n{name}", highlight=False, markup=False, soft_wrap=True)
        table = plain_table(*map(str, frame.columns))
        for row in frame.itertuples(index=False):
            table.add_row(*(Text(str(cell)) for cell in row))
        console.print(table)
    for sentence in part.sentences:
        console.print(f"- {sentence}", highlight=False, markup=False, soft_wrap=True)
    for note in part.notes:
        console.print(f"  note: {note}", highlight=False, markup=False, soft_wrap=True)


def _frame_tables(frame: pd.DataFrame, width: int) -> Iterator[Table]:
    """The columns that say something, lows and highs in one cell."""
    return _columns_tables(_columns(frame), width, _whole_width)


def _columns(frame: pd.DataFrame) -> dict[str, list[str]]:
    """By head, the cells of the first rows, without columns that are blank there or one word throughout the whole table."""
    cells_by_head: dict[str, list[str]] = {}
    first_rows = frame.head(ROWS)
    for name in map(str, frame.columns):
        end = "high".join(name.rsplit("low", 1)) if name.endswith("low") else ""
        if name.endswith("high") and "low".join(name.rsplit("high", 1)) in frame:
            continue
        if end in frame:
            cells = _between(first_rows[name], first_rows[end])
            head = f"{name.removesuffix('low').rstrip('_') or '95%'} interval"
        else:
            cells, head = _plain_cells(frame[name])[:ROWS], name
        words = not pd.api.types.is_numeric_dtype(frame[name])
        constant = words and len(frame) > 1 and frame[name].nunique(dropna=False) == 1
        if any(cells) and not constant:
            cells_by_head[head.replace("_", " ")] = cells
    return cells_by_head


def _columns_tables(
    columns: Mapping[str, list[str]], width: int, column_width: Callable[[str, list[str]], int]
) -> Iterator[Table]:
    """The columns in as many tables as the terminal's width takes; the names that rows begin with are in each of them."""
    names = [head for head, cells in columns.items() if not any(map(_numeric, cells))]
    leading = [
        head for at, head in enumerate(columns) if head in names and names[: at + 1] == [*columns][: at + 1]
    ]
    widths = {head: column_width(head, cells) for head, cells in columns.items()}
    taken = sum(widths[head] for head in leading)
    parts: list[list[str]] = [[]]
    for head in [head for head in columns if head not in leading]:
        if parts[-1] and taken + sum(widths[each] for each in parts[-1]) + widths[head] > width:
            parts.append([])
        parts[-1].append(head)
    for part in parts:
        yield _columns_table({name: columns[name] for name in (*leading, *part)}, width)


def _columns_table(columns: Mapping[str, list[str]], width: int) -> Table:
    """One table: the widest columns are folded between words until it fits. Rich would break words, and drop a column, instead."""
    least = {head: _folded_width(head, cells) for head, cells in columns.items()}
    widths = {head: _whole_width(head, cells) for head, cells in columns.items()}
    while sum(widths.values()) > width and (wide := [head for head in widths if widths[head] > least[head]]):
        widths[max(wide, key=widths.__getitem__)] -= 1
    table = plain_table(*columns)
    for column, head in zip(table.columns, columns, strict=True):
        column.width = widths[head] - 2
    for row in zip(*columns.values(), strict=True):
        table.add_row(*map(Text, row))
    return table


def _whole_width(head: str, cells: list[str]) -> int:
    """How wide a column must be, with the gap beside it, for no word and no cell of moderate length to be broken."""
    return max(_folded_width(head, cells), min(WIDEST, max(map(len, cells), default=0)) + 2)


def _folded_width(head: str, cells: list[str]) -> int:
    """The same where cells are folded between words."""
    return min(LONGEST_WORD, max(len(word) for cell in (head, *cells) for word in cell.split())) + 2


def _numeric(cell: str) -> bool:
    return bool(cell) and cell.lstrip("-").replace(".", "", 1).isdigit()


def _between(lows: pd.Series, highs: pd.Series) -> list[str]:
    """Intervals as words, to three places where two would not tell the ends of one apart, or from zero."""
    narrow = bool(((highs - lows < NARROW) & (highs > lows)).any())
    return [
        ""
        if pd.isna(low) or pd.isna(high)
        else " to ".join(f"{round(float(end), 2 + narrow) + 0.0:.{2 + narrow}f}" for end in (low, high))
        for low, high in zip(lows, highs, strict=True)
    ]


def _plain_cells(column: pd.Series) -> list[str]:
    """A column's cells; numbers that are whole in every row without places."""
    number = chance if column.name in CHANCES else decimal
    if pd.api.types.is_float_dtype(column) and (column.dropna() % 1 == 0).all():
        number = "{:.0f}".format
    return [
        "" if value is None or (isinstance(value, float) and math.isnan(value))
        else number(value) if isinstance(value, float)
        else str(value)
        for value in column
    ]  # fmt: skip


def plain_table(*columns: str) -> Table:
    """An empty table without lines, its heads dim."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
