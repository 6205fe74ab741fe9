"""A figure as SVG: whole, for a file; or block by block, for a page that may be printed."""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..statistics.estimate import Estimate
from .drawing import CHANCES, INK, Figure, Picture, Shape, chance, decimal
from .markup import Child, Html, document, element, fragment, inline_style
from .section import Section, TableText, records

if TYPE_CHECKING:
    import pandas as pd

FONTS = "system-ui, Segoe UI, Noto Sans, DejaVu Sans, Liberation Sans, Arial, sans-serif"
"""Named ones too, for programs that do not know which font is meant by sans-serif."""


def svg(figure: Figure, attributes: Mapping[str, object] | None = None) -> Html:
    """The figure as one SVG; `attributes` are added to its outermost element."""
    if len(figure.blocks) == 1:
        return _svg(figure, figure.blocks[0].height, figure.blocks[0], attributes or {})
    parts, top = list[Html](), 0
    for block in figure.blocks:
        parts.append(_svg(figure, block.height, block, {"y": top}))
        top += round(block.height)
    return _svg(figure, top, parts, attributes or {})


def svg_blocks(figure: Figure) -> list[Html]:
    """The figure as an SVG for each block, all as wide as the widest: between them a printed page may end."""
    return [_svg(figure, block.height, block, {}) for block in figure.blocks]


def _svg(figure: Figure, height: float, content: Picture | list[Html], extra: Mapping[str, object]) -> Html:
    size = f"{figure.width:.0f}", f"{height:.0f}"
    return element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {size[0]} {size[1]}",
            "width": size[0],
            "height": size[1],
            "role": "img",
            "aria-label": figure.description or None,
            "font-family": FONTS,
            "font-size": 12,
            "fill": INK,
            **extra,
        },
        element("title", None, figure.title) if figure.title else None,
        [_shape(shape) for shape in content.shapes] if isinstance(content, Picture) else content,
    )


def _shape(shape: Shape) -> Html:
    return element(
        shape.tag,
        shape.attributes,
        [_shape(child) if isinstance(child, Shape) else child for child in shape.children],
    )


POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(title: str, under: str, body: Iterable[Child]) -> str:
    """A whole document, its contents at the side, its style inside it, under a policy that lets it load nothing."""
    style = (Path(__file__).parent / "style.css").read_text(encoding="utf-8")
    content = fragment(body)
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
            "body",
            None,
            _contents(content),
            element("main", {"id": "top"}, element("h1", None, title), paragraph(under, "soft"), content),
        ),
    )


_HEADING = re.compile(
    r'<details class="chapter"><summary>(.*?)</summary>|<section id="([^"]+)"><h2>(.*?)</h2>'
)


def _contents(content: Html) -> Html | None:
    """The chapters and sections that a page's markup has, as links; a link into a folded chapter unfolds it."""
    entries: list[Html] = []
    for chapter_title, ident, title in _HEADING.findall(content):
        link = element("a", {"href": f"#{ident}"}, Html(title))
        entries.append(element("li", {"class": "part"}, Html(chapter_title)) if chapter_title else element("li", None, link))  # fmt: skip
    if len(entries) < 3:
        return None
    top = element("li", None, element("a", {"href": "#top"}, "First page"))
    return element("nav", {"class": "contents", "aria-label": "Contents"}, element("ul", None, top, entries))


def section(title: str, *parts: Child) -> Html:
    """A part of a page under its heading, which the contents lead to."""
    ident = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return element("section", {"id": ident}, element("h2", None, title), *parts)


def chapter(title: str, *parts: Child) -> Html:
    """Several sections, folded; the browser's search and the contents unfold it."""
    return element("details", {"class": "chapter"}, element("summary", None, title), *parts)


def appendix(chapters: Mapping[str, Sequence[Child]]) -> Html:
    """What follows the first page: by title, the sections of each chapter; nothing of a chapter that has none."""
    return fragment(
        element("p", {"class": "appendix"}, "Appendix: the details behind the first page"),
        (chapter(title, *parts) for title, parts in chapters.items() if parts),
    )


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
    head, *pieces = re.split(r"(?<=[_/])", words)
    return fragment(head, ((element("wbr"), piece) for piece in pieces))


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
    full_table = element("table", attributes, element("thead", None, top), element("tbody", None, rows))
    label = (attributes or {}).get("data-table", "table")
    return element(
        "div", {"class": "scroll", "tabindex": "0", "role": "group", "aria-label": label}, full_table
    )


def _cell(column: str, value: Any) -> Html:
    if isinstance(value, Estimate):
        kind = "number few" if value.few else "number"
        return element(
            "td", {"class": kind, "data-column": column}, bounds(value.value, value.low, value.high)
        )
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, bool) or not isinstance(plain, int | float):
        return element("td", {"data-column": column}, breakable(str(plain)))
    content = _exact(plain, chance(plain)) if column in CHANCES and plain == plain else number(plain)
    return element("td", {"class": "number", "data-column": column}, content)


def _exact(value: Any, words: str) -> Html:
    return element("data", {"value": repr(value)}, words)


MOST = 20
"""Rows of a table on the page; the file holds all."""


def report_page(
    title: str,
    under: str,
    first: Iterable[Child],
    chapters: Mapping[str, Container[str]],
    parts: Iterable[Section],
    methods: Iterable[str],
    notes: Iterable[str],
) -> str:
    """A whole report: its first page, then its sections in folded chapters, the last on how the figures were made and what was left out.

    `chapters` has the names of sections by title; a section that none names stands in the last of them.
    """
    sections: dict[str, list[Html]] = {name: [] for name in chapters}
    *_, further = chapters
    for part in parts:
        home = next((name for name, members in chapters.items() if part.name in members), further)
        sections[home].append(section_part(part))
    return page(
        title,
        under,
        [
            *first,
            appendix(
                {
                    **sections,
                    "Methods and notes": [methods_section(methods), _notes_section(notes)],
                }
            ),
        ],
    )


def _notes_section(notes: Iterable[str]) -> Html:
    """What was left out, and why."""
    return section("Notes", items(notes, "notes") or paragraph("None."))


def section_part(part: Section) -> Html:
    """The section as HTML: sentences, figures, tables, and last what could not be done."""
    return section(
        part.title,
        items(part.sentences, "said"),
        paragraph(part.lead, "soft") if part.lead else None,
        *(figure(drawing, caption) for caption, drawing in part.figures.items()),
        *(
            _described_table(name, part.tables[name], part.texts[name])
            if name in part.texts
            else _table(part, name)
            for name in part.tables
        ),
        items(part.notes, "notes"),
    )


def section_figures(parts: tuple[Section, ...]) -> dict[str, Figure]:
    """The figures of sections by file name: the section's, with a number from the second on."""
    return {
        part.name if number == 1 else f"{part.name}-{number}": drawing
        for part in parts
        for number, drawing in enumerate(part.figures.values(), 1)
    }


def _table(part: Section, name: str) -> Html:
    frame = part.tables[name]
    if frame.empty:
        return fragment()
    heads = {str(column): str(column).replace("_", " ") for column in frame.columns}
    html_table = table(f"{part.name}-{name}", frame.head(MOST), heads)
    remark = (
        paragraph(
            f"The table shows the first {MOST} of {len(frame)} rows; all rows are in tables/{part.name}_{name}.csv.",
            "soft",
        )
        if len(frame) > MOST
        else None
    )
    return fragment(subheading(name.replace("_", " ")), html_table, remark)


def _described_table(name: str, frame: pd.DataFrame, text: TableText) -> Html:
    """A table under its own title, caption and heads, folded where it is long; yes or nothing stands for a truth value."""
    rows = frame.reindex(columns=list(text.heads))
    for column in rows.select_dtypes(bool):
        rows[column] = rows[column].map({True: "yes", False: ""})
    html_table = table(name, rows, text.used_heads(records(rows)))
    return fragment(
        subheading(text.title) if text.title else None,
        paragraph(text.caption, "soft") if text.caption else None,
        collapsible(f"All {len(frame)} rows", html_table) if len(frame) > MOST else html_table,
        items(text.notes, "notes"),
    )
