"""HTML and SVG elements, escaped: the one way from words to markup, for reports and for the inspector."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

_STEERING = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
)
_UNSEEN = re.compile(f"[{_STEERING}]")
_ESCAPED = re.compile(f"[&<>\"'{_STEERING}]")
_TAG = re.compile(r"[a-zA-Z][a-zA-Z0-9]*")
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9:-]*")
_VOID = frozenset({"br", "hr", "img", "input", "link", "meta", "wbr"})
_ADDRESSES = frozenset({"href", "src", "action", "formaction", "data", "xlink:href"})

PAGE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""What a page of ours is sent with: no script, style or address but its own, in no frame, kept nowhere."""


class Html(str):
    """Markup that this module made; any other string is escaped where it is put into an element."""

    __slots__ = ()


Child = object
"""What may stand inside an element: `Html` as it is, None not at all, many one after the other, the rest as words."""


def element(tag: str, attributes: Mapping[str, object] | None = None, *children: Child) -> Html:
    """One element. Event handlers and styles cannot be attributes, nor addresses that leave the page's own folder."""
    if not _is_tag(tag) or (tag == "script" and children):
        raise ValueError(f"not an element of a page: {tag!r}")
    pairs = "".join([_attribute(name, value) for name, value in attributes.items()]) if attributes else ""
    if tag in _VOID:
        return Html(f"<{tag}{pairs}>")
    return Html(f"<{tag}{pairs}>{fragment(*children)}</{tag}>")


def fragment(*children: Child) -> Html:
    """The children one after the other, words escaped."""
    return Html("".join([_markup(child) for child in children]))


def visible(text: str) -> str:
    """Replaces control and bidi characters by one that shows."""
    return _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", text)


def shorten(text: str, most: int) -> str:
    """Cuts a text to `most` characters and says how many were left out."""
    return text if len(text) <= most else f"{text[:most]} [… {len(text) - most:,} more characters]"


def document(*children: Child, theme: str | None = None) -> str:
    """A whole page; `theme` for a style sheet that has several."""
    page = element("html", {"lang": "en", "data-theme": theme}, *children)
    return f"<!doctype html>\n{page}\n"


def inline_style(css: str) -> Html:
    """A style sheet of our own inside a page that must stand alone."""
    if "</" in css:
        raise ValueError("a style sheet may not close its own element")
    return Html(f"<style>{css}</style>")


def inline_script(code: str) -> Html:
    """A script of our own inside a page that must stand alone."""
    if "</" in code or "<!--" in code:
        raise ValueError("a script may not close its own element")
    return Html(f"<script>{code}</script>")


def _markup(child: Child) -> str:
    if isinstance(child, str):
        return child if isinstance(child, Html) else _escape(child)
    if child is None or child is False:
        return ""
    if isinstance(child, Iterable) and not isinstance(child, bytes):
        return "".join([_markup(part) for part in child])
    return _escape(str(child))


def _escape(text: str) -> str:
    """The text without markup of its own; most have nothing to escape, and are only looked through."""
    return html.escape(visible(text)) if _ESCAPED.search(text) else text


def _attribute(name: str, value: object) -> str:
    if value is None or value is False:
        return ""
    if not _is_attribute(name):
        raise ValueError(f"not an attribute of a page: {name!r}")
    if value is True:
        return f" {name}"
    text = str(value)
    if name.lower() in _ADDRESSES and not visible(text).startswith(("./", "#", "?")):
        raise ValueError(f"an address that leaves the page: {text!r}")
    return f' {name}="{_escape(text)}"'


@lru_cache(maxsize=1024)
def _is_tag(name: str) -> bool:
    return bool(_TAG.fullmatch(name))


@lru_cache(maxsize=1024)
def _is_attribute(name: str) -> bool:
    """Whether an element may have it: neither event handlers nor styles."""
    lower = name.lower()
    return bool(_NAME.fullmatch(name)) and not lower.startswith("on") and lower not in ("style", "srcdoc")
