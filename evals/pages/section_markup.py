"""A section of a comparison on its page, whatever it is about."""

from __future__ import annotations

from ..figures.drawing import Figure
from ..figures.section import Section
from .markup import Html, fragment
from .parts import figure, items, paragraph, section, subheading, table

MOST = 20
"""Rows of a table on the page; the file holds all."""


def section_part(part: Section) -> Html:
    """The section as HTML: sentences, figures, tables, and last what could not be done."""
    return section(
        part.title,
        items(part.sentences, "said"),
        *(figure(drawn, caption) for caption, drawn in part.figures.items()),
        *(_table(part, name) for name in part.tables),
        items(part.notes, "notes"),
    )


def section_figures(parts: tuple[Section, ...]) -> dict[str, Figure]:
    """The figures of sections by file name: the section's, with a number from the second on."""
    return {
        part.name if number == 1 else f"{part.name}-{number}": drawn
        for part in parts
        for number, drawn in enumerate(part.figures.values(), 1)
    }


def _table(part: Section, name: str) -> Html:
    frame = part.tables[name]
    if frame.empty:
        return fragment()
    heads = {str(column): str(column).replace("_", " ") for column in frame.columns}
    shown = table(f"{part.name}-{name}", frame.head(MOST), heads)
    rest = (
        paragraph(f"The first {MOST} of {len(frame)} rows; all are in tables/{part.name}_{name}.csv.", "soft")
        if len(frame) > MOST
        else None
    )
    return fragment(subheading(name.replace("_", " ")), shown, rest)
