"""A first page as Markdown, for a comment on a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .section import Section

_SPECIAL = re.compile(r"([\\`*_{}\[\]|])")
ROWS = 40
"""Rows of the table that a comment shows; the report has all."""


def section_markdown(part: Section) -> str:
    """The question as a heading, the answer, the table and what is uncertain; nothing in a cell is read as Markdown, a tag or a mention."""
    lines = [f"### {_escape(part.title)}", "", *(f"- {_escape(sentence)}" for sentence in part.sentences)]
    for frame in part.tables.values():
        cells = frame.fillna("").astype(str)
        used = [str(column) for column in cells if any(cells[column])]
        lines += ["", _row(used), _row(["---"] * len(used))]
        lines += [_row(row) for row in cells[used].head(ROWS).itertuples(index=False)]
        if len(cells) > ROWS:
            lines += ["", f"The report has {len(cells) - ROWS} more rows."]
    lines += ["", *(f"<sub>{_escape(note)}</sub>" for note in part.notes)]
    return "\n".join(lines).rstrip() + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(_escape, cells))} |"


def _escape(text: str) -> str:
    words = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;")  # fmt: skip
    return _SPECIAL.sub(r"\\\1", words)
