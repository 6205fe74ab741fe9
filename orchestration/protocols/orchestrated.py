"""`orchestrated`: blind votes, disputes named by an orchestrator, revision, and a reasoned decision."""

from __future__ import annotations

from collections.abc import Sequence

from ...agents.orchestrator import Silence
from ...agents.prompting import Brief
from ..bench import Bench, statements
from ..rounds import address_disputes, decide_open, everyone_asked, one_round, open_attributes, why_ended
from ..stopping import instant_extremes, replan_due
from ..transcript import Ledger, Transcript
from ..worked_examples import ShotOptions
from . import Protocol


class OrchestratedOptions(ShotOptions):
    """How a jury that agrees at once is treated."""

    challenge: bool = True
    """Whether an instant unanimous score at the end of its scale is challenged once."""


async def run(brief: Brief, bench: Bench) -> Transcript:
    """Rounds until the jury agrees or a limit is reached; the orchestrator decides what is left."""
    transcript = await bench.blind_round(bench.new_transcript(brief), brief)
    return await deliberation(transcript, brief, bench, brief.rubric.names)


async def deliberation(
    transcript: Transcript, brief: Brief, bench: Bench, among: Sequence[str]
) -> Transcript:
    """What follows the blind round, on the attributes `among` which it is held."""
    challenged: tuple[str, ...] = ()
    if bench.jury.options_as(OrchestratedOptions).challenge:
        challenged = tuple(name for name in instant_extremes(transcript, brief.rubric) if name in among)
    while (stop := why_ended(transcript, brief, bench, challenged, among)) is None:
        transcript = bench.begin_round(transcript)
        in_dispute = open_attributes(transcript, brief, bench, among)
        ledger = _ledger(transcript, brief, bench, in_dispute) if in_dispute else None
        transcript = await one_round(transcript, brief, bench, challenged, ledger)
        challenged = ()
    return await decide_open(transcript, brief, bench, stop, among)


async def _ledger(transcript: Transcript, brief: Brief, bench: Bench, in_dispute: Sequence[str]) -> Ledger:
    """The orchestrator's ledger; where it gives none, code asks everyone concerned about each dispute."""
    standing = transcript.standing()
    heard = statements(held for name in in_dispute for held in standing[name].values())
    saw = tuple(dict.fromkeys(held.entry for name in in_dispute for held in standing[name].values()))
    number, replan = transcript.rounds + 1, replan_due(transcript, bench.jury)
    named = await bench.orchestrator.name_disputes(
        brief, in_dispute, heard, round=transcript.rounds, replan=replan
    )
    spent_on_it = named.spent
    if isinstance(named, Silence):
        asked = everyone_asked(transcript, in_dispute)
        note = f"the orchestrator did not say what is disputed ({named.reason}: {named.detail})"
        return Ledger(
            round=number,
            disputes=asked,
            author="code",
            replan=replan,
            note=note,
            saw=saw,
            spent=spent_on_it,
            failed=named.reason,
        )
    disputes = address_disputes(transcript, named.disputes)
    return Ledger(
        round=number, disputes=disputes, author="orchestrator", replan=replan, saw=saw, spent=spent_on_it
    )


orchestrated = Protocol(
    run=run,
    options=OrchestratedOptions,
    count="decision",
    orchestrator=True,
    replans=True,
    summary="an orchestrator leads rounds on the attributes that are not settled, and decides what stays open",
    speaks="All jurors vote blind; then, in each round, the orchestrator names the disputes, and the jurors it names answer.",
    sees="In round one a juror sees only the case; later also the others' votes and reasons on what is disputed.",
    ends="Stop reasons: consensus, stall, stable, turns, rounds, replans, budget or time. "
    "Then the orchestrator decides what is still open.",
    calls="at most RN + R calls for N jurors and R rounds, and one for each challenger; N calls if all agree at once",
    steps="at most 2R steps for R rounds; 1 step if all agree at once",
    drawing="""
1  all N jurors      vote, blind, at the same time
   code              all within tolerance? then it ends; an instant extreme is challenged first
   +-- each further round, on what is disputed
2  | orchestrator    names each dispute, a question and who answers it  (a challenger argues)
3  | those it names  revise at the same time, seeing the others' votes and reasons
   | code            agreed, stalled or at a limit? then it ends
   +--
4  orchestrator      decides what is still open, with reasons
""",
    most=lambda n, r: (r * n + r, 2 * r),
)
