"""The page of a study: which arm to use, the figures, every arm, and the tables behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...evals.pages.markup import Html, element, fragment
from .frame import heading, quiet

ARMS = {
    "arm": "arm",
    "kind": "kind",
    "seats": "seats",
    "protocol": "protocol",
    "count": "count",
    "calibration": "calibration",
    "front": "frontier",
    "selection": "agreement, chosen on",
    "score": "agreement, held out",
    "low": "low",
    "high": "high",
    "cost": "cost",
    "seconds": "seconds",
    "calls": "calls",
}
MOST = 500
"""Rows of a table that are shown; the rest stand in its file."""


def study(document: Mapping[str, Any] | None) -> Html:
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
        [_figure(name, words) for name, words in _named(document.get("figures")).items()],
        heading("Arms", quiet(f"cost is {document.get('unit', 'cost')}, of an arm alone")),
        _table(_rows(document.get("arms")), ARMS),
        _further("Trials", _rows(document.get("trials"))),
        [_further(name, _rows(rows)) for name, rows in _named(document.get("tables")).items()],
        heading("Methods"),
        [element("p", None, said) for said in _list(document.get("methods"))],
        element(
            "ul", {"class": "quiet"}, [element("li", None, said) for said in _list(document.get("notes"))]
        ),
    )


def _figure(name: str, words: str) -> Html:
    image = element("img", {"src": f"./study-figure?name={name}.svg", "alt": words, "loading": "lazy"})
    return element("figure", {"class": "drawn"}, image, element("figcaption", {"class": "quiet"}, words))


def _further(name: str, rows: Sequence[Mapping[str, Any]]) -> Html | None:
    """A table that opens when it is wanted."""
    if not rows:
        return None
    heads = {column: column.replace("_", " ") for column in rows[0]}
    summary = element("summary", None, f"{name.replace('-', ': ')} ", quiet(f"{len(rows)} rows"))
    return element("details", None, summary, _table(rows, heads))


def _table(rows: Sequence[Mapping[str, Any]], heads: Mapping[str, str]) -> Html:
    head = element("tr", None, [element("th", {"scope": "col"}, words) for words in heads.values()])
    body = [
        element("tr", None, [element("td", None, _told(row.get(column))) for column in heads])
        for row in rows[:MOST]
    ]
    left = f"{len(rows) - MOST} rows more are in the report's folder" if len(rows) > MOST else None
    return element(
        "div",
        {"class": "wide"},
        element("table", None, element("thead", None, head), element("tbody", None, body)),
        left and quiet(left),
    )


def _told(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_told(each)}" for name, each in value.items())
    return str(value)


def _named(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _rows(value: object) -> list[dict[str, Any]]:
    return [row for row in _list(value) if isinstance(row, dict)]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
