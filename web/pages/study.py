"""The page of a study: which arm to use, the figures, every arm, and the tables behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...evals.pages.markup import Html, element, fragment
from ...evals.pages.study_tables import StudyTable, table_description, trial_rows, used_heads
from .frame import heading, quiet

MOST = 500
"""Rows of a table that are shown; the rest stand in its file."""


def study_view(document: Mapping[str, Any] | None) -> Html:
    """The page's content; how to have a report, where none was made."""
    if document is None:
        told = "No report was made yet: venire study report RUN makes one, and it is shown here."
        return fragment(heading("Study", level=1), element("p", None, told))
    return fragment(
        heading(document.get("study", "Study"), level=1),
        element("p", {"class": "quiet"}, document.get("description")),
        element(
            "ul", {"class": "advice"}, [element("li", None, said) for said in _list(document.get("advice"))]
        ),
        [_figure(name, words) for name, words in _by_name(document.get("figures")).items()],
        heading("Arms", quiet(f"cost is {document.get('unit', 'cost')}")),
        table_view("arms", _rows(document.get("arms"))),
        _foldable("trials", trial_rows(_rows(document.get("trials")))),
        [_foldable(name, _rows(rows)) for name, rows in _by_name(document.get("tables")).items()],
        [section_view(name, part) for name, part in _by_name(document.get("sections")).items()],
        heading("Methods"),
        [element("p", None, said) for said in dict.fromkeys(map(str, _list(document.get("methods"))))],
        element(
            "ul", {"class": "quiet"}, [element("li", None, said) for said in _list(document.get("notes"))]
        ),
    )


def section_view(name: str, part: object) -> Html:
    """A section of a report, as its JSON has it: what it says, then its tables, folded, and what could not be told."""
    given = _by_name(part)
    return element(
        "section",
        {"class": "audit"},
        heading(given.get("title", name)),
        element("ul", {"class": "advice"}, [element("li", None, said) for said in _list(given.get("sentences"))]),
        [_foldable(f"{name}_{table}", _rows(rows)) for table, rows in _by_name(given.get("tables")).items()],
        element("ul", {"class": "quiet"}, [element("li", None, said) for said in _list(given.get("notes"))]),
    )  # fmt: skip


def _figure(name: str, words: str) -> Html:
    image = element("img", {"src": f"./study-figure?name={name}.svg", "alt": words, "loading": "lazy"})
    return element("figure", {"class": "drawn"}, image, element("figcaption", {"class": "quiet"}, words))


def _foldable(name: str, rows: Sequence[Mapping[str, Any]]) -> Html | None:
    """A table that opens when it is wanted; nothing where it has no row."""
    if not rows:
        return None
    summary = element("summary", None, f"{_description(name, rows).title} ", quiet(f"{len(rows)} rows"))
    return element("details", None, summary, table_view(name, rows))


def table_view(name: str, rows: Sequence[Mapping[str, Any]]) -> Html:
    """A table of a report under its caption."""
    description = _description(name, rows)
    heads = used_heads(description, rows)
    head = element("tr", None, [element("th", {"scope": "col"}, words) for words in heads.values()])
    body = [
        element("tr", None, [element("td", None, _cell(row.get(column))) for column in heads])
        for row in rows[:MOST]
    ]
    left = f"{len(rows) - MOST} rows more are in the report's folder" if len(rows) > MOST else None
    return element(
        "div",
        {"class": "wide"},
        description.caption and element("p", {"class": "quiet"}, description.caption),
        element("table", None, element("thead", None, head), element("tbody", None, body)),
        left and quiet(left),
    )


def _description(name: str, rows: Sequence[Mapping[str, Any]]) -> StudyTable:
    """What the report's page calls the table; of one that is not known, the names that its rows use."""
    columns = rows[0] if rows else {}
    unknown = StudyTable(name.replace("_", " "), "", {column: column.replace("_", " ") for column in columns})
    return table_description(name) or unknown


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_cell(each)}" for name, each in value.items())
    return str(value)


def _by_name(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _rows(value: object) -> list[dict[str, Any]]:
    return [row for row in _list(value) if isinstance(row, dict)]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
