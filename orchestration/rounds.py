"""A round of deliberation: someone presides while an instant agreement is challenged; then those concerned answer together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..agents.cost import Receipt
from ..agents.juror import OrchestratorQuestion
from ..agents.orchestrator import Decision, Dispute
from ..agents.prompting import Brief
from ..rubrics.scale import Value
from .bench import Bench, statements, together
from .stopping import consensus_reached, disputed_attributes, hard_limits, limits_of
from .transcript import Cast, Decided, Entry, Ledger, Said, Standing, Stop, Transcript, entry_of


def open_attributes(
    transcript: Transcript, brief: Brief, bench: Bench, among: Sequence[str] | None = None
) -> tuple[str, ...]:
    """What the jury disagrees on by more than its tolerance."""
    jury = bench.jury
    return disputed_attributes(
        transcript, brief.rubric, tolerance=jury.tolerance, quorum=jury.quorum, among=among
    )


def why_ended(
    transcript: Transcript, brief: Brief, bench: Bench, challenged: Sequence[str], among: Sequence[str]
) -> Stop | None:
    """Why no further round is held; None when one is. What is yet to be challenged is not yet agreed."""
    jury = bench.jury
    if over := hard_limits(bench.meter)(transcript):
        return over
    agreed = consensus_reached(
        brief.rubric,
        tolerance=jury.tolerance,
        quorum=jury.quorum,
        among=among,
        max_turns=jury.limits.max_turns,
    )(transcript)
    if agreed and (agreed.limit or not challenged):
        return agreed
    limit = limits_of(jury, brief.rubric, replans=True)(transcript)
    if limit and agreed:
        return Stop(reason="consensus", detail=f"unchallenged: {limit.limit}")
    return limit


async def one_round(
    transcript: Transcript,
    brief: Brief,
    bench: Bench,
    challenged: Sequence[str],
    preside: Coroutine[Any, Any, Ledger] | None,
) -> Transcript:
    """One more round: `preside` puts the questions while any challenge is made; then all concerned revise."""
    number = transcript.rounds + 1
    chosen = challengers(transcript, challenged, bench)
    opening: list[Coroutine[Any, Any, Entry]] = challenge_turns(transcript, brief, bench, chosen, number)
    if preside is not None:
        opening.append(preside)
    transcript = bench.add_entries(transcript, await together(opening))
    asked = round_questions(
        transcript, number, challenge_questions(transcript.standing(), chosen, list(bench.jurors))
    )
    transcript = await _revise(transcript, brief, bench, number, asked)
    if chosen:
        transcript = bench.clerks_note(transcript, "challenge", effects_text(challenge_effect(transcript)))
    return transcript


def round_questions(
    transcript: Transcript, number: int, asked: Mapping[str, list[OrchestratorQuestion]]
) -> Mapping[str, list[OrchestratorQuestion]]:
    """What each juror is asked in round `number`: by the ledger first, then after the challenge."""
    questions: dict[str, list[OrchestratorQuestion]] = defaultdict(list)
    for entry in transcript.entries:
        if isinstance(entry, Ledger) and entry.round == number:
            for dispute in entry.disputes:
                answer = f"Answer {dispute.answering}. " if dispute.answering else ""
                for name in dispute.to:
                    text = (
                        f"{dispute.dispute} {answer if name != dispute.answering else ''}{dispute.question}"
                    )
                    questions[name].append(OrchestratorQuestion(dispute.attribute, text))
    for name, further in asked.items():
        questions[name] += further
    return questions


async def _revise(
    transcript: Transcript,
    brief: Brief,
    bench: Bench,
    number: int,
    questions: Mapping[str, list[OrchestratorQuestion]],
) -> Transcript:
    """The revised ballots of the jurors concerned, made concurrently, each seeing the others' votes and reasons."""
    standing = transcript.standing()

    async def revise(name: str) -> Entry:
        asked = [a for a in brief.rubric.names if any(q.attribute == a for q in questions[name])]
        others = [held for a in asked for held in standing.get(a, {}).values() if held.juror != name]
        own = {a: standing[a][name].vote for a in asked if name in standing.get(a, {})}
        turn = await bench.jurors[name].revise(
            brief, asked, round=number, own=own, heard=statements(others), questions=questions[name]
        )
        return entry_of(turn, "revision")

    concerned = [name for name in bench.jurors if questions.get(name)]
    allowed = concerned[: bench.turns_left(transcript)]
    return bench.add_entries(transcript, await together(revise(name) for name in allowed))


def everyone_asked(transcript: Transcript, attributes: Sequence[str]) -> tuple[Dispute, ...]:
    """What code asks where nobody presides: each dispute is put to all who have a vote in it."""
    standing = transcript.standing()
    return tuple(
        Dispute(
            attribute=name,
            dispute="The jurors differ.",
            question="Which score do the exhibits bear out, and where?",
            to=tuple(standing[name]),
        )
        for name in attributes
    )


def address_disputes(transcript: Transcript, disputes: Sequence[Dispute]) -> tuple[Dispute, ...]:
    """The disputes, each with an addressee: one that names nobody goes to all who have a vote in it."""
    standing = transcript.standing()
    return tuple(
        dispute if dispute.to else dispute.model_copy(update={"to": tuple(standing[dispute.attribute])})
        for dispute in disputes
    )


async def decide_open(
    transcript: Transcript, brief: Brief, bench: Bench, stop: Stop, among: Sequence[str] | None = None
) -> Transcript:
    """End the deliberation: the orchestrator decides what is still open, with reasons; hung where it cannot."""
    undecided = open_attributes(transcript, brief, bench, among)
    if not undecided or bench.meter.reached:
        return transcript.with_stop(stop)
    standing = transcript.standing()
    held = [h for name in undecided for h in standing[name].values()]
    number = transcript.rounds
    decision = await bench.orchestrator.decide(
        brief, undecided, statements(held), round=number, why=str(stop)
    )
    entries: list[Entry] = []
    if isinstance(decision, Decision):
        saw = tuple(dict.fromkeys(h.entry for h in held))
        entries.append(Decided(round=number, findings=decision.findings, saw=saw, spent=decision.spent))
        silences = [(f"{a.attribute}: ", a.reason, a.detail, Receipt()) for a in decision.abstained]
    else:
        silences = [("", decision.reason, decision.detail, decision.spent)]
    entries += [
        Said(
            round=number,
            who="orchestrator",
            about="silence",
            text=f"{attribute}{reason}: {detail}",
            spent=spent,
            failed=reason,
        )
        for attribute, reason, detail, spent in silences
    ]
    if silences:
        why = ", ".join(f"{attribute}{reason}" for attribute, reason, _, _ in silences)
        stop = stop.model_copy(update={"detail": f"the orchestrator could not decide ({why})"})
    return bench.add_entries(transcript, entries).with_stop(stop)


def challengers(
    transcript: Transcript, challenged: Sequence[str], bench: Bench
) -> dict[str, tuple[str, ...]]:
    """Who argues against each agreement: the juror whose other votes lie furthest from the agreed end.

    Among equals the last seat, so that the choice does not depend on chance. No more than have a turn left.
    """
    standing = transcript.standing()

    def harshness(name: str, attribute: str, agreed: float) -> float:
        others = [
            float(held[name].vote.value)
            for other, held in standing.items()
            if other != attribute and name in held and not isinstance(held[name].vote.value, str)
        ]
        return abs(sum(others) / len(others) - agreed) if others else 0.0

    chosen: dict[str, list[str]] = defaultdict(list)
    order = list(bench.jurors)
    for attribute in challenged:
        votes = standing[attribute]
        agreed = float(next(iter(votes.values())).vote.value)
        name = max(votes, key=lambda juror: (harshness(juror, attribute, agreed), order.index(juror)))
        chosen[name].append(attribute)
    allowed = list(chosen.items())[: bench.turns_left(transcript)]
    return {name: tuple(attributes) for name, attributes in allowed}


def challenge_turns(
    transcript: Transcript, brief: Brief, bench: Bench, chosen: Mapping[str, tuple[str, ...]], number: int
) -> list[Coroutine[Any, Any, Entry]]:
    """The challengers' turns, to be taken at the same time."""
    standing = transcript.standing()

    async def challenge(name: str, attributes: tuple[str, ...]) -> Entry:
        own = {a: standing[a][name].vote for a in attributes}
        saw = tuple(dict.fromkeys(held.entry for a in attributes for held in standing[a].values()))
        turn = await bench.jurors[name].challenge(brief, attributes, round=number, own=own, saw=saw)
        return entry_of(turn, "challenge")

    return [challenge(name, attributes) for name, attributes in chosen.items()]


def challenge_questions(
    standing: Mapping[str, Mapping[str, Standing]],
    chosen: Mapping[str, tuple[str, ...]],
    jurors: Sequence[str],
) -> dict[str, list[OrchestratorQuestion]]:
    """What everyone else is asked after the challenge."""
    return {
        name: [
            OrchestratorQuestion(
                a, f"{challenger} was asked to argue against the score everyone gave. Does it hold?"
            )
            for challenger, attributes in chosen.items()
            if challenger != name
            for a in attributes
            if name in standing.get(a, {})
        ]
        for name in jurors
    }


def challenge_effect(transcript: Transcript) -> tuple[Effect, ...]:
    """What each challenge on record changed, by the end of the round it was made in."""
    effects: list[Effect] = []
    for entry in transcript.heard:
        if entry.purpose != "challenge":
            continue
        before = transcript.standing(before_round=entry.round)
        after = transcript.standing(before_round=entry.round + 1)
        spoken = entry.ballot.votes if isinstance(entry, Cast) else ()
        asked = entry.ballot.asked if isinstance(entry, Cast) else entry.abstention.asked
        for attribute in asked:
            agreed = next(iter(before[attribute].values())).vote.value
            effects.append(
                Effect(
                    attribute=attribute,
                    challenger=entry.speaker,
                    agreed=agreed,
                    answered=next((vote.value for vote in spoken if vote.attribute == attribute), None),
                    moved={n: h.vote.value for n, h in after[attribute].items() if h.vote.value != agreed},
                )
            )
    return tuple(effects)


def effects_text(effects: Sequence[Effect]) -> str:
    """The effects as text, one line each."""
    lines: list[str] = []
    for effect in effects:
        moved = ", ".join(f"{name} to {value}" for name, value in effect.moved.items())
        lines.append(
            f"{effect.attribute}: every juror gave {effect.agreed}; {effect.challenger} argued against this score; then these jurors moved: {moved}"
            if moved
            else f"{effect.attribute}: every juror gave {effect.agreed}; {effect.challenger} argued against this score, and no juror moved"
        )
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Effect:
    """What the challenge of one attribute changed."""

    attribute: str
    challenger: str
    agreed: Value
    answered: Value | None
    """The challenger's own score after the challenge; None if it abstained."""
    moved: Mapping[str, Value]
    """Who holds another score than the agreed one at the end of that round, and which."""
