"""The case card in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from ...rubrics.quotes import Exhibit
from ...rubrics.ratings import Rating
from ...rubrics.safe_text import safe
from ..claim_counts import SHARE_NAMES, ClaimOutcome
from .claim_card import ClaimCard, Light, claim_verdict_words

STYLES: dict[Light, str] = {
    "supported": "green",
    "not_supported": "bold red",
    "not_addressed": "yellow",
    "undecided": "magenta",
    "cited": "underline",
}


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
        yield Text(f"\nomissions: the {card.options.against} says so, the {card.options.of} does not", "bold")
        for outcome in card.omitted:
            claim = outcome.claim
            yield Text.assemble(
                (f"  {claim.id} ", "dim"), safe(claim.text), (f"  \u201c{safe(claim.quote)}\u201d", "italic dim"),
                (f"  {claim_verdict_words(outcome.verdict)}", "yellow"),
            )  # fmt: skip
    elif card.back:
        yield Text(f"\nnothing of the {card.options.against} is left out", "green")
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
