"""`orchestrated`: blind votes, disputes named by an orchestrator, revision, and a reasoned decision."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from ...agents.brief import Brief
from ...agents.juror import Question
from ...agents.orchestrator import Decision, Dispute, Silence
from ..bench import Bench, statements, together
from ..stopping import disputed, instant_extremes, stalls
from ..transcript import Decided, Entry, Ledger, Said, Spent, Standing, Stop, Transcript, entry_of
from .protocol import Protocol


async def run(brief: Brief, bench: Bench) -> Transcript:
    """Rounds until the jury agrees or a limit is reached; the orchestrator decides what is left."""
    transcript = await bench.blind_round(bench.opened(brief), brief)
    challenged = instant_extremes(transcript, brief.rubric) if bench.jury.challenge else ()
    while (stop := _ended(transcript, brief, bench, challenged)) is None:
        transcript = await _one_round(transcript, brief, bench, challenged)
        challenged = ()
    return await _decided(transcript, brief, bench, stop)


def open_attributes(transcript: Transcript, brief: Brief, bench: Bench) -> tuple[str, ...]:
    return disputed(transcript, brief.rubric, tolerance=bench.jury.tolerance, quorum=bench.jury.quorum)


def _ended(transcript: Transcript, brief: Brief, bench: Bench, challenged: Sequence[str]) -> Stop | None:
    """Why no further round is held; None when one is."""
    limits = bench.jury.limits
    if spent := bench.meter.reached:
        return bench.stop_at(spent)
    in_dispute = open_attributes(transcript, brief, bench)
    if not in_dispute and not challenged:
        return Stop(reason="consensus")
    reached = None
    stalled = stalls(transcript)
    if limits.max_turns is not None and transcript.turns >= limits.max_turns:
        reached = "max_turns"
    elif limits.max_rounds is not None and transcript.rounds >= limits.max_rounds:
        reached = "max_rounds"
    elif limits.max_stalls is not None and stalled >= limits.max_stalls:
        reached = "max_stalls"
    elif limits.max_replans is not None and stalled and _replans(transcript) >= limits.max_replans:
        reached = "max_replans"
    if reached is None:
        return None
    return (
        bench.stop_at(reached) if in_dispute else Stop(reason="consensus", detail=f"unchallenged: {reached}")
    )


def _replans(transcript: Transcript) -> int:
    return sum(1 for entry in transcript.entries if isinstance(entry, Ledger) and entry.replan)


async def _one_round(
    transcript: Transcript, brief: Brief, bench: Bench, challenged: Sequence[str]
) -> Transcript:
    """Name the disputes while the challenge is made; then everyone concerned revises at the same time."""
    number = transcript.rounds + 1
    in_dispute = open_attributes(transcript, brief, bench)
    standing = transcript.standing()
    challengers = _challengers(standing, challenged, bench)
    challengers = dict(list(challengers.items())[: bench.turns_left(transcript)])

    async def challenge(name: str, attributes: tuple[str, ...]) -> Entry:
        own = {a: standing[a][name].vote for a in attributes}
        saw = tuple(dict.fromkeys(held.entry for a in attributes for held in standing[a].values()))
        turn = await bench.jurors[name].challenge(brief, attributes, round=number, own=own, saw=saw)
        return entry_of(turn, "challenge")

    opening = [challenge(name, attributes) for name, attributes in challengers.items()]
    if in_dispute:
        opening.append(_ledger(transcript, brief, bench, in_dispute, number))
    transcript = bench.noted(transcript, await together(opening))
    return await _revised(transcript, brief, bench, number, challengers)


async def _ledger(
    transcript: Transcript, brief: Brief, bench: Bench, in_dispute: Sequence[str], number: int
) -> Entry:
    """The orchestrator's ledger; where it gives none, code asks everyone concerned about each dispute."""
    standing = transcript.standing()
    heard = statements(held for name in in_dispute for held in standing[name].values())
    replan = stalls(transcript) > 0
    named = await bench.orchestrator.name_disputes(brief, in_dispute, heard, round=number - 1, replan=replan)
    if isinstance(named, Silence):
        asked = tuple(
            Dispute(
                attribute=name,
                dispute="The jurors differ.",
                question="Which score do the exhibits bear out, and where?",
                to=tuple(standing[name]),
            )
            for name in in_dispute
        )
        note = f"the orchestrator gave no ledger ({named.reason}: {named.detail})"
        return Ledger(
            round=number, disputes=asked, author="code", replan=replan, note=note, spent=Spent.of(named.cost)
        )
    disputes = tuple(
        # A dispute addressed to nobody is put to everyone who has a vote in it.
        dispute if dispute.to else dispute.model_copy(update={"to": tuple(standing[dispute.attribute])})
        for dispute in named.disputes
    )
    return Ledger(
        round=number, disputes=disputes, author="orchestrator", replan=replan, spent=Spent.of(named.cost)
    )


async def _revised(
    transcript: Transcript,
    brief: Brief,
    bench: Bench,
    number: int,
    challengers: Mapping[str, tuple[str, ...]],
) -> Transcript:
    """The jurors concerned answer at the same time, each seeing the others' standing votes and reasons."""
    standing = transcript.standing()
    questions: dict[str, list[Question]] = defaultdict(list)
    for entry in transcript.entries:
        if isinstance(entry, Ledger) and entry.round == number:
            for dispute in entry.disputes:
                for name in dispute.to:
                    questions[name].append(
                        Question(dispute.attribute, f"{dispute.dispute} {dispute.question}")
                    )
    for challenger, attributes in challengers.items():
        for name in bench.jurors:
            if name != challenger:
                questions[name] += [
                    Question(
                        a, f"{challenger} was asked to argue against the score everyone gave. Does it hold?"
                    )
                    for a in attributes
                    if name in standing.get(a, {})
                ]

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
    return bench.noted(transcript, await together(revise(name) for name in allowed))


def _challengers(
    standing: Mapping[str, Mapping[str, Standing]], challenged: Sequence[str], bench: Bench
) -> dict[str, tuple[str, ...]]:
    """Who argues against each agreement: the juror whose other votes lie furthest from the agreed end.

    Among equals the last seat, so that the choice does not depend on chance.
    """

    def harshness(name: str, attribute: str, agreed: float) -> float:
        others = [
            float(held[name].vote.value)
            for other, held in standing.items()
            if other != attribute and name in held and not isinstance(held[name].vote.value, str)
        ]
        return abs(sum(others) / len(others) - agreed) if others else 0.0

    chosen: dict[str, list[str]] = defaultdict(list)
    for attribute in challenged:
        votes = standing[attribute]
        agreed = float(next(iter(votes.values())).vote.value)
        order = list(bench.jurors)
        name = max(votes, key=lambda juror: (harshness(juror, attribute, agreed), order.index(juror)))
        chosen[name].append(attribute)
    return {name: tuple(attributes) for name, attributes in chosen.items()}


async def _decided(transcript: Transcript, brief: Brief, bench: Bench, stop: Stop) -> Transcript:
    """What is still open, decided by the orchestrator with reasons of its own; hung where it cannot."""
    undecided = open_attributes(transcript, brief, bench)
    if not undecided or bench.meter.reached:
        return transcript.ended(stop)
    standing = transcript.standing()
    held = [h for name in undecided for h in standing[name].values()]
    decision = await bench.orchestrator.decide(
        brief, undecided, statements(held), round=transcript.rounds, why=str(stop)
    )
    number = transcript.rounds
    if isinstance(decision, Decision):
        saw = tuple(dict.fromkeys(h.entry for h in held))
        entry: Entry = Decided(
            round=number, findings=decision.findings, saw=saw, spent=Spent.of(decision.cost)
        )
        return bench.noted(transcript, [entry]).ended(stop)
    told = f"{decision.reason}: {decision.detail}"
    entry = Said(round=number, who="orchestrator", about="silence", text=told, spent=Spent.of(decision.cost))
    detail = f"the orchestrator could not decide ({decision.reason})"
    return bench.noted(transcript, [entry]).ended(stop.model_copy(update={"detail": detail}))


orchestrated = Protocol(
    run=run,
    count="decision",
    orchestrator=True,
    summary="an orchestrator runs rounds; settled attributes are left alone; it decides what stays open",
    speaks="all jurors blind; then, each round, the orchestrator names the disputes and those it names answer",
    sees="round one: nothing of the others; later: the others' standing votes and reasons on what is disputed",
    ends="consensus, stall, turns, rounds, replans, budget or time; then the orchestrator decides what is open",
    calls="at most RN + R, plus one for a challenge",
    steps="at most 2R",
)
