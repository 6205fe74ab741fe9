"""The case card: both texts of a case, the claims with their verdicts, and what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ...personas.jury import Jury
from ...personas.options import ClaimOptions
from ...rubrics.case import Case
from ...rubrics.claim import Check, ClaimVerdict
from ...rubrics.quotes import Exhibit, find_span
from ...rubrics.ratings import Rating
from ...rubrics.rubric import Rubric
from ..claim_counts import (
    MEASURES,
    SHARE_NAMES,
    ClaimFindings,
    ClaimOutcome,
    ClaimShares,
    jury_findings,
    omissions,
)
from ..verdict import Verdict

Light = Literal["supported", "not_supported", "not_addressed", "undecided", "cited"]
"""How a stretch of a text is lit: by its claim's verdict, or as evidence that was quoted from it."""
_OVER: tuple[Light, ...] = ("not_supported", "undecided", "supported", "not_addressed", "cited")
"""Where two claims share words, which of them shows."""


class LitText(NamedTuple):
    """A stretch of a text, and how it is lit."""

    text: str
    light: Light | None


@dataclass(frozen=True, slots=True)
class ClaimCard:
    """One case under `decompose-verify`, counted under some options."""

    case: str
    arm: str
    question: str
    texts: tuple[Exhibit, ...]
    """The text that was taken apart, then the one it was checked against; empty where the record holds no words."""
    options: ClaimOptions
    findings: ClaimFindings
    claims: tuple[ClaimOutcome, ...]
    """Of the first text."""
    back: tuple[ClaimOutcome, ...]
    """Of the second, where claims were checked both ways."""
    people: tuple[Rating, ...] = ()
    """What people said of the case."""

    @property
    def omitted(self) -> list[ClaimOutcome]:
        """What the second text claims and the first leaves out or contradicts."""
        return omissions(self.back)

    @property
    def decision(self) -> bool | None:
        """Whether the support reaches the threshold; None where there is no support to speak of."""
        support = self.findings.measure("support").value
        return None if support is None else float(support) >= self.options.threshold - 1e-9

    def lit_text(self, exhibit: Exhibit) -> list[LitText]:
        """The text in stretches: where its own claims stand, and what verifiers quoted from it."""
        first = exhibit.name == self.texts[0].name
        own, others = (self.claims, self.back) if first else (self.back, self.claims)
        spans: list[tuple[int, int, Light]] = [
            (o.claim.start, o.claim.end, o.verdict or "undecided")
            for o in own
            if o.claim.start is not None and o.claim.end is not None
        ]
        quotes = dict.fromkeys(
            quote.text
            for o in others
            for check in o.checks.values()
            for quote in check.evidence
            if quote.found
        )
        for quote in quotes:
            if span := find_span(quote, exhibit.text):
                spans.append((*span, "cited"))
        return lit_stretches(exhibit.text, spans)


def claim_card(
    verdict: Verdict,
    jury: Jury,
    rubric: Rubric,
    case: Case | None,
    *,
    options: ClaimOptions | None = None,
    people: Iterable[Rating] = (),
) -> ClaimCard:
    """The card of a verdict under the jury's options for claims, or under others: recounting asks nobody."""
    counted = options or jury.claims
    exhibits = rubric.exhibits(case) if case is not None else ()
    return ClaimCard(
        case=verdict.case,
        arm=verdict.arm,
        question=(case.question or "") if case else "",
        texts=tuple(_joined_text(exhibits, name) for name in (counted.of, counted.against)) if case else (),
        options=counted,
        findings=jury_findings(verdict.transcript, counted, jury.quorum),
        claims=tuple(o for o in verdict.claims if o.claim.of == counted.of),
        back=tuple(o for o in verdict.claims if o.claim.of == counted.against),
        people=tuple(rating for rating in people if rating.case == verdict.case),
    )


def lit_stretches(text: str, spans: Sequence[tuple[int, int, Light]]) -> list[LitText]:
    """The whole text cut where the light changes."""
    lights: list[Light | None] = [None] * len(text)
    for light in reversed(_OVER):
        for start, end, mine in spans:
            if mine == light:
                lights[start:end] = [light] * (min(end, len(text)) - start)
    found: list[LitText] = []
    start = 0
    for at in range(1, len(text) + 1):
        if at == len(text) or lights[at] != lights[start]:
            found.append(LitText(text[start:at], lights[start]))
            start = at
    return found


def card_json(card: ClaimCard) -> dict[str, Any]:
    """The card as `claims --json` prints it."""
    measures = {name: card.findings.measure(name) for name in MEASURES}
    return {
        "case": card.case,
        "arm": card.arm,
        "share": card.options.share,
        "threshold": card.options.threshold,
        "shares": shares_json(card.findings.of),
        "shares_back": None if card.findings.against is None else shares_json(card.findings.against),
        "measures": {
            name: None if isinstance(found.value, str) else found.value for name, found in measures.items()
        },
        "why": {name: found.why for name, found in measures.items() if found.value is None},
        "concordant": card.decision,
        "claims": [outcome_json(outcome) for outcome in (*card.claims, *card.back)],
        "omissions": [outcome.claim.id for outcome in card.omitted],
        "people": [{"rater": r.rater, "attribute": r.attribute, "value": r.value} for r in card.people],
    }


def shares_json(shares: ClaimShares) -> dict[str, Any]:
    """Weights and shares; a share without a claim in it is null."""
    return {
        "claims": shares.claims,
        "undecided": shares.undecided,
        "supported": shares.supported,
        "not_supported": shares.not_supported,
        "not_addressed": shares.not_addressed,
        **{name: shares.share(name) for name in SHARE_NAMES},
    }


def outcome_json(outcome: ClaimOutcome) -> dict[str, Any]:
    """A claim, the verdict on it, and each verifier's check."""
    return {
        **outcome.claim.model_dump(),
        "verdict": outcome.verdict,
        "why": outcome.why,
        "dissent": list(outcome.dissent),
        "checks": {juror: _check_json(check) for juror, check in outcome.checks.items()},
    }


def claim_verdict_words(verdict: ClaimVerdict | None) -> str:
    """A verdict as it is shown."""
    return "no verdict" if verdict is None else verdict.replace("_", " ")


def _check_json(check: Check) -> dict[str, Any]:
    return {
        "verdict": check.verdict,
        "evidence": [{**quote.model_dump(), "found": quote.found} for quote in check.evidence],
        "reason": check.rationale,
        "abstained": check.abstained,
        "detail": check.detail,
    }


def _joined_text(exhibits: Sequence[Exhibit], name: str) -> Exhibit:
    """The text as claims have their places in it: several notes of a source after each other."""
    found = [e.text for e in exhibits if e.name == name or e.name.startswith(f"{name} ")]
    return Exhibit(name=name, text="\n\n".join(found))
