"""A section of a comparison on its page, whatever it is about."""

from __future__ import annotations

from html import escape

from ..figures.section import Section
from .frame import figure, items, paragraph, section, table

MOST = 20
"""Rows of a table on the page; the file holds all."""


def section_part(part: Section) -> str:
    """Sentences, figures, tables; what could not be done stands last."""
    return section(
        part.title,
        items(part.sentences, "said"),
        *(figure(drawn, caption) for caption, drawn in part.figures.items()),
        *(_table(part, name) for name in part.tables),
        items(part.notes, "notes"),
    )


def section_figures(parts: tuple[Section, ...]) -> dict[str, str]:
    """Their figures by file name: the section's, with a number from the second on."""
    return {
        part.name if number == 1 else f"{part.name}-{number}": drawn
        for part in parts
        for number, drawn in enumerate(part.figures.values(), 1)
    }


def _table(part: Section, name: str) -> str:
    frame = part.tables[name]
    if frame.empty:
        return ""
    heads = {str(column): str(column).replace("_", " ") for column in frame.columns}
    shown = table(f"{part.name}-{name}", frame.head(MOST), heads)
    rest = (
        paragraph(f"The first {MOST} of {len(frame)} rows; all are in tables/{part.name}_{name}.csv.", "soft")
        if len(frame) > MOST
        else ""
    )
    return f"<h3>{escape(name.replace('_', ' '))}</h3>{shown}{rest}"
