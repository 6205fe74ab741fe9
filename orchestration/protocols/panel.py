"""`panel`: independent jurors, counted."""

from __future__ import annotations

from ...agents.prompting import Brief
from ...personas.options import Repeats
from ..bench import Bench
from ..transcript import Stop, Transcript
from ..worked_examples import ShotOptions
from . import Protocol


class PanelOptions(ShotOptions):
    """How the seats of a panel are asked."""

    repeats: Repeats = 1
    """How often each seat is asked; every answer counts."""


async def run(brief: Brief, bench: Bench) -> Transcript:
    """One blind ballot from every seat, or k of each, at the same time."""
    times = bench.jury.options_as(PanelOptions).repeats
    transcript = bench.new_transcript(brief)
    if times == 1:
        transcript = await bench.blind_round(transcript, brief)
    else:
        transcript = await bench.repeats(transcript, brief, times, seats=list(bench.jurors))
    limit = bench.meter.reached or ("max_turns" if transcript.turns < times * len(bench.jurors) else None)
    return transcript.with_stop(bench.stop_at(limit) if limit else Stop(reason="complete"))


panel = Protocol(
    run=run,
    options=PanelOptions,
    count="mean",
    orchestrator=False,
    summary="the jurors vote independently, and the votes are counted",
    speaks="Every juror votes once, or k times, at the same time.",
    sees="A juror sees the case, and worked examples if the jury names them. No juror sees the others' votes.",
    ends="The deliberation is complete when every juror was asked.",
    calls="N calls for N jurors; kN calls if each votes k times",
    steps="1",
    drawing="""
1  all N jurors      vote, blind, at the same time
   count
""",
    most=lambda n, r: (n, 1),
)
