"""The parts of a report's page: the document, its sections, tables whose numbers keep their full precision, figures."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ..figures.drawing import Figure
from ..figures.numbers import CHANCES, chance, decimal
from .markup import Child, Html, document, element, fragment, inline_style
from .svg import svg_blocks

POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(title: str, under: str, body: Iterable[Child]) -> str:
    """A whole document, its style inside it, under a policy that lets it load nothing."""
    style = (Path(__file__).parent / "style.css").read_text(encoding="utf-8")
    return document(
        element(
            "head",
            None,
            element("meta", {"charset": "utf-8"}),
            element("meta", {"http-equiv": "Content-Security-Policy", "content": POLICY}),
            element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
            element("title", None, title),
            inline_style(style),
        ),
        element(
            "body", None, element("main", None, element("h1", None, title), paragraph(under, "soft"), body)
        ),
    )


def section(title: str, *parts: Child) -> Html:
    return element("section", None, element("h2", None, title), *parts)


def subheading(words: str) -> Html:
    return element("h3", None, words)


def paragraph(words: str, kind: str | None = None) -> Html:
    return element("p", {"class": kind}, words)


def items(sentences: Iterable[str], kind: str) -> Html:
    """A list of sentences; nothing where there are none."""
    listed = [element("li", None, sentence) for sentence in sentences]
    return element("ul", {"class": kind}, listed) if listed else fragment()


def methods_section(methods: Iterable[str]) -> Html:
    """How the figures were made, a paragraph for each; what two parts of a report share is said once."""
    return section("Methods", *(paragraph(words) for words in dict.fromkeys(methods)))


def collapsible(summary: str, *parts: Child) -> Html:
    """Parts that are unfolded by a click on the summary."""
    return element("details", None, element("summary", None, summary), *parts)


def breakable(words: str) -> Html:
    """A name or note in a narrow cell: the line may break after an underscore or a slash."""
    first, *rest = re.split(r"(?<=[_/])", words)
    return fragment(first, ((element("wbr"), piece) for piece in rest))


def figure(drawn: Figure, caption: str) -> Html:
    """A drawing over its caption, which on a phone scrolls sideways; between the blocks of a tall one a printed page may end."""
    region = {"class": "scroll drawing", "tabindex": "0", "role": "region", "aria-label": caption}
    return element(
        "figure", None, element("div", region, svg_blocks(drawn)), element("figcaption", None, caption)
    )


def number(value: Any, places: int = 3) -> Html:
    """A number as a reader sees it, its exact value beside it in the markup; a dash for what is undefined."""
    if isinstance(value, float) and not math.isfinite(value):
        return fragment(decimal(value))
    return _exact(value, decimal(value, places))


def bounds(value: float, low: float, high: float) -> Html:
    """A value over its interval."""
    if math.isnan(low):
        return number(value, 2)
    between = element("span", {"class": "between"}, "[", number(low, 2), ", ", number(high, 2), "]")
    return fragment(number(value, 2), between)


def table(name: str, frame: pd.DataFrame, heads: Mapping[str, str]) -> Html:
    """The columns named in `heads`, one row a record, in the frame's order; grey where its column `few` says why."""
    rows = [
        element(
            "tr",
            {"class": "few"} if record.get("few") else None,
            [_cell(column, record[column]) for column in heads],
        )
        for record in frame.to_dict("records")
    ]
    return scroll_table(list(heads.values()), rows, {"class": "found", "data-table": name})


def scroll_table(
    heads: Iterable[str], rows: Iterable[Child], attributes: Mapping[str, object] | None = None
) -> Html:
    """A table that scrolls sideways where it is wider than the page."""
    top = element("tr", None, [element("th", {"scope": "col"}, words) for words in heads])
    whole = element("table", attributes, element("thead", None, top), element("tbody", None, rows))
    return element("div", {"class": "scroll"}, whole)


def _cell(column: str, value: Any) -> Html:
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, bool) or not isinstance(plain, int | float):
        return element("td", {"data-column": column}, breakable(str(plain)))
    shown = _exact(plain, chance(plain)) if column in CHANCES and plain == plain else number(plain)
    return element("td", {"class": "number", "data-column": column}, shown)


def _exact(value: Any, words: str) -> Html:
    return element("data", {"value": repr(value)}, words)
