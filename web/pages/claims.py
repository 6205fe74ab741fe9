"""The claims of a case: each with its verdict, who gave it, and the words it rests on; and what was left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...evals.pages.markup import Html, element, fragment, shorten
from ...orchestration.claim_counts import ClaimOutcome, omissions
from ...orchestration.reading.claim_card import claim_verdict_words
from ...orchestration.verdict import Verdict
from ...rubrics.claim import Check
from ...rubrics.ratings import Rating
from ..passages import Citation
from ..scales import score_words
from .frame import badge, heading, quiet

_WORDS = 600
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
        heading(f"Left out: {len(left_out)} of {len(other)} claims of the {other[0].claim.of}")
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
        quiet(shorten(rating.rationale, _WORDS)) if rating.rationale else None,
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
            shorten(claim.text, _WORDS),
            quiet(" central") if claim.central else None,
            element("br"),
            quiet("\u201c", shorten(claim.quote, _WORDS), "\u201d"),
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
        element("q", {"class": None if quote.found else "missing"}, shorten(quote.text, _WORDS))
        for quote in check.evidence
    ]
    missing = " not in the text" if check.misquotes else ""
    return fragment(
        element("b", None, juror),
        f" {found} ",
        quotes,
        missing,
        " ",
        quiet(shorten(check.rationale or check.detail, _WORDS)),
    )
