"""Flags: the moments of a deliberation that a reader should look at, each with its reason in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Literal, NamedTuple

from ....rubrics.rubric import Rubric
from ....rubrics.scale import Value
from ...verdict import Verdict
from .conformity import conformity
from .consensus import InstantAgreement, instant_agreements
from .dissent import overrulings
from .influence import influence
from .unsupported import unsupported_quotes

Kind = Literal[
    "contradicted",
    "premature-consensus",
    "unsupported-evidence",
    "conformity",
    "overruled",
    "instruction",
    "hung",
    "persuasion",
    "abstention",
]

_SHORT = 120


class Flag(NamedTuple):
    """One moment, and why it deserves a look."""

    kind: Kind
    weight: int
    """From 1, worth knowing, to 4, look here first."""
    attribute: str
    """Empty where the whole case is meant."""
    jurors: tuple[str, ...]
    entries: tuple[str, ...]
    """The ids of the transcript's entries it can be seen in."""
    round: int
    text: str


def flags(
    verdict: Verdict, rubric: Rubric, agreements: Sequence[InstantAgreement] | None = None
) -> tuple[Flag, ...]:
    """The deliberation's flags, the weightiest first. None where nothing out of the ordinary happened.

    `agreements` saves the work of finding its instant agreements again.
    """
    if agreements is None:
        agreements = instant_agreements(verdict.transcript, rubric)
    found = [
        *_premature(agreements),
        *_unsupported_evidence(verdict),
        *_moves(verdict),
        *_overridden_votes(verdict),
        *_irregularities(verdict),
    ]
    return tuple(sorted(found, key=lambda flag: -flag.weight))


def interest(weights: Iterable[int]) -> float:
    """One number to order cases by: their weightiest flag first, then the sum of the weights."""
    found = list(weights)
    return max(found) + min(sum(found), 99) / 100 if found else 0.0


def _premature(agreements: Sequence[InstantAgreement]) -> Iterator[Flag]:
    for agreement in agreements:
        if agreement.premature:
            weight = {"unchallenged": 3, "brushed aside": 3}.get(agreement.test, 2)
            yield Flag(
                "premature-consensus",
                weight,
                agreement.attribute,
                agreement.jurors,
                agreement.entries,
                1,
                _agreement_text(agreement),
            )


def _agreement_text(agreement: InstantAgreement) -> str:
    tested = {
        "unchallenged": "nobody argued against it",
        "empty challenge": "the challenge showed nothing in the case against it",
        "brushed aside": "evidence against it was answered with none",
    }[agreement.test]
    number = len(agreement.jurors)
    rests = (
        "no words of the case were quoted for it"
        if not agreement.quoted
        else f"{agreement.quoted} of {number} quoted the case for it"
    )
    wrong = f"; {agreement.misquoted} quoted words that are not in it" if agreement.misquoted else ""
    return f"{agreed_at_once(agreement)}; {tested}; {rests}{wrong}"


def agreed_at_once(agreement: InstantAgreement) -> str:
    """Who gave which score at once."""
    number = len(agreement.jurors)
    everyone = "both" if number == 2 else f"all {number}"
    return f"{everyone} jurors gave {score_text(agreement.value)} at once"


def score_text(value: Value) -> str:
    """A score in a sentence: two decimals at the most."""
    return value if isinstance(value, str) else f"{round(value, 2):g}"


def _unsupported_evidence(verdict: Verdict) -> Iterator[Flag]:
    for quote in unsupported_quotes(verdict.transcript):
        words = quote.quote if len(quote.quote) <= _SHORT else f"{quote.quote[:_SHORT]}…"
        yield Flag(
            "unsupported-evidence",
            3 if quote.stands else 2,
            quote.attribute,
            (quote.juror,),
            (quote.entry,),
            quote.round,
            f"{quote.juror} quotes words that stand in no text of the case: “{words}”",
        )


def _moves(verdict: Verdict) -> Iterator[Flag]:
    transcript = verdict.transcript
    drawn_moves = influence(transcript)
    conformed = {(d.move.entry, d.move.attribute) for d in conformity(transcript, drawn_moves)}
    for move, by_source in groupby(drawn_moves, key=attrgetter("move")):
        owed = list(by_source)
        sources = [drawn.source for drawn in owed]
        change = f"{move.juror} went from {move.before} to {move.after}"
        where = (move.attribute, (move.juror, *sources), (move.entry, move.prior), move.round)
        if (move.entry, move.attribute) in conformed:
            yield Flag("conformity", 2, *where, f"{change}, where most already stood, with no new evidence")
        else:
            by = "after new evidence" if owed[0].grounds else "with no new evidence"
            towards = " and ".join(sources)
            yield Flag("persuasion", 1, *where, f"{change}, towards {towards}, {by}")


def _overridden_votes(verdict: Verdict) -> Iterator[Flag]:
    rounds = verdict.transcript.rounds
    for over in overrulings(verdict):
        weight = 3 if over.against_majority else 2 if over.unheard else 1
        who = "the majority" if over.against_majority else " and ".join(over.jurors)
        unheard = f"; {' and '.join(over.unheard)} not weighed" if over.unheard else ""
        yield Flag(
            "overruled",
            weight,
            over.attribute,
            over.jurors,
            (over.entry,),
            rounds,
            f"decided {over.decided} against {who}{unheard}",
        )


def _irregularities(verdict: Verdict) -> Iterator[Flag]:
    for passage in verdict.transcript.flags:
        yield Flag(
            "instruction", 3, "", (), (), 0, f"the case seems to instruct the jury: {passage[:_SHORT]}"
        )
    for attribute, outcome in verdict.outcomes.items():
        if outcome.status == "hung":
            jurors = tuple(dissent.juror for dissent in outcome.dissent)
            yield Flag(
                "hung", 2, attribute, jurors, (), verdict.transcript.rounds, f"no verdict: {outcome.why}"
            )
    for entry in verdict.transcript.abstentions:
        if entry.abstention.reason != "limit":
            attribute = entry.abstention.attribute or ""
            on = f" on {attribute}" if attribute else ""
            text = f"{entry.speaker} abstained{on}: {entry.abstention.reason}"
            yield Flag("abstention", 1, attribute, (entry.speaker,), (entry.id,), entry.round, text)
