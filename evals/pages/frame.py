"""The parts that pages are made of: the document, tables whose numbers keep their full precision, notes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from ..figures.drawing import apart, decimal

CHANCES = ("p", "p_holm")
"""The columns that hold p-values."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(title: str, under: str, body: Iterable[str]) -> str:
    """A document that loads nothing."""
    style = (Path(__file__).parent / "style.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head><body><main>"
        f'<h1>{escape(title)}</h1><p class="soft">{escape(under)}</p>{"".join(body)}</main></body></html>\n'
    )


def section(title: str, *parts: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{''.join(parts)}</section>"


def paragraph(words: str, kind: str = "") -> str:
    return f'<p class="{kind}">{escape(words)}</p>' if kind else f"<p>{escape(words)}</p>"


def named(words: str) -> str:
    """A name or a note in a cell; a long name may go on below, after a mark that joins words."""
    return escape(words).replace("_", "_<wbr>").replace("/", "/<wbr>")


def items(sentences: Iterable[str], kind: str) -> str:
    listed = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f'<ul class="{kind}">{listed}</ul>' if listed else ""


def figure(drawn: str, caption: str) -> str:
    """A drawing over its caption; between the blocks of a tall one a printed page may end."""
    return f"<figure>{''.join(apart(drawn))}<figcaption>{escape(caption)}</figcaption></figure>"


def number(value: Any, places: int = 3) -> str:
    """A number as a reader sees it, its exact value beside it in the markup; a dash for what is undefined."""
    if isinstance(value, float) and not math.isfinite(value):
        return decimal(value)
    return f'<data value="{value!r}">{decimal(value, places)}</data>'


def bounds(value: float, low: float, high: float) -> str:
    """A value over its interval."""
    between = "" if math.isnan(low) else f'<span class="between">[{number(low, 2)}, {number(high, 2)}]</span>'
    return number(value, 2) + between


def table(name: str, frame: pd.DataFrame, heads: Mapping[str, str]) -> str:
    """The columns named in `heads`, one row a record, in the frame's order."""
    top = "".join(f'<th scope="col">{escape(words)}</th>' for words in heads.values())
    rows = []
    for record in frame.to_dict("records"):
        cells = "".join(_cell(column, record[column]) for column in heads)
        rows.append(f"<tr>{cells}</tr>")
    return (
        f'<div class="scroll"><table class="found" data-table="{escape(name)}"><thead><tr>{top}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _cell(column: str, value: Any) -> str:
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, bool) or not isinstance(plain, int | float):
        return f'<td data-column="{escape(column)}">{named(str(plain))}</td>'
    shown = (
        f'<data value="{plain!r}">&lt;0.001</data>' if column in CHANCES and plain < 0.001 else number(plain)
    )
    return f'<td class="number" data-column="{escape(column)}">{shown}</td>'
