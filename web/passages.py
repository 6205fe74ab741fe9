"""Passages: the texts of a case with what was quoted from them marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from ..evals.pages.markup import Html, element, fragment

_EDGES = " \t\n\"'“”‘’«»….,;:"
_WHOLE = 30_000
"""Up to this length a text is shown whole; of a longer one, its beginning and what surrounds each quote."""
_AROUND = 600
_OPENING = 6_000
_WORDS = 300
"""A longer quote is marked up to here."""


class Citation(NamedTuple):
    """Words that a vote quotes from a text."""

    vote: str
    """The vote's id in the page."""
    text: str


class Span(NamedTuple):
    start: int
    end: int
    vote: str


def mark_quotes(text: str, citations: Sequence[Citation]) -> Html:
    """The text with each quoted passage in a `mark` that names the votes quoting it."""
    spans = [
        Span(*found, citation.vote)
        for citation in citations
        if (found := locate(citation.text, text)) is not None
    ]
    cuts = sorted({0, len(text), *(s.start for s in spans), *(s.end for s in spans)})
    windows = _windows(text, spans)
    parts: list[Html] = []
    shown_to = 0
    for start, end in windows:
        if start > shown_to:
            parts.append(_gap(start - shown_to))
        edges = [start, *(cut for cut in cuts if start < cut < end), end]
        for left, right in pairwise(edges):
            votes = [span.vote for span in spans if span.start <= left and right <= span.end]
            piece = text[left:right]
            parts.append(
                element("mark", {"data-votes": " ".join(dict.fromkeys(votes))}, piece)
                if votes
                else fragment(piece)
            )
        shown_to = end
    if shown_to < len(text):
        parts.append(_gap(len(text) - shown_to))
    return fragment(parts)


def locate(quote: str, text: str) -> tuple[int, int] | None:
    """Where the quote stands in the text: white space and case do not count, nor quotation marks at its ends."""
    words = quote.strip(_EDGES).split()[:_WORDS]
    if not words:
        return None
    found = re.search(r"\s+".join(map(re.escape, words)), text, re.IGNORECASE)
    return found.span() if found else None


def _windows(text: str, spans: Sequence[Span]) -> list[tuple[int, int]]:
    """The stretches of the text to show, in order, none touching the next."""
    if len(text) <= _WHOLE:
        return [(0, len(text))]
    wanted = [(0, _OPENING)]
    wanted += [(max(0, s.start - _AROUND), min(len(text), s.end + _AROUND)) for s in spans]
    merged: list[tuple[int, int]] = []
    for start, end in sorted(wanted):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _gap(length: int) -> Html:
    return element("span", {"class": "gap"}, f" [… {length:,} characters not shown …] ")
