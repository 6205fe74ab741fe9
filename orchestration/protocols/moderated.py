"""`moderated`: a moderator lets jurors answer each other and ends by declaring consensus, which code checks."""

from __future__ import annotations

from collections.abc import Sequence

from ...agents.orchestrator import Silence
from ...agents.prompting import Brief
from ..bench import Bench, statements
from ..rounds import address_disputes, decide_open, everyone_asked, one_round, open_attributes, why_ended
from ..stopping import attributes_with_quorum, instant_extremes, replan_due
from ..transcript import Ledger, Stop, Transcript
from . import Protocol
from .orchestrated import OrchestratedOptions


async def run(brief: Brief, bench: Bench) -> Transcript:
    """Rounds in which jurors answer each other, until a consensus is declared that is one, or a limit is reached."""
    transcript = await bench.blind_round(bench.new_transcript(brief), brief)
    options = bench.jury.options_as(OrchestratedOptions)
    challenged = instant_extremes(transcript, brief.rubric) if options.challenge else ()
    while (stop := why_ended(transcript, brief, bench, challenged, brief.rubric.names)) is None:
        transcript = bench.begin_round(transcript)
        pending = tuple(name for name in _pending(transcript, brief, bench) if name not in challenged)
        turn = _moderation(transcript, brief, bench, pending, transcript.rounds + 1) if pending else None
        transcript = await one_round(transcript, brief, bench, challenged, turn)
        challenged = ()
    if stop.reason == "consensus":
        return await _close(transcript, brief, bench, stop)
    return await decide_open(transcript, brief, bench, stop)


def _pending(transcript: Transcript, brief: Brief, bench: Bench) -> tuple[str, ...]:
    """What has votes enough and is not yet declared agreed."""
    declared = {name for e in transcript.entries if isinstance(e, Ledger) for name in e.declared}
    enough = attributes_with_quorum(transcript, brief.rubric.names, max(2, bench.jury.quorum))
    return tuple(name for name in enough if name not in declared)


async def _moderation(
    transcript: Transcript, brief: Brief, bench: Bench, pending: Sequence[str], number: int
) -> Ledger:
    """The moderator's turn. What it declares agreed and is not stays open, and the transcript says so."""
    standing = transcript.standing()
    in_dispute = open_attributes(transcript, brief, bench)
    heard = statements(held for name in pending for held in standing[name].values())
    saw = tuple(dict.fromkeys(held.entry for name in pending for held in standing[name].values()))
    replan = bool(in_dispute) and replan_due(transcript, bench.jury)
    turn = await bench.orchestrator.moderate(brief, pending, heard, round=transcript.rounds, replan=replan)
    if isinstance(turn, Silence):
        return Ledger(
            round=number,
            disputes=everyone_asked(transcript, [name for name in pending if name in in_dispute]),
            author="code",
            replan=replan,
            note=f"the moderator gave no usable answer ({turn.reason}: {turn.detail})",
            saw=saw,
            spent=turn.spent,
            failed=turn.reason,
        )
    refused = [name for name in turn.declared if name in in_dispute]
    disputes = [
        dispute
        for dispute in turn.disputes
        if dispute.attribute in in_dispute and dispute.attribute not in refused
    ]
    return Ledger(
        round=number,
        disputes=(*address_disputes(transcript, disputes), *everyone_asked(transcript, refused)),
        author="orchestrator",
        replan=replan,
        declared=tuple(name for name in turn.declared if name not in refused),
        note=f"the moderator declared consensus, but the votes show none on: {', '.join(refused)}"
        if refused
        else "",
        saw=saw,
        spent=turn.spent,
    )


async def _close(transcript: Transcript, brief: Brief, bench: Bench, stop: Stop) -> Transcript:
    """The moderator's last word on what is agreed. The votes decide: a moderator who holds back changes nothing."""
    if pending := _pending(transcript, brief, bench):
        turn = await _moderation(transcript, brief, bench, pending, max(1, transcript.rounds))
        transcript = bench.add_entries(transcript, [turn])
    if undeclared := _pending(transcript, brief, bench):
        detail = f"the votes show a consensus on {', '.join(undeclared)}, which the moderator did not declare"
        stop = stop.model_copy(update={"detail": "; ".join(filter(None, (stop.detail, detail)))})
    return transcript.with_stop(stop)


moderated = Protocol(
    run=run,
    options=OrchestratedOptions,
    count="decision",
    orchestrator=True,
    replans=True,
    summary="a moderator lets jurors answer each other, and ends by declaring consensus, which the program checks",
    speaks="All jurors vote blind; then, in each round, the jurors whom the moderator names answer each other.",
    sees="In round one a juror sees only the case; later also the others' votes and reasons on what is disputed.",
    ends="Stop reasons: consensus (declared, and in the votes), stall, stable, turns, rounds, replans, budget or time. "
    "Then the moderator decides.",
    calls="at most RN + R calls for N jurors and R rounds, and one for each challenger; N + 1 calls if all agree at once",
    steps="at most 2R steps for R rounds; 2 steps if all agree at once",
    drawing="""
1  all N jurors      vote, blind, at the same time
   code              an instant extreme is challenged first
   +-- each further round
2  | moderator       declares consensus, or says what is disputed and who answers whom
   | code            a consensus that the votes do not show is not accepted
3  | those it names  answer at the same time, seeing the others' votes and reasons
   +--
4  moderator         declares the consensus; at a limit, decides what is still open, with reasons
""",
    most=lambda n, r: (r * n + r, 2 * r),
)
