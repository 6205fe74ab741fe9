"""A round of deliberation: someone presides while the challenge is made; then those concerned answer together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from ..agents.brief import Brief
from ..agents.cost import Receipt
from ..agents.juror import OrchestratorQuestion
from ..agents.orchestrator import Decision, Dispute
from .bench import Bench, statements, together
from .challenge import challenge_effect, challenge_questions, challenge_turns, challengers, effects_text
from .conditions import consensus_reached, hard_limits, presided_limits
from .stopping import disputed_attributes
from .transcript import Decided, Entry, Ledger, Said, Stop, Transcript, entry_of


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
    limit = presided_limits(jury, brief.rubric)(transcript)
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
    asked = _questions(
        transcript, number, challenge_questions(transcript.standing(), chosen, list(bench.jurors))
    )
    transcript = await _revise(transcript, brief, bench, number, asked)
    if chosen:
        transcript = bench.clerks_note(transcript, "challenge", effects_text(challenge_effect(transcript)))
    return transcript


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


def _questions(
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
