"""The case card: both texts of a case, the claims with their verdicts and what was left out; as JSON and in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from ...personas.jury import Jury
from ...personas.options import ClaimOptions
from ...rubrics.ballot import find_span
from ...rubrics.case import Case, Exhibit
from ...rubrics.claim import ClaimVerdict
from ...rubrics.errors import safe
from ...rubrics.ratings import Rating
from ...rubrics.rubric import Rubric
from ..counting.claims import (
    MEASURES,
    SHARE_NAMES,
    ClaimFindings,
    ClaimOutcome,
    ClaimShares,
    jury_findings,
    omissions,
)
from ..verdict import Verdict
from .export import claim_json

Light = Literal["supported", "not_supported", "not_addressed", "undecided", "cited"]
"""How a stretch of a text is lit: by its claim's verdict, or as evidence that was quoted from it."""
_OVER: tuple[Light, ...] = ("not_supported", "undecided", "supported", "not_addressed", "cited")
"""Where two claims share words, which of them shows."""
STYLES: dict[Light, str] = {
    "supported": "green",
    "not_supported": "bold red",
    "not_addressed": "yellow",
    "undecided": "magenta",
    "cited": "underline",
}


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
        "claims": [claim_json(outcome) for outcome in (*card.claims, *card.back)],
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


def claim_verdict_words(verdict: ClaimVerdict | None) -> str:
    """A verdict as it is shown."""
    return "no verdict" if verdict is None else verdict.replace("_", " ")


def _joined_text(exhibits: Sequence[Exhibit], name: str) -> Exhibit:
    """The text as claims have their places in it: several notes of a source after each other."""
    found = [e.text for e in exhibits if e.name == name or e.name.startswith(f"{name} ")]
    return Exhibit(name=name, text="\n\n".join(found))


def show_card(card: ClaimCard, console: Console) -> None:
    """Print the card: question, both texts side by side, claims, omissions, shares, and what people said."""
    for part in _parts(card):
        console.print(part)


def _parts(card: ClaimCard) -> Iterator[RenderableType]:
    if card.question:
        yield Text.assemble(("question  ", "dim"), safe(card.question))
    if card.texts:
        yield _texts(card)
    yield _claims_table(card.claims, f"claims of the {card.options.of}")
    if card.omitted:
        yield Text(
            f"\nomissions (claims of the {card.options.against} that the {card.options.of} leaves out or contradicts)",
            "bold",
        )
        for outcome in card.omitted:
            claim = outcome.claim
            yield Text.assemble(
                (f"  {claim.id} ", "dim"), safe(claim.text), (f"  \u201c{safe(claim.quote)}\u201d", "italic dim"),
                (f"  {claim_verdict_words(outcome.verdict)}", "yellow"),
            )  # fmt: skip
    elif card.back:
        yield Text(f"\nno claim of the {card.options.against} is left out of the {card.options.of}", "green")
    yield from _shares(card)
    yield from people_lines(card.people)


def people_lines(ratings: Iterable[Rating]) -> Iterator[Text]:
    """What people said of a case, one line a rating, with the reason where one was given."""
    for rating in ratings:
        if rating.value is not None:
            value = safe(rating.value) if isinstance(rating.value, str) else f"{rating.value:g}"
            said = f"{safe(rating.rater)} says {safe(rating.attribute)} {value}"
            yield Text.assemble(
                (said, "cyan"), (f"  {safe(rating.rationale)}" if rating.rationale else "", "dim")
            )


def _texts(card: ClaimCard) -> Table:
    table = Table(box=None, padding=(0, 2, 1, 0), header_style="dim", expand=True)
    for exhibit in card.texts:
        table.add_column(exhibit.name, ratio=1, overflow="fold")
    table.add_row(*(_lit(card, exhibit) for exhibit in card.texts))
    return table


def _lit(card: ClaimCard, exhibit: Exhibit) -> Text:
    text = Text()
    for stretch in card.lit_text(exhibit):
        text.append(safe(stretch.text), STYLES[stretch.light] if stretch.light else "")
    return text


def _claims_table(outcomes: tuple[ClaimOutcome, ...], title: str) -> RenderableType:
    if not outcomes:
        return Text(f"no {title}", "yellow")
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", title=title, title_justify="left")
    for column in ("id", "claim", "verdict", "by", "evidence"):
        table.add_column(column, overflow="fold")
    for outcome in outcomes:
        light: Light = outcome.verdict or "undecided"
        votes = ", ".join(
            f"{juror} {claim_verdict_words(check.verdict) if check.verdict else f'abstains ({check.abstained})'}"
            for juror, check in outcome.checks.items()
        )
        quotes = Text()
        for quote in dict.fromkeys(q for check in outcome.checks.values() for q in check.evidence):
            quotes.append(f"\u201c{safe(quote.text)}\u201d ", "" if quote.found else "red")
            quotes.append("" if quote.found else "[not in the text] ", "red")
        mark = " (central)" if outcome.claim.central else ""
        table.add_row(
            outcome.claim.id, safe(outcome.claim.text) + mark,
            Text(claim_verdict_words(outcome.verdict), STYLES[light]), votes, quotes,
        )  # fmt: skip
    return table


def _shares(card: ClaimCard) -> Iterator[Text]:
    found, used = card.findings, card.options.share
    yield Text("")
    for name in SHARE_NAMES:
        value = found.of.share(name)
        shown = "undefined" if value is None else f"{value:.3f}"
        yield Text(f"{name:15} {shown}{'   <- used' if name == used else ''}", "bold" if name == used else "")
    for measure in ("precision", "recall", "f1"):
        value_of = found.measure(measure).value
        if found.against is not None and not isinstance(value_of, str):
            yield Text(f"{measure:15} {'undefined' if value_of is None else f'{value_of:.3f}'}")
    support = found.measure("support")
    if support.value is None:
        yield Text(f"hung: {safe(support.why)}", "red")
    else:
        word = "at or above" if card.decision else "below"
        yield Text(f"{used} is {word} the threshold {card.options.threshold:g}", "bold")
