"""The case's texts side by side: what is judged, and what it is judged by, with every quote marked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ...evals.report.markup import Html, element, fragment, shorten
from ...orchestration.counting.claims import ClaimOutcome, omissions
from ...orchestration.reading.claim_card import claim_verdict_words
from ...orchestration.verdict import Verdict
from ...rubrics.case import Case
from ...rubrics.claim import Check
from ...rubrics.conversation import turn_spans, without_indent
from ...rubrics.ratings import Rating
from ...rubrics.rubric import Rubric
from ..lanes import vote_id
from ..scales import score_words
from .frame import badge, heading, quiet

_EDGES = " \t\n\"'“”‘’«»….,;:"
_WHOLE = 30_000
"""Up to this length a text is shown whole; of a longer one, its beginning and what surrounds each quote."""
_AROUND = 600
_OPENING = 6_000
_QUOTE_WORDS = 300
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
    spans = _spans(text, citations)
    return _mark_spans(text, spans, _windows(text, spans), 0, len(text))


def mark_turns(text: str, citations: Sequence[Citation]) -> Html:
    """A conversation's text turn by turn, each under who speaks, marked as `mark_quotes` does."""
    spans = _spans(text, citations)
    windows = _windows(text, spans)
    return element(
        "ol",
        {"class": "turns"},
        [
            element(
                "li",
                None,
                element("h4", None, turn.heading),
                _mark_spans(text, spans, windows, turn.start, turn.end, without_indent),
            )
            for turn in turn_spans(text)
        ],
    )


def _spans(text: str, citations: Sequence[Citation]) -> list[Span]:
    found = ((locate(citation.text, text), citation.vote) for citation in citations)
    return [Span(*place, vote) for place, vote in found if place is not None]


def _mark_spans(
    text: str,
    spans: Sequence[Span],
    windows: Sequence[tuple[int, int]],
    first: int,
    last: int,
    wording: Callable[[str], str] = str,
) -> Html:
    """What the windows show of a text between two places, each piece as `wording` has it."""
    cuts = sorted({edge for span in spans for edge in (span.start, span.end)})
    parts: list[Html] = []
    shown_to = first
    for start, end in ((max(first, start), min(last, end)) for start, end in windows):
        if start >= end:
            continue
        if start > shown_to:
            parts.append(_gap(start - shown_to))
        edges = [start, *(cut for cut in cuts if start < cut < end), end]
        for left, right in pairwise(edges):
            votes = [span.vote for span in spans if span.start <= left and right <= span.end]
            piece = wording(text[left:right])
            parts.append(
                element("mark", {"data-votes": " ".join(dict.fromkeys(votes))}, piece)
                if votes
                else fragment(piece)
            )
        shown_to = end
    if shown_to < last:
        parts.append(_gap(last - shown_to))
    return fragment(parts)


def locate(quote: str, text: str) -> tuple[int, int] | None:
    """Where the quote stands in the text: white space and case do not count, nor quotation marks at its ends."""
    words = quote.strip(_EDGES).split()[:_QUOTE_WORDS]
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


_CLAIM_CHARACTERS = 600
_WEIGHTS = {"supported": 1, "not_addressed": 2, "not_supported": 3}
"""A verdict's badge, as weighty as a flag."""


def claims_section(verdict: Verdict, prefix: str = "", people: Sequence[Rating] = ()) -> Html | None:
    """Every claim that was checked, those of the other text apart, and what people said of the case; None where the
    protocol checked none."""
    if not verdict.claims:
        return None
    of = verdict.claims[0].claim.of
    own = [each for each in verdict.claims if each.claim.of == of]
    other = [each for each in verdict.claims if each.claim.of != of]
    left_out = omissions(other)
    return element(
        "section",
        {"class": "claims", "aria-label": "Claims"},
        heading(f"Claims of the {of}"),
        _table(own, prefix),
        heading(
            f"Left out or contradicted: {len(left_out)} of {len(other)} claims of the {other[0].claim.of}"
        )
        if other
        else None,
        _table(left_out, prefix) if left_out else None,
        heading("What people said") if people else None,
        element("ul", {"class": "people"}, [_rating(each) for each in people]) if people else None,
    )


def _rating(rating: Rating) -> Html:
    return element(
        "li",
        {"dir": "auto"},
        element("b", None, shorten(rating.rater, 60)),
        f" {shorten(rating.attribute, 60)} {score_words(rating.value)} ",
        quiet(shorten(rating.rationale, _CLAIM_CHARACTERS)) if rating.rationale else None,
    )


def claim_citations(verdict: Verdict, prefix: str = "") -> Iterator[tuple[str, Citation]]:
    """The words that each claim was taken from and those that verifiers quoted, with the text they stand in."""
    for outcome in verdict.claims:
        place = claim_place(outcome, prefix)
        if outcome.claim.start is not None:
            yield outcome.claim.of, Citation(place, outcome.claim.quote)
        for check in outcome.checks.values():
            for quote in check.evidence:
                if quote.exhibit is not None:
                    yield quote.exhibit, Citation(place, quote.text)


def claim_place(outcome: ClaimOutcome, prefix: str) -> str:
    """The id of a claim's row in the page."""
    safe = "".join(c if c.isalnum() or c == "-" else f"_{ord(c):x}_" for c in outcome.claim.id)
    return f"{prefix}claim-{safe}"


def _table(outcomes: Sequence[ClaimOutcome], prefix: str) -> Html:
    columns = ("", "claim", "verdict", "verifiers")
    return element(
        "table",
        None,
        element(
            "thead", None, element("tr", None, [element("th", {"scope": "col"}, name) for name in columns])
        ),
        element("tbody", None, [_row(outcome, prefix) for outcome in outcomes]),
    )


def _row(outcome: ClaimOutcome, prefix: str) -> Html:
    claim = outcome.claim
    words = claim_verdict_words(outcome.verdict)
    return element(
        "tr",
        {"id": claim_place(outcome, prefix)},
        element("td", None, quiet(claim.id)),
        element(
            "td",
            {"dir": "auto"},
            shorten(claim.text, _CLAIM_CHARACTERS),
            quiet(" central") if claim.central else None,
            element("br"),
            quiet("\u201c", shorten(claim.quote, _CLAIM_CHARACTERS), "\u201d"),
        ),
        element(
            "td",
            None,
            badge(words, _WEIGHTS.get(outcome.verdict or "", 4)),
            quiet(" ", outcome.why) if outcome.why else None,
        ),
        element(
            "td",
            None,
            element(
                "ul",
                None,
                [element("li", {"dir": "auto"}, _check(name, c)) for name, c in outcome.checks.items()],
            ),
        ),
    )


def _check(juror: str, check: Check) -> Html:
    found = claim_verdict_words(check.verdict) if check.verdict else f"abstains ({check.abstained})"
    quotes = [
        element("q", {"class": None if quote.found else "missing"}, shorten(quote.text, _CLAIM_CHARACTERS))
        for quote in check.evidence
    ]
    missing = " not in the text" if check.misquotes else ""
    return fragment(
        element("b", None, juror),
        f" {found} ",
        quotes,
        missing,
        " ",
        quiet(shorten(check.rationale or check.detail, _CLAIM_CHARACTERS)),
    )


_NAMES = {
    "output": "Under judgement",
    "output A": "Output A",
    "output B": "Output B",
    "question": "Question",
    "audience": "Audience",
    "reference": "Reference",
    "conversation": "Conversation before it",
}


def texts(
    case: Case | None, sides: Sequence[tuple[Verdict, Rubric]], prefixes: Sequence[str] = ("",)
) -> Html:
    """Every text that the jurors could read, marked with what any of the deliberations quotes."""
    if case is None:
        return element("p", {"class": "quiet"}, "The record does not have this case's texts.")
    cited: dict[str, list[Citation]] = {}
    for (verdict, _), prefix in zip(sides, prefixes, strict=True):
        for entry in verdict.transcript.ballots:
            for vote in entry.ballot.votes:
                for quote in vote.evidence:
                    if quote.exhibit is not None:
                        citation = Citation(vote_id(entry.id, vote.attribute, prefix), quote.text)
                        cited.setdefault(quote.exhibit, []).append(citation)
        for exhibit_name, citation in claim_citations(verdict, prefix):
            cited.setdefault(exhibit_name, []).append(citation)
    return marked_texts(case, sides[0][1], cited)


def marked_texts(case: Case, rubric: Rubric, cited: Mapping[str, list[Citation]]) -> Html:
    """Every text that the jurors could read, with the quotes in `cited`, by exhibit, marked."""
    conversation = "output" if case.is_conversation else "conversation"
    panes = {
        exhibit.name: element(
            "section",
            {"class": "text", "aria-label": _NAMES.get(exhibit.name, exhibit.name)},
            element("h2", None, _NAMES.get(exhibit.name, exhibit.name)),
            element(
                "div",
                {"class": "words", "dir": "auto"},
                (mark_turns if case.messages and exhibit.name == conversation else mark_quotes)(
                    exhibit.text, cited.get(exhibit.name, [])
                ),
            ),
        )
        for exhibit in rubric.exhibits(case)
    }
    judged = [panes.pop(name) for name in ("output", "output A", "output B") if name in panes]
    names = ["Text under judgement"] if len(judged) == 1 else ["Text of output A", "Text of output B"]
    return element(
        "div",
        {"class": "texts"},
        [
            element("div", {"class": "pane", "tabindex": "0", "role": "region", "aria-label": name}, text)
            for name, text in zip(names, judged, strict=True)
        ],
        element("div", {"class": "pane", "tabindex": "0", "role": "region", "aria-label": "Sources"}, list(panes.values()))
        if panes
        else None,
    )  # fmt: skip
