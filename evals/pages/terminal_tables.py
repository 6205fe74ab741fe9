"""Comparisons and agreements as tables in the terminal."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pandas as pd
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from ..agreement.coefficient import band
from ..figures.numbers import CHANCES, chance, decimal
from ..figures.section import Section
from ..ratings.sheet import OVERALL
from ..statistics.estimate import Estimate

if TYPE_CHECKING:
    from ..agreement.choice import Choice
    from ..agreement.rater_agreement import Agreement
    from ..comparison.comparison import Comparison


NAME = 18
"""The width of an arm's name in a table: a longer one goes on below, broken at a space or a hyphen."""


def estimate_words(estimate: Estimate, *, percent: bool = False) -> str:
    """An estimate as words: its value with the interval, or that it is undefined."""
    return interval_words(estimate.value, estimate.low, estimate.high, percent=percent)


def interval_words(value: float, low: float, high: float, *, percent: bool = False) -> str:
    """A value with its bounds as words, as far as they are known."""
    if math.isnan(value):
        return "undefined"
    shown = [f"{x:.0%}" if percent else f"{round(x, 2) + 0.0:.2f}" for x in (value, low, high)]
    return shown[0] if math.isnan(low) else f"{shown[0]} [{shown[1]}, {shown[2]}]"


def comparison_tables(comparison: Comparison) -> Group:
    """Arms as rows: agreement and error with their intervals below them; then matches, failures and cost. 80 columns are enough."""
    near = _table("arm", "ICC(3,k)", "Spearman", "mean abs error", "offset")
    rest = _table("arm", "n", "exact", "hung", "calls", "cost")
    costs = comparison.costs.set_index("arm")
    for arm, attributes in comparison.agreement.items():
        overall = attributes[OVERALL]
        spent = costs.loc[arm] if arm in costs.index else None
        name = textwrap.fill(arm, NAME)
        near.add_row(name, *(_stacked_cell(overall[each]) for each in ("icc3k", "spearman", "mae", "offset")))
        rest.add_row(
            name,
            str(overall["mae"].n or overall["spearman"].n),
            _cell(overall["exact"], percent=True),
            "" if spent is None else f"{spent['hung']:.0f}",
            "" if spent is None else f"{spent['calls']:.0f}",
            "" if spent is None else "unknown" if pd.isna(spent["usd"]) else f"${spent['usd']:.4f}",
        )
    return Group(near, "", rest)


def agreement_table(agreement: Agreement) -> Table:
    """Each attribute's coefficients as far as they are defined, with the band that each falls in; grey, with how few cases
    there are, where they are too few to be put in a band."""
    table = _table("attribute", "coefficient", "value", "n", "reads as")
    for name, found in {**agreement.attributes, OVERALL: agreement.overall}.items():
        for coefficient, estimate in found.items():
            if estimate.defined:
                reads = band(coefficient, estimate.value)
                told = f"{reads.word}, {reads.source}" if reads else ""
                table.add_row(
                    name,
                    coefficient,
                    estimate_words(estimate),
                    str(estimate.n),
                    estimate.few or told,
                    style="dim" if estimate.few else None,
                )
        if not any(estimate.defined for estimate in found.values()):
            table.add_row(name, "all", "undefined", "", next(iter(found.values())).note)
        table.add_section()
    return table


def report_lines(agreement: Agreement) -> list[str]:
    """Which coefficient to report for each attribute, with its value, and why; attributes of one design together."""
    together: dict[Choice, list[str]] = {}
    for name, choice in agreement.report.items():
        together.setdefault(choice, []).append(name)
    lines = []
    for choice, names in together.items():
        if choice.coefficient is None:
            lines.append(f"{', '.join(names)}: nothing to report: {choice.why}")
            continue
        values = ", ".join(
            f"{name} {estimate_words(agreement.attributes[name][choice.coefficient])}" for name in names
        )
        lines.append(f"report {choice.coefficient}: {values}")
        lines.append(f"  why: {choice.why}")
    return lines


def raters_table(agreement: Agreement) -> Table:
    """Each rater's harshness, and how much alpha would rise without them."""
    table = _table("attribute", "rater", "ratings", "severity", "alpha would rise by", "outlier")
    for row in agreement.raters.to_dict("records"):
        rise = (
            interval_words(row["rise"], row["low"], row["high"])
            if not math.isnan(row["rise"])
            else row["note"]
        )
        severity = "" if math.isnan(row["severity"]) else f"{row['severity']:+.2f}"
        table.add_row(
            row["attribute"], row["rater"], str(row["n"]), severity, rise, "outlier" if row["outlier"] else ""
        )
    return table


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
            rest = f"{len(frame) - ROWS} rows more in tables/{part.name}_{name}.csv"
            console.print(rest, style="dim", highlight=False, markup=False)
    for note in part.notes:
        console.print(f"  note: {note}", highlight=False, markup=False, soft_wrap=True)


def _frame_tables(frame: pd.DataFrame, width: int) -> Iterator[Table]:
    """The columns that say something, lows and highs in one cell, in as many tables as the terminal's width takes; the names
    that rows begin with are in each of them."""
    columns = _columns(frame)
    names = [head for head, cells in columns.items() if not any(map(_numeric, cells))]
    leading = [
        head for at, head in enumerate(columns) if head in names and names[: at + 1] == [*columns][: at + 1]
    ]
    rest = [head for head in columns if head not in leading]
    room = width - sum(_column_width(head, columns[head]) for head in leading)
    part: list[str] = []
    used = 0
    for head in rest:
        wide = _column_width(head, columns[head])
        if part and used + wide > room:
            yield _columns_table({name: columns[name] for name in (*leading, *part)})
            part, used = [], 0
        part.append(head)
        used += wide
    if part or not rest:
        yield _columns_table({name: columns[name] for name in (*leading, *part)})


def _columns(frame: pd.DataFrame) -> dict[str, list[str]]:
    """By head, the cells of the first rows, without columns that are blank there or one word throughout the whole table."""
    found: dict[str, list[str]] = {}
    shown = frame.head(ROWS)
    for name in map(str, frame.columns):
        end = "high".join(name.rsplit("low", 1)) if name.endswith("low") else ""
        if name.endswith("high") and "low".join(name.rsplit("high", 1)) in frame:
            continue
        if end in frame:
            cells = _between(shown[name], shown[end])
            head = f"{name.removesuffix('low').rstrip('_') or '95%'} interval"
        else:
            cells, head = _plain_cells(frame[name])[:ROWS], name
        words = not pd.api.types.is_numeric_dtype(frame[name])
        constant = words and len(frame) > 1 and frame[name].nunique(dropna=False) == 1
        if any(cells) and not constant:
            found[head.replace("_", " ")] = cells
    return found


def _columns_table(columns: Mapping[str, list[str]]) -> Table:
    table = _table(*columns)
    for column, (head, cells) in zip(table.columns, columns.items(), strict=True):
        width = _column_width(head, cells) - 2
        if max(map(len, cells), default=0) <= width:
            # Given its head's whole width, Rich would take it from another column, whose words would break.
            column.width = width
    for row in zip(*columns.values(), strict=True):
        table.add_row(*map(Text, row))
    return table


def _column_width(head: str, cells: list[str]) -> int:
    """How wide a column must be for no word and no cell of moderate length to be broken."""
    words = max(len(word) for cell in (head, *cells) for word in cell.split())
    return max(min(LONGEST_WORD, words), min(WIDEST, max(map(len, cells), default=0))) + 2


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


def _cell(estimate: Estimate, *, percent: bool = False) -> str | Text:
    if estimate.few:
        return Text(f"{estimate_words(estimate, percent=percent)} {estimate.few}", style="dim")
    return estimate_words(estimate, percent=percent) if estimate.defined else "-"


def _stacked_cell(estimate: Estimate) -> Text:
    """A value, its interval below it, and below that how few cases there are, where they are few."""
    words = estimate_words(estimate) if estimate.defined else "-"
    lines = [words.replace(" [", "\n["), *([estimate.few] if estimate.few else [])]
    return Text("\n".join(lines), style="dim" if estimate.few else "")


def _table(*columns: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
