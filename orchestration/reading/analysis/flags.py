"""Flags: the moments of a deliberation that a reader should look at, each with its reason in words, and how they are found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Literal, NamedTuple

from ....rubrics.ballot import fold_quote
from ....rubrics.errors import count_words, listed_words
from ....rubrics.rubric import Rubric
from ....rubrics.scale import Value, value_words
from ...transcript import Decided, Transcript
from ...verdict import Verdict
from .movement import Step, conformity, distance, influence, paths

Test = Literal["unchallenged", "empty challenge", "brushed aside", "held", "overturned"]
_NO_FIRST = ("repeat", "argument", "verification")
"""Votes that say nothing of a jury's first agreement: a judge's repeats, an advocate's brief, and shares that code counts."""
Kind = Literal[
    "contradicted",
    "premature-consensus",
    "unsupported-evidence",
    "conformity",
    "overruled",
    "instruction",
    "hung",
    "moved-towards",
    "abstention",
    "usage-implausible",
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
    """The deliberation's flags, the weightiest first. None where nothing unusual happened.

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


def flags_across_arms(verdict: Verdict, rubric: Rubric, others: Sequence[Verdict]) -> tuple[Flag, ...]:
    """A deliberation's flags, those included that need the verdicts of other arms on the same case."""
    agreements = instant_agreements(verdict.transcript, rubric)
    found = [*flags(verdict, rubric)]
    for other in others:
        reached = {name: o.value for name, o in other.outcomes.items() if o.value is not None}
        found += contradictions(agreements, other.arm, reached)
    return tuple(sorted(found, key=lambda flag: -flag.weight))


_RECURRING = ("unsupported-evidence", "conformity", "moved-towards", "abstention", "usage-implausible")
"""Kinds of flags that one juror may earn in any round."""


def distinct_flags(found: Iterable[Flag], rounds: int) -> tuple[Flag, ...]:
    """Each flag once, with the rounds in its text where the deliberation had several: as heavy as the heaviest of those alike, and with the entries of all."""
    alike: dict[tuple[str, str, str], list[Flag]] = {}
    for flag in found:
        alike.setdefault((flag.kind, flag.attribute, flag.text), []).append(flag)
    merged = []
    for flags_alike in alike.values():
        first = flags_alike[0]
        seen_in = sorted({flag.round for flag in flags_alike})
        where = ""
        if rounds > 1 and first.kind in _RECURRING:
            where = f" (round{'' if len(seen_in) == 1 else 's'} {listed_words(seen_in)})"
        merged.append(
            first._replace(
                weight=max(flag.weight for flag in flags_alike),
                entries=tuple(dict.fromkeys(entry for flag in flags_alike for entry in flag.entries)),
                text=f"{first.text}{where}",
            )
        )
    return tuple(sorted(merged, key=lambda flag: -flag.weight))


def contradictions(
    agreements: Sequence[InstantAgreement], other: str, found: Mapping[str, Value]
) -> tuple[Flag, ...]:
    """The instant agreements that arm `other` scores a whole step or more away.

    Args:
        agreements: One arm's instant agreements, overturned or not.
        other: The other arm's name.
        found: What the other arm reached of each attribute.
    """
    return tuple(
        Flag(
            "contradicted",
            4 if agreement.premature else 2,
            agreement.attribute,
            agreement.jurors,
            agreement.entries,
            1,
            f"{first_agreement_words(agreement)}; {other} gave {value_words(found[agreement.attribute], pair=agreement.pair)}",
        )
        for agreement in agreements
        if agreement.test != "overturned"
        and agreement.attribute in found
        and distance(agreement.value, found[agreement.attribute]) >= 1
    )


def interest(weights: Iterable[int]) -> float:
    """One number to order cases by: their weightiest flag first, then the sum of the weights."""
    found = list(weights)
    return max(found) + min(sum(found), 99) / 100 if found else 0.0


class InstantAgreement(NamedTuple):
    """An instant unanimous score at the end of a graded scale, and what became of it."""

    attribute: str
    value: Value
    jurors: tuple[str, ...]
    entries: tuple[str, ...]
    test: Test
    """`unchallenged`: no juror argued against it. `empty challenge`: someone was told to, and showed nothing in the
    case. `brushed aside`: someone showed something, and nobody who kept the score showed anything new.
    `held`: it was defended with new evidence. `overturned`: it did not last."""
    quoted: int
    """How many of the agreeing jurors quoted words that stand in the case."""
    misquoted: int
    """How many quoted words that do not."""
    pair: bool = False
    """Whether it is a preference between two outputs."""

    @property
    def premature(self) -> bool:
        return self.test in ("unchallenged", "empty challenge", "brushed aside")


def instant_agreements(transcript: Transcript, rubric: Rubric) -> tuple[InstantAgreement, ...]:
    """The attributes on which the first vote of every juror was the same end of the scale, two jurors or more.

    A scale of two values is all ends, and one of three between two outputs all but for a tie, so agreement on it is not extreme;
    repeats of one judge are not a jury.
    """
    found: list[InstantAgreement] = []
    for attribute, by_juror in paths(transcript).items():
        asked = {juror: [s for s in steps if s.purpose not in _NO_FIRST] for juror, steps in by_juror.items()}
        first = {juror: steps[0] for juror, steps in asked.items() if steps}
        values = {step.vote.value for step in first.values()}
        if attribute not in rubric.by_name or len(first) < 2 or len(values) != 1:
            continue
        scale = rubric.scale_of(attribute)
        value = values.pop()
        all_ends = len(scale.values) == (3 if rubric.compares else 2)
        if not scale.ordered or all_ends or value not in scale.ends:
            continue
        quotes = [step.vote.evidence for step in first.values()]
        found.append(
            InstantAgreement(
                attribute,
                value,
                tuple(first),
                tuple(step.entry for step in first.values()),
                _test(by_juror, value),
                sum(any(q.found for q in cited) for cited in quotes),
                sum(any(not q.found for q in cited) for cited in quotes),
                rubric.compares,
            )
        )
    return tuple(found)


def _test(by_juror: Mapping[str, tuple[Step, ...]], value: Value) -> Test:
    if any(steps[-1].vote.value != value for steps in by_juror.values()):
        return "overturned"
    challenges = [step for steps in by_juror.values() for step in steps if step.purpose == "challenge"]
    later = [step for steps in by_juror.values() for step in steps[1:]]
    argued = [*challenges, *(step for step in later if step.vote.value != value)]
    if not argued:
        return "unchallenged"
    before = {fold_quote(q.text) for steps in by_juror.values() for q in steps[0].vote.evidence if q.found}
    against = _quotes_found(argued) - before
    if not against:
        return "empty challenge"
    answered = _quotes_found([step for step in later if step not in argued]) - before - against
    return "held" if answered else "brushed aside"


def _quotes_found(steps: list[Step]) -> set[str]:
    return {fold_quote(quote.text) for step in steps for quote in step.vote.evidence if quote.found}


class Overruling(NamedTuple):
    """One attribute that was decided against standing votes."""

    attribute: str
    decided: Value | None
    jurors: tuple[str, ...]
    """Those whose last vote it does not follow."""
    unheard: tuple[str, ...]
    """Those of them whom the decision does not say it weighed."""
    against_majority: bool
    entry: str


def overrulings(verdict: Verdict) -> tuple[Overruling, ...]:
    """Each attribute that somebody decided against the vote of a juror. A count overrules nobody."""
    found: list[Overruling] = []
    for entry in verdict.transcript.entries:
        if not isinstance(entry, Decided):
            continue
        for finding in entry.findings:
            outcome = verdict.outcomes.get(finding.attribute)
            if outcome is None or outcome.method != "decision" or not outcome.dissent:
                continue
            jurors = tuple(dissent.juror for dissent in outcome.dissent)
            against = [dissent.value for dissent in outcome.dissent]
            found.append(
                Overruling(
                    finding.attribute,
                    outcome.value,
                    jurors,
                    tuple(juror for juror in jurors if juror not in finding.weighed),
                    any(2 * against.count(value) > outcome.votes for value in against),
                    entry.id,
                )
            )
    return tuple(found)


class UnsupportedQuote(NamedTuple):
    """One quote that is not there, and where it was used."""

    juror: str
    attribute: str
    round: int
    entry: str
    quote: str
    stands: bool
    """Whether the vote it was given for is still the juror's last on the attribute."""


def unsupported_quotes(transcript: Transcript) -> tuple[UnsupportedQuote, ...]:
    """Every quote found in no exhibit, in the order they were made."""
    missing = [
        (entry, vote, quote)
        for entry in transcript.ballots
        for vote in entry.ballot.votes
        for quote in vote.evidence
        if not quote.found
    ]
    standing = transcript.standing() if missing else {}
    return tuple(
        UnsupportedQuote(
            entry.speaker,
            vote.attribute,
            entry.round,
            entry.id,
            quote.text,
            any(held.entry == entry.id for held in standing[vote.attribute].values()),
        )
        for entry, vote, quote in missing
    )


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
        "unchallenged": "no juror argued against this score",
        "empty challenge": "the juror who was told to argue against this score quoted nothing",
        "brushed aside": "evidence against this score was not answered with evidence",
    }[agreement.test]
    number = len(agreement.jurors)
    rests = (
        "no juror supported this score with a quote"
        if not agreement.quoted
        else f"{agreement.quoted} of {number} jurors supported this score with a quote"
    )
    wrong = (
        f"; {count_words(agreement.misquoted, 'juror')} quoted words that are not in the case"
        if agreement.misquoted
        else ""
    )
    return f"{first_agreement_words(agreement)}; {tested}; {rests}{wrong}"


def first_agreement_words(agreement: InstantAgreement) -> str:
    """Who gave which score in their first vote on the attribute."""
    number = len(agreement.jurors)
    everyone = "both" if number == 2 else f"all {number}"
    return f"{everyone} jurors gave {value_words(agreement.value, pair=agreement.pair)} in their first vote"


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
            f"{quote.juror} quoted words that are not in the case: “{words}”",
        )


def _moves(verdict: Verdict) -> Iterator[Flag]:
    transcript = verdict.transcript
    drawn_moves = influence(transcript)
    conformed = {(d.move.entry, d.move.attribute) for d in conformity(transcript, drawn_moves)}
    for move, by_source in groupby(drawn_moves, key=attrgetter("move")):
        owed = list(by_source)
        sources = [drawn.source for drawn in owed]
        before, after = (value_words(value, pair=transcript.compares) for value in (move.before, move.after))
        where = (move.attribute, (move.juror, *sources), (move.entry, move.prior), move.round)
        if (move.entry, move.attribute) in conformed:
            text = f"{move.juror} went from {before} to {after}, the majority's score, without new evidence"
            yield Flag("conformity", 2, *where, text)
        else:
            by = "with new evidence" if owed[0].grounds else "without new evidence"
            towards = listed_words(sources)
            read = f"moved towards {towards} after reading {'it' if len(sources) == 1 else 'them'}"
            yield Flag("moved-towards", 1, *where, f"{move.juror} {read}: {before} to {after}, {by}")


def _overridden_votes(verdict: Verdict) -> Iterator[Flag]:
    rounds, pair = verdict.transcript.rounds, verdict.transcript.compares
    for over in overrulings(verdict):
        weight = 3 if over.against_majority else 2 if over.unheard else 1
        who = "the majority" if over.against_majority else listed_words(over.jurors)
        unheard = f" and did not address {listed_words(over.unheard)}" if over.unheard else ""
        yield Flag(
            "overruled",
            weight,
            over.attribute,
            over.jurors,
            (over.entry,),
            rounds,
            f"the orchestrator chose {value_words(over.decided, pair=pair)} against {who}{unheard}",
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
    for spoken in verdict.transcript.entries:
        if spoken.spent.implausible:
            text = f"the provider of {spoken.speaker} reported impossible token counts; they were estimated instead"
            yield Flag("usage-implausible", 1, "", (spoken.speaker,), (spoken.id,), spoken.round, text)
