"""A report's files: tables as CSV that no spreadsheet runs, figures as PNG, a first page as Markdown, and the folder that holds them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from ...orchestration.record.private_files import FOLDER_MODE, write_atomically
from ...rubrics.errors import MissingExtra, VenireError
from ...rubrics.rows import csv_cell
from .drawing import Figure, Picture, text
from .html import svg
from .section import Section, document_text


def csv_text(table: pd.DataFrame) -> str:
    """The table as CSV, without its index; texts and column names that look like formulas are made harmless."""
    words = table.select_dtypes(exclude="number").columns
    harmless = table.assign(**{name: table[name].map(csv_cell) for name in words})
    return harmless.rename(columns=csv_cell).to_csv(index=False)


ZOOM = 2
PAPER = "#ffffff"


def check_png() -> None:
    """Make sure that figures, their words among them, can be drawn here.

    Raises:
        MissingExtra: The package that draws is not installed.
        VenireError: The system has no font, so that figures would be without words.
    """
    if find_spec("resvg_py") is None:
        raise MissingExtra("PNG figures need resvg", remedy="pip install 'venire[png]'")
    blank, word = (Figure("", [Picture(20, 20, shapes)]) for shapes in ([], [text(0, 16, "x")]))
    if png(word) == png(blank):
        raise VenireError(
            "no font was found for the text in the figures",
            remedy="install a font (Debian: apt install fonts-dejavu-core), or use the SVG figures",
        )


def png(figure: Figure) -> bytes:
    """The figure as PNG; what takes the page's colour is black."""
    import resvg_py

    return bytes(resvg_py.svg_to_bytes(svg_string=svg(figure), background=PAPER, zoom=ZOOM))


def write_folder(
    folder: Path,
    page: str,
    document: Mapping[str, Any],
    tables: Mapping[str, pd.DataFrame],
    figures: Mapping[str, Figure],
    *,
    name: str = "report",
    pictures: bool = False,
    first: Section | None = None,
) -> Path:
    """Write `report.html`, the document as `NAME.json`, `tables/*.csv` and `figures/*.svg`; the page's path.

    With `pictures`, also `figures/*.png`; with a `first` page, `report.md` for a comment on a pull request.
    """
    table_folder, figure_folder = folder / "tables", folder / "figures"
    for part in (table_folder, figure_folder):
        part.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    for title, table in tables.items():
        write_atomically(table_folder / f"{title}.csv", csv_text(table))
    for title, figure in figures.items():
        write_atomically(figure_folder / f"{title}.svg", svg(figure))
        if pictures:
            (figure_folder / f"{title}.png").write_bytes(png(figure))
    write_atomically(folder / f"{name}.json", document_text(document) + "\n")
    if first is not None:
        write_atomically(folder / "report.md", section_markdown(first))
    path = folder / "report.html"
    write_atomically(path, page)
    return path


_SPECIAL = re.compile(r"([\\`*_{}\[\]|])")
ROWS = 40
"""Rows of the table that a comment shows; the report has all."""


def section_markdown(part: Section) -> str:
    """The question as a heading, the answer, the table and what is uncertain; nothing in a cell is read as Markdown, a tag or a mention."""
    lines = [f"### {_escape(part.title)}", "", *(f"- {_escape(sentence)}" for sentence in part.sentences)]
    for frame in part.tables.values():
        cells = frame.astype(object).where(frame.notna(), "").astype(str)
        used = [str(column) for column in cells if any(cells[column])]
        lines += ["", _row(used), _row(["---"] * len(used))]
        lines += [_row(row) for row in cells[used].head(ROWS).itertuples(index=False)]
        if len(cells) > ROWS:
            lines += ["", f"This table has {len(cells) - ROWS} more rows in the full report."]
    lines += ["", *(f"<sub>{_escape(note)}</sub>" for note in part.notes)]
    return "\n".join(lines).rstrip() + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(_escape, cells))} |"


def _escape(text: str) -> str:
    words = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;")  # fmt: skip
    return _SPECIAL.sub(r"\\\1", words)
